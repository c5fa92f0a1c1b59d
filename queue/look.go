package queue

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// State is where a task is.
type State uint8

// The states of tasks.
const (
	StateQueued    State = iota + 1 // it waits for a worker
	StateDelayed                    // it is not due yet
	StateInFlight                   // a worker has it
	StateDead                       // it is a dead letter
	StateCompleted                  // it is done, and kept: see Task.KeepResult
)

var stateNames = [...]string{"", "queued", "delayed", "in flight", "dead", "completed"}

func (s State) String() string {
	if s < StateQueued || s > StateCompleted {
		return fmt.Sprintf("State(%d)", s)
	}
	return stateNames[s]
}

// MarshalText returns String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText has written.
func (s *State) UnmarshalText(text []byte) error {
	for k := StateQueued; k <= StateCompleted; k++ {
		if stateNames[k] == string(text) {
			*s = k
			return nil
		}
	}
	return invalidArgument("State: %q", text)
}

// Info is a task as it was when it was looked at.
type Info[T any] struct {
	Task[T]              // Payload is zero if the codec cannot read it
	State      State     //
	Attempts   int       // deliveries that have failed
	Due        time.Time // when it was first due; of a delayed task, when it is due
	LeaseUntil time.Time // of a task in flight
	DiedAt     time.Time // of a dead letter
	Reason     string    // why the last delivery of a dead letter failed
	Raw        []byte    // the payload as stored
	// Of a completed task: what Item.SetResult was given, when it was acked, and until when it is kept.
	Result                 []byte
	CompletedAt, KeptUntil time.Time
}

// Get looks at a task, in whatever state it is. ErrNotFound: there is none, or it has ended and is not kept.
func (q *Queue[T]) Get(ctx context.Context, id string) (i Info[T], err error) {
	if ids := q.ids(); ids.bad(id) {
		return i, invalidArgument("Get: id: %q: %s", id, ids)
	}
	if err := q.call(ctx, "Get"); err != nil {
		return i, err
	}
	raw, err := q.engine.Get(ctx, id)
	if err != nil {
		return i, err
	}
	if raw == nil {
		return i, fmt.Errorf("%w: task %q", ErrNotFound, id)
	}
	return q.info(raw), nil
}

// Listing says what List returns.
type Listing struct {
	State  State
	Tenant string // "": of all
	Cursor string // what List has returned; "": from the beginning
	Limit  int    // how many tasks it returns at most, up to MaxBatch; 0: 100
}

// listed is the Limit of a Listing that has none.
const listed = 100

// List returns a page of the tasks in a state, and where the next page begins; "": there is none. A page may have fewer tasks than Limit,
// also none, where others were looked at that do not match. Tasks that stay in the state while it goes from page to page are seen
// exactly once, those that come or leave may be seen or not. Queued tasks come by tenant, in the order in which they will be
// delivered; delayed ones by when they are due; those in flight by the end of their leases; dead letters by when they died; completed
// ones by until when they are kept.
func (q *Queue[T]) List(ctx context.Context, l Listing) (page []Info[T], next string, err error) {
	from := Place{}
	switch {
	case l.State < StateQueued || l.State > StateCompleted:
		return nil, "", invalidArgument("List: State: %v", l.State)
	case l.Limit < 0 || l.Limit > MaxBatch:
		return nil, "", invalidArgument("List: Limit: %d, must be 0 to %d", l.Limit, MaxBatch)
	case l.Tenant != "" && q.names.bad(l.Tenant):
		return nil, "", invalidArgument("List: Tenant: %q: %s", l.Tenant, &q.names)
	case l.Cursor != "":
		if from = placeOf(l.Cursor); from.Last == "" || from.Lane >= q.traits.Lanes {
			return nil, "", invalidArgument("List: Cursor: %q", l.Cursor)
		}
	}
	if err := q.call(ctx, "List"); err != nil {
		return nil, "", err
	}
	set(&l.Limit, listed)
	some, to, err := q.engine.List(ctx, l, from)
	if err != nil {
		return nil, "", err
	}
	for i := range some {
		page = append(page, q.info(&some[i]))
	}
	if to == nil {
		return page, "", nil
	}
	return page, to.cursor(), nil
}

// Forget removes what is kept of completed tasks (Task.KeepResult) before its time. Errors are joined TaskErrors: ErrNotFound, if nothing is kept.
func (q *Queue[T]) Forget(ctx context.Context, ids ...string) error {
	return q.each(ctx, "Forget", ids, q.engine.Forget)
}

// Place is where a page of List ends: after the task, of a lane and, of queued tasks, of a tenant. The zero Place is before all.
type Place struct {
	Lane   int
	Tenant string
	At     int64  // in the order: a time in microseconds, or what the engine has instead
	Last   string // tells those apart that have the same At; "": at the beginning
}

// cursor returns the place as text that may be in a URL.
func (p *Place) cursor() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d %d %s%s", p.Lane, p.At, len(p.Tenant), p.Tenant, p.Last))
}

// placeOf undoes cursor. What cannot be read is the zero Place.
func placeOf(cursor string) (p Place) {
	text, _ := base64.RawURLEncoding.DecodeString(cursor)
	f := strings.SplitN(string(text), " ", 4)
	if len(f) < 4 {
		return p
	}
	lane, err := strconv.Atoi(f[0])
	at, err2 := strconv.ParseInt(f[1], 10, 64)
	n, err3 := strconv.Atoi(f[2])
	if err != nil || err2 != nil || err3 != nil || lane < 0 || n < 0 || n > len(f[3]) {
		return p
	}
	return Place{lane, f[3][:n], at, f[3][n:]}
}

func (q *Queue[T]) info(raw *Info[[]byte]) Info[T] {
	i := Info[T]{withPayload(&raw.Task, *new(T)), raw.State, raw.Attempts, raw.Due, raw.LeaseUntil, raw.DiedAt, raw.Reason, raw.Raw, raw.Result, raw.CompletedAt, raw.KeptUntil}
	if v, err := q.decodeApart(raw.Raw); err == nil {
		i.Payload = v
	}
	return i
}

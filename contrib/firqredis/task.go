package firqredis

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq"
)

// Task is what is queued.
type Task[T any] struct {
	Payload T
	Tenant  string // "": "default"
	// ID is unique in the queue. "": one is made. While a task with this ID is queued, delayed, in
	// flight or dead, Enqueue returns nil and changes nothing: so a call whose outcome is open can be
	// repeated.
	ID string
	// UniqueKey, if set: ErrDuplicate while another task of the tenant with this key is known, for
	// UniqueFor from Enqueue on. UniqueFor 0: until the task has ended.
	UniqueKey string
	UniqueFor time.Duration
	Cost      int64         // what it counts for its tenant, at most 1e15 times its weight; 0: 1
	Priority  firq.Priority // 1 to 6, 6 before all else of its tenant; 0: PriorityNormal
	// Delay or At says when it is first due. Not both.
	Delay       time.Duration
	At          time.Time
	Deadline    time.Time // if it is passed when its turn comes it is dropped (Stats.Expired)
	MaxAttempts int       // 0: Config's
	Headers     map[string]string
}

// Item is a delivery of a task, with every default of the task filled in.
type Item[T any] struct {
	Task[T]
	Attempt    int           // 1 for the first
	Wait       time.Duration // since the task was first due
	Token      uint64        // of this delivery; a later one of any task has a greater one
	LeaseUntil time.Time     // by the server's clock; Extend moves it, the heartbeats of Run do not

	charge int64
	ends   string // UniqueKey that ends with the task
}

// Charge corrects the task's cost, once it is known; the correction is sent with Ack. Not for
// concurrent use with that.
func (it *Item[T]) Charge(delta int64) { it.charge += delta }

// lease names the delivery for the scripts.
func (it *Item[T]) lease() string {
	return it.ID + "\n" + strconv.FormatUint(it.Token, 10) + "\n" + it.Tenant
}

func invalidTask(format string, args ...any) error {
	return fmt.Errorf("%w: %s", firq.ErrInvalidTask, fmt.Sprintf(format, args...))
}

// check returns the task with its defaults filled in.
func (q *Queue[T]) check(t Task[T]) (Task[T], error) {
	set(&t.Tenant, DefaultName)
	set(&t.Cost, 1)
	set(&t.Priority, firq.PriorityNormal)
	set(&t.MaxAttempts, q.cfg.MaxAttempts)
	switch {
	case badName(t.Tenant):
		return t, invalidTask("Tenant: %q: %s", t.Tenant, nameRule)
	case t.ID != "" && badName(t.ID):
		return t, invalidTask("ID: %q: %s", t.ID, nameRule)
	case t.UniqueKey != "" && badName(t.UniqueKey):
		return t, invalidTask("UniqueKey: %q: %s", t.UniqueKey, nameRule)
	case t.UniqueFor < 0:
		return t, invalidTask("UniqueFor: %v, must not be negative", t.UniqueFor)
	case t.Cost < 0:
		return t, invalidTask("Cost: %d, must not be negative", t.Cost)
	case t.Priority > firq.PriorityCritical:
		return t, invalidTask("Priority: %d, must be at most %d", t.Priority, firq.PriorityCritical)
	case t.Delay < 0:
		return t, invalidTask("Delay: %v, must not be negative", t.Delay)
	case t.Delay > 0 && !t.At.IsZero():
		return t, invalidTask("Delay and At: set one of them")
	case t.MaxAttempts < 0:
		return t, invalidTask("MaxAttempts: %d, must not be negative", t.MaxAttempts)
	}
	if t.ID == "" {
		t.ID = newID()
	}
	return t, nil
}

// newID returns 96 bits in 16 characters: 52 of the time in microseconds, so that ids are about in order,
// then random ones.
func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	now := uint64(time.Now().UnixMicro())<<12 | uint64(b[7]&0x0f)<<8 | uint64(b[6])
	binary.BigEndian.PutUint64(b[:], now)
	return ordered.EncodeToString(b[:])
}

// ordered is Base64 with digits in the order of their bytes.
var ordered = base64.NewEncoding("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz").WithPadding(base64.NoPadding)

// meta is what only clients read of a task.
type meta struct {
	UniqueFor time.Duration     `json:"u,omitempty"`
	Delay     time.Duration     `json:"d,omitempty"`
	At        time.Time         `json:"a,omitzero"`
	Deadline  time.Time         `json:"l,omitzero"`
	Headers   map[string]string `json:"h,omitempty"`
}

func metaOf[T any](t *Task[T]) (string, error) {
	m := meta{t.UniqueFor, t.Delay, t.At.Round(0), t.Deadline.Round(0), t.Headers}
	if m.UniqueFor == 0 && m.Delay == 0 && m.At.IsZero() && m.Deadline.IsZero() && len(m.Headers) == 0 {
		return "", nil
	}
	b, err := json.Marshal(m) // one line
	return string(b), err
}

// stored is a task as it is in the server.
type stored struct {
	attempt  int
	priority int
	cost     int64
	due      int64 // us; in the header, less the time at which it was queued
	most     int
	keep     bool // its unique key ends with it
	tenant   string
	unique   string
	meta     string
	payload  string
}

func parse(body string) (s stored, err error) {
	head, rest, _ := strings.Cut(body, "\n")
	s.unique, rest, _ = strings.Cut(rest, "\n")
	s.meta, s.payload, _ = strings.Cut(rest, "\n")
	f := strings.SplitN(head, ":", 9)
	if len(f) != 9 {
		return s, fmt.Errorf("firqredis: a task with the header %q", head)
	}
	for i, to := range []*int{&s.attempt, &s.priority, 6: &s.most} {
		if to != nil && err == nil {
			*to, err = strconv.Atoi(f[i])
		}
	}
	var queued int64
	for i, to := range []*int64{2: &s.cost, 3: &queued, 4: &s.due} {
		if to != nil && err == nil {
			*to, err = strconv.ParseInt(f[i], 10, 64)
		}
	}
	s.due += queued
	s.keep, s.tenant = f[7] == "1", f[8]
	if err != nil {
		return s, fmt.Errorf("firqredis: a task with the header %q: %w", head, err)
	}
	return s, nil
}

// task returns what was enqueued, but for the payload.
func task[T any](id string, s *stored) (t Task[T], err error) {
	t = Task[T]{
		Tenant: s.tenant, ID: id, UniqueKey: s.unique, Cost: s.cost,
		Priority: firq.Priority(s.priority), MaxAttempts: s.most,
	}
	if s.meta != "" {
		var m meta
		if err := json.Unmarshal([]byte(s.meta), &m); err != nil {
			return t, fmt.Errorf("firqredis: task %q: %w", id, err)
		}
		t.UniqueFor, t.Delay, t.At, t.Deadline, t.Headers = m.UniqueFor, m.Delay, m.At, m.Deadline, m.Headers
	}
	return t, nil
}

package queue

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/firq-go/firq"
)

// Task is a task to queue.
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
	Cost      int64         // by which the tenant pays, at most 1e15 times its weight; 0: 1
	Priority  firq.Priority // 1 to 6, 6 before all else of its tenant; 0: PriorityNormal
	// Delay or At, but not both, says when the task is first due.
	Delay    time.Duration
	At       time.Time
	Deadline time.Time // if it is passed when its turn comes it is dropped (Stats.Expired)
	// TTL sets Deadline to that long after Enqueue, by this machine's clock; in a schedule, after it has fired. Not with Deadline; an Item has
	// the Deadline alone.
	TTL         time.Duration
	MaxAttempts int // 0: Config's
	// KeepResult is how long the task is kept once it is acked, with the result that its handler has set (Item.SetResult): for so long Get and
	// List find it as StateCompleted. It does not hold its ID: an Enqueue with that is a new task, whose result takes the place of this
	// one's. 0: nothing is kept.
	KeepResult time.Duration
	Headers    map[string]string
}

// Item is a delivery of a task, with every default of the task filled in.
type Item[T any] struct {
	Task[T]
	Attempt    int           // 1 for the first
	Wait       time.Duration // since the task was first due
	Token      uint64        // of this delivery; a later one of any task has a greater one
	LeaseUntil time.Time     // by the server's clock; Extend moves it, the heartbeats of Run do not

	charge  int64
	result  []byte
	room    int  // for the result; 0: any
	settled bool // by other means than this package's: Run leaves it alone
}

// Charge corrects the task's cost once the real one is known; the correction is sent with Ack or Nack, so that tenants pay for work that
// fails, too. Not for concurrent use with these.
func (it *Item[T]) Charge(delta int64) { it.charge += delta }

// SetResult sets what is kept with the task when it is acked, if KeepResult says for how long; else it is dropped. The last call counts.
// ErrPayloadTooLarge: it has more bytes than Config.MaxPayload; the result stays what it was. Not for concurrent use with Ack.
func (it *Item[T]) SetResult(b []byte) error {
	if it.room > 0 && len(b) > it.room {
		return fmt.Errorf("%w: the result of task %q: %d bytes, at most %d", ErrPayloadTooLarge, it.ID, len(b), it.room)
	}
	it.result = slices.Clone(b)
	return nil
}

// LeaseOf names a delivery for an engine, to be acked or nacked.
func LeaseOf[T any](it *Item[T]) Lease {
	l := it.name()
	if l.Charge = it.charge; it.UniqueFor == 0 {
		l.UniqueKey = it.UniqueKey
	}
	if it.KeepResult > 0 {
		l.Keep, l.Result = min(it.KeepResult, forEver), it.result
	}
	return l
}

// name names a delivery that goes on, or goes back: it may be in its handler's hands.
func (it *Item[T]) name() Lease { return Lease{ID: it.ID, Tenant: it.Tenant, Token: it.Token} }

// Settled is for engines that have other ways to end a delivery: Run leaves the task alone if its handler returns nil.
func Settled[T any](it *Item[T]) { it.settled = true }

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
	case q.names.bad(t.Tenant):
		return t, invalidTask("Tenant: %q: %s", t.Tenant, &q.names)
	case t.ID != "" && q.names.bad(t.ID):
		return t, invalidTask("ID: %q: %s", t.ID, &q.names)
	case t.UniqueKey != "" && q.names.bad(t.UniqueKey):
		return t, invalidTask("UniqueKey: %q: %s", t.UniqueKey, &q.names)
	case t.UniqueFor < 0:
		return t, invalidTask("UniqueFor: %v, must not be negative", t.UniqueFor)
	case t.Cost < 0:
		return t, invalidTask("Cost: %d, must not be negative", t.Cost)
	case t.Priority > firq.PriorityCritical:
		return t, invalidTask("Priority: %d, must be at most %d", t.Priority, firq.PriorityCritical)
	case t.Delay < 0:
		return t, invalidTask("Delay: %v, must not be negative", t.Delay)
	case beyond(t.At):
		return t, invalidTask("At: %v, must be from the year 0 to 9999", t.At)
	case beyond(t.Deadline):
		return t, invalidTask("Deadline: %v, must be from the year 0 to 9999", t.Deadline)
	case t.Delay > 0 && !t.At.IsZero():
		return t, invalidTask("Delay and At: set one of them")
	case t.TTL < 0:
		return t, invalidTask("TTL: %v, must not be negative", t.TTL)
	case t.TTL > 0 && !t.Deadline.IsZero():
		return t, invalidTask("TTL and Deadline: set one of them")
	case t.MaxAttempts < 0:
		return t, invalidTask("MaxAttempts: %d, must not be negative", t.MaxAttempts)
	case t.KeepResult < 0:
		return t, invalidTask("KeepResult: %v, must not be negative", t.KeepResult)
	}
	if t.ID == "" {
		t.ID = newID()
	}
	return t, nil
}

// deadline returns when a task expires that is queued now.
func deadline(at time.Time, ttl time.Duration) time.Time {
	if ttl == 0 {
		return at
	}
	return time.Now().Add(min(ttl, forEver))
}

// forEver is a time from now on within those that can be stored.
const forEver = 100 * 365 * 24 * time.Hour

// beyond reports whether a time cannot be stored.
func beyond(t time.Time) bool { return t.Year() < 0 || t.Year() > 9999 }

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

package drr

import (
	"math"

	"github.com/firq-go/firq"
)

// NoDeadline is the Due of a task that never expires.
const NoDeadline = math.MaxInt64

// Task is what a Queue holds. Times are nanoseconds on any clock that does not
// go back (by a microsecond does no harm); the Queue only compares them.
type Task[T any] struct {
	Payload  T
	Cost     int64         // at least 1
	Enqueued int64         // for ageing and to find the longest waiting
	Due      int64         // expired once now is after it; NoDeadline: never
	Ticket   *firq.Ticket  // nil: cannot be cancelled
	Priority firq.Priority // 1 to 6
	// Ages: Due is an age after Enqueued, not a deadline of the task's own. The Queue
	// does not look at it; it is for a caller that moves Enqueued before the task is queued.
	Ages bool
	Flow uint64 // whose it is inside its tenant; see Config.MaxFlows
}

// IsPlain reports whether a Slot is enough for the task: whether it has neither deadline
// nor ticket, is of PriorityNormal and of flow 0, and costs at most MostPlain.
func (t *Task[T]) IsPlain() bool {
	return t.Flow == 0 && t.Priority == firq.PriorityNormal && t.Due == NoDeadline && t.Ticket == nil && t.Cost <= MostPlain
}

// Head holds the fields of a delivered task, without its payload.
type Head struct {
	Cost, Enqueued, Due int64
	Flow                uint64
	Priority            firq.Priority
}

// entry is a queued task that a slot is not enough for: a node of its line's list
// (next, prev) and, if it can expire, of one bucket of the deadline index (dueNext,
// duePrev).
type entry[K comparable, T any] struct {
	head
	payload          T
	ticket           *firq.Ticket
	tenant           *Tenant[K, T]
	next             *entry[K, T]
	prev             *entry[K, T] // means nothing at the head of a list
	dueNext, duePrev *entry[K, T]
	flow             uint64
	after            uint32 // slots that had come into its line before it, modulo 1<<32
	bucket           int8   // of the deadline index; noBucket: not in it
	priority         firq.Priority
}

// is fills in what a task was, but for its payload and its ticket, which has ended.
func (t *Task[T]) is(h Head) {
	t.Cost, t.Enqueued, t.Due, t.Flow, t.Priority = h.Cost, h.Enqueued, h.Due, h.Flow, h.Priority
}

// entries is a doubly linked list, oldest first. The zero value is empty. Taking
// the oldest does not touch the one behind it.
type entries[K comparable, T any] struct{ head, tail *entry[K, T] }

func (l *entries[K, T]) push(e *entry[K, T]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

func (l *entries[K, T]) remove(e *entry[K, T]) {
	if e == l.head {
		if l.head = e.next; l.head == nil {
			l.tail = nil
		}
		return
	}
	e.prev.next = e.next
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
}

// retention decides how much free memory a pool keeps: about as much as was in use at the peak
// of the last two windows of returns. So a steady state allocates nothing, not even one with
// bursts up to a window, and the collector gets back the memory of a larger burst. The unit is
// room for one task.
type retention struct {
	n          int // free
	used, peak int // in use now; at most, in this window
	last, keep int // the peak of the last window; the larger of the last two
	returns    int // in this window
}

const (
	keepFree   = 256     // the pool always keeps this much
	poolWindow = 1 << 14 // in returns
)

// take notes that room for n tasks is in use from now on.
func (r *retention) take(n int, wasFree bool) {
	r.used += n
	r.peak = max(r.peak, r.used)
	if wasFree {
		r.n -= n
	}
}

// put notes that room for n tasks has come back, and reports whether the pool should drop some.
func (r *retention) put(n int) (tooMuch bool) {
	r.n += n
	r.used -= n
	if r.returns += n; r.returns >= poolWindow {
		r.keep, r.last = max(r.peak, r.last, keepFree), r.peak
		r.peak, r.returns = r.used, 0
	}
	return r.n > r.keep && r.tooMuch()
}

func (r *retention) tooMuch() bool { return r.n > max(r.keep, r.peak, keepFree) }

// pool recycles entries and segments.
type pool[K comparable, T any] struct {
	rings    *segment[T]               // for rings that are lent; linked by next
	lent     retention                 // of rings: apart, so that a burst of the others does not crowd them out
	entries  *entry[K, T]              // linked by next
	segments [segmentSizes]*segment[T] // by size; linked by next
	spare    *segment[T]               // of the smallest size, counted as in use: tasks that come and go one at a time use it in turn
	retention
}

// hasNoSpare reports whether a segment may become the spare one: unless there is memory to let go of,
// or that is to be looked at.
func (p *pool[K, T]) hasNoSpare() bool {
	return p.spare == nil && p.n <= p.keep && p.returns < poolWindow
}

func (p *pool[K, T]) entry() *entry[K, T] {
	e := p.entries
	p.take(1, e != nil)
	if e == nil {
		return &entry[K, T]{bucket: noBucket}
	}
	p.entries, e.next = e.next, nil
	return e
}

// putEntry takes back an entry that is in no list. It zeroes it, so that the payload
// is not kept alive.
func (p *pool[K, T]) putEntry(e *entry[K, T]) {
	*e = entry[K, T]{bucket: noBucket, next: p.entries}
	p.entries = e
	if p.put(1) {
		p.shrink()
	}
}

func (p *pool[K, T]) segment(size int) *segment[T] {
	s := p.segments[size]
	p.take(firstSegment<<size, s != nil)
	switch {
	case s == nil && size == 0: // in one piece: the first task of a tenant follows the header
		one := new(struct {
			segment[T]
			room [firstSegment]Slot[T]
		})
		one.slots = one.room[:]
		return &one.segment
	case s == nil:
		return &segment[T]{slots: make([]Slot[T], firstSegment<<size)}
	}
	p.segments[size], s.next = s.next, nil
	return s
}

// ring returns a segment for a ring that is lent.
func (p *pool[K, T]) ring() *segment[T] {
	s := p.rings
	p.lent.take(1, s != nil)
	if s == nil {
		return &segment[T]{lent: true}
	}
	p.rings, s.next = s.next, nil
	return s
}

// putSegment takes back a segment without tasks.
func (p *pool[K, T]) putSegment(s *segment[T]) {
	if s.lent {
		*s = segment[T]{lent: true, next: p.rings}
		p.rings = s
		for more := p.lent.put(1); more && p.rings != nil; more = p.lent.tooMuch() {
			p.rings = p.rings.next
			p.lent.n--
		}
		return
	}
	size := s.size()
	s.from, s.to, s.prev = 0, 0, nil
	s.next = p.segments[size]
	p.segments[size] = s
	if p.put(len(s.slots)) {
		p.shrink()
	}
}

// shrink lets go of two of the largest segments, and of two entries. Segments first: a few of
// them that are not needed would else have entries come and go for ever.
func (p *pool[K, T]) shrink() {
	for drop, size := 0, segmentSizes-1; drop < 2 && size >= 0 && p.tooMuch(); {
		if s := p.segments[size]; s != nil {
			p.segments[size] = s.next
			p.n -= len(s.slots)
			drop++
		} else {
			size--
		}
	}
	for drop := 0; drop < 2 && p.entries != nil && p.tooMuch(); drop++ {
		p.entries = p.entries.next
		p.n--
	}
}

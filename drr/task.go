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
	Enqueued int64         // for ageing and for who waited longest
	Due      int64         // expired once now is after it; NoDeadline: never
	Ticket   *firq.Ticket  // nil: cannot be cancelled
	Priority firq.Priority // 1 to 6
	// Ages: Due is an age after Enqueued, not a deadline of the task's own. The Queue
	// does not look at it; it is for who moves Enqueued before the task is queued.
	Ages bool

	bucket int8   // of an entry: of the deadline index, noBucket: not in it. Here it takes no space
	Flow   uint64 // whose it is inside its tenant; see Config.MaxFlows
}

// entry is a queued task: a node of its seat's list (next, prev) and, if it can
// expire, of one bucket of the deadline index (dueNext, duePrev).
type entry[K comparable, T any] struct {
	Task[T]
	tenant           *Tenant[K, T]
	next             *entry[K, T]
	prev             *entry[K, T] // means nothing at the head of a list
	dueNext, duePrev *entry[K, T]
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

// keepFree is how many free entries a Queue always keeps.
const keepFree = 256

// pool recycles entries. It keeps about as many as were in use at the peak of
// the last two windows of returns, so that a steady state allocates nothing, not
// even one of bursts up to a window, and the memory of a larger burst goes back to
// the collector.
type pool[K comparable, T any] struct {
	free       *entry[K, T] // linked by next
	n          int          // in the free list
	used, peak int          // in use now; at most, in this window
	last, keep int          // the peak of the last window; the larger of the last two
	returns    int          // in this window
}

const poolWindow = 1 << 14

func (p *pool[K, T]) get() *entry[K, T] {
	p.used++
	p.peak = max(p.peak, p.used)
	e := p.free
	if e == nil {
		return new(entry[K, T])
	}
	p.free, e.next = e.next, nil
	p.n--
	return e
}

// put takes back an entry that is in no list. It zeroes it, so that the payload
// is not kept alive.
func (p *pool[K, T]) put(e *entry[K, T]) {
	*e = entry[K, T]{next: p.free}
	p.free = e
	p.n++
	p.used--
	if p.returns++; p.returns == poolWindow {
		p.keep, p.last = max(p.peak, p.last, keepFree), p.peak
		p.peak, p.returns = p.used, 0
	}
	if p.n > p.keep {
		p.shrink()
	}
}

// shrink lets go of two entries, if there are more than are kept.
func (p *pool[K, T]) shrink() {
	for drop := 0; drop < 2 && p.n > max(p.keep, p.peak, keepFree); drop++ {
		p.free, p.n = p.free.next, p.n-1
	}
}

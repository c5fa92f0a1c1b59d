package drr

import "math/bits"

// head is what the order of service asks about a queued task.
type head struct {
	cost     int64
	enqueued int64
	due      int64
}

// slot is a queued task that has nothing but a payload, a cost and a time: one copy
// in, one copy out.
type slot[T any] struct {
	head
	payload T
}

// lane is a queue of slots, oldest first. The zero value is empty, and an empty lane
// has no memory. Tasks that need more than a slot has are in entries instead; between
// the two, the counts in and out say which is older: see entry.after.
type lane[K comparable, T any] struct {
	first, last *segment[T]
	in, out     uint32 // tasks that have come in at the end, and left at the front; modulo 1<<32
}

// segment is a piece of a lane. In all of them but the last one the slots up to the
// end are taken; only in the first one slots have left. The last one may be empty.
type segment[T any] struct {
	slots      []slot[T]
	next, prev *segment[T]
	from, to   int // slots in use
}

// The first segment of a lane is small, as few tenants have much; each further one is
// twice as large, up to 256 slots.
const (
	firstSegment = 4
	segmentSizes = 7
)

// size returns n of a segment of firstSegment<<n slots.
func (s *segment[T]) size() int { return bits.Len(uint(len(s.slots)/firstSegment)) - 1 }

func (l *lane[K, T]) empty() bool { return l.in == l.out }

// front returns the oldest slot of a lane that is not empty.
func (l *lane[K, T]) front() *slot[T] { return &l.first.slots[l.first.from] }

// pushed is push where there is room at the end, else nil.
func (l *lane[K, T]) pushed() *slot[T] {
	s := l.last
	if s == nil || s.to >= len(s.slots) {
		return nil
	}
	at := &s.slots[s.to]
	s.to++
	l.in++
	return at
}

// push adds a slot at the end, and returns it for the caller to fill.
func (l *lane[K, T]) push(p *pool[K, T]) *slot[T] {
	at := l.pushed()
	if at == nil {
		l.grow(p)
		at = l.pushed()
	}
	return at
}

// grow adds a segment.
func (l *lane[K, T]) grow(p *pool[K, T]) {
	if l.last == nil {
		l.first = p.segment(0)
		l.last = l.first
		return
	}
	s := p.segment(min(l.last.size()+1, segmentSizes-1))
	s.prev, l.last.next = l.last, s
	l.last = s
}

// popFront removes the oldest slot, whose payload the caller has taken and zeroed.
func (l *lane[K, T]) popFront(p *pool[K, T]) {
	s := l.first
	s.from++
	l.out++
	if s.from < s.to {
		return
	}
	if l.first = s.next; l.first != nil {
		l.first.prev = nil
		if l.first.from == l.first.to { // the last one, which popBack has emptied
			p.putSegment(l.first)
			l.first = nil
		}
	}
	if l.first == nil {
		l.last = nil
	}
	p.putSegment(s)
}

// back returns the newest slot of a lane that is not empty.
func (l *lane[K, T]) back() *slot[T] {
	s := l.last
	if s.from == s.to {
		s = s.prev
	}
	return &s.slots[s.to-1]
}

// popBack removes the newest slot, whose payload the caller has taken and zeroed. It
// leaves the last segment empty rather than give it back and fetch it again, but the
// only one.
func (l *lane[K, T]) popBack(p *pool[K, T]) {
	s := l.last
	if s.from == s.to {
		l.last = s.prev
		l.last.next = nil
		p.putSegment(s)
		s = l.last
	}
	s.to--
	if l.in--; l.in == l.out {
		l.first, l.last = nil, nil
		p.putSegment(s)
	}
}

package drr

import "math/bits"

// Slot is room for a plain task: one copy in, one copy out.
type Slot[T any] struct {
	// Mark is not the Queue's, which does not look at it; see Lend.
	Mark     uint32
	Cost     uint32 // at least 1
	Enqueued int64
	Payload  T
}

// head holds the properties of a queued task on which the order of service depends. Its cost is 0 if there is none.
type head struct {
	cost     int64
	enqueued int64
	due      int64
}

func (h *head) none() bool { return h.cost == 0 }

func (s *Slot[T]) head() head { return head{int64(s.Cost), s.Enqueued, NoDeadline} }

// row is a queue of slots, oldest first. The zero value is empty, and an empty row
// has no memory. Tasks that need more than a slot has are in entries instead; between
// the two, the counts in and out say which is older: see entry.after.
type row[K comparable, T any] struct {
	first, last *segment[T]
	in, out     uint32 // tasks that have come in at the end, and left at the front; modulo 1<<32
}

// segment is a piece of a row. Slots leave at the front of the first one only. The last one
// may be empty.
//
// Or it is what the Queue was lent (Lend). Such a segment is the last one of its row, and
// has slots in it; what it does not have room for before the end of the ring goes on at
// the beginning.
type segment[T any] struct {
	slots      []Slot[T]
	next, prev *segment[T]
	from, to   int // slots in use
	rest       int // of a ring: and this many from the first one on
	lent       bool
}

// The first segment of a row is small, as few tenants have much; each further one is
// twice as large, up to 256 slots.
const (
	firstSegment = 4
	segmentSizes = 7
)

// size returns n of a segment of firstSegment<<n slots.
func (s *segment[T]) size() int { return bits.Len(uint(len(s.slots)/firstSegment)) - 1 }

func (l *row[K, T]) empty() bool { return l.in == l.out }

// front returns the oldest slot of a row that is not empty.
func (l *row[K, T]) front() *Slot[T] { return &l.first.slots[l.first.from] }

// pushSome adds up to n slots at the end, at least one, and returns them for the caller to fill.
func (l *row[K, T]) pushSome(n int, p *pool[K, T]) []Slot[T] {
	s := l.last
	if s == nil || s.to >= len(s.slots) || s.lent {
		s = l.room(p)
	}
	from := s.to
	s.to = min(from+n, len(s.slots))
	l.in += uint32(s.to - from)
	return s.slots[from:s.to]
}

// room returns the last segment of a row, once there is room at its end.
func (l *row[K, T]) room(p *pool[K, T]) *segment[T] {
	if s := p.spare; s != nil && l.last == nil {
		p.spare, l.first, l.last = nil, s, s
		return s
	}
	l.spill(p)
	if l.last == nil || l.last.to == len(l.last.slots) {
		l.grow(p)
	}
	return l.last
}

// grow adds a segment.
func (l *row[K, T]) grow(p *pool[K, T]) {
	size := 0
	if l.last != nil {
		size = min(l.last.size()+1, segmentSizes-1)
	}
	l.append(p.segment(size))
}

// append adds a segment that is not in a row.
func (l *row[K, T]) append(s *segment[T]) {
	if s.prev = l.last; s.prev == nil {
		l.first = s
	} else {
		s.prev.next = s
	}
	l.last = s
}

// unlast takes the last segment out of the row.
func (l *row[K, T]) unlast() *segment[T] {
	s := l.last
	if l.last = s.prev; l.last == nil {
		l.first = nil
	} else {
		l.last.next = nil
	}
	s.prev = nil
	return s
}

// popFront removes the oldest slot, whose payload the caller has taken and zeroed; s is the first segment.
// (It is small, so that it is inlined.)
func (l *row[K, T]) popFront(s *segment[T], p *pool[K, T]) {
	l.out++
	if s.from++; s.from == s.to {
		l.popSegment(p)
	}
}

// popSegment gives back the first segment, which has just become empty. One of the smallest size may stay as
// the spare one.
func (l *row[K, T]) popSegment(p *pool[K, T]) {
	s := l.first
	if s.next == nil && len(s.slots) == firstSegment && !s.lent && p.hasNoSpare() {
		p.returns += firstSegment
		s.from, s.to = 0, 0
		p.spare, l.first, l.last = s, nil, nil
		return
	}
	l.dropFirst(p)
}

// dropFirst gives back the first segment, which is empty, unless what was lent goes on at the
// beginning of its ring.
func (l *row[K, T]) dropFirst(p *pool[K, T]) {
	s := l.first
	if s.rest > 0 {
		s.from, s.to, s.rest = 0, s.rest, 0
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

// back returns the newest slot of a row that is not empty, and has spilled.
func (l *row[K, T]) back() *Slot[T] {
	s := l.last
	if s.from == s.to {
		s = s.prev
	}
	return &s.slots[s.to-1]
}

// popBack removes the newest slot, whose payload the caller has taken and zeroed. It
// leaves the last segment empty rather than give it back and fetch it again, but the
// only one. The row has spilled.
func (l *row[K, T]) popBack(p *pool[K, T]) {
	s := l.last
	if s.from == s.to {
		p.putSegment(l.unlast())
		s = l.last
	}
	s.to--
	if l.in--; l.in == l.out {
		l.first, l.last = nil, nil
		p.putSegment(s)
	}
}

// lent returns how many slots of a ring are in the row.
func (l *row[K, T]) lent() int {
	if s := l.last; s != nil && s.lent {
		return s.to - s.from + s.rest
	}
	return 0
}

// lend adds n slots of a ring, from one on, at the end: those behind the last one that was
// lent, if any are still in the row.
func (l *row[K, T]) lend(p *pool[K, T], ring []Slot[T], from, n int) {
	s := l.last
	if s == nil || !s.lent {
		if s != nil && s.from == s.to {
			p.putSegment(l.unlast())
		}
		s = p.ring()
		s.slots, s.from, s.to = ring, from, from
		l.append(s)
	}
	l.in += uint32(n)
	if s.rest == 0 {
		fits := min(n, len(ring)-s.to)
		s.to += fits
		n -= fits
	}
	s.rest += n
}

// spill moves what was lent into segments of the row's own.
func (l *row[K, T]) spill(p *pool[K, T]) {
	if l.last == nil || !l.last.lent {
		return
	}
	s := l.unlast()
	l.in -= uint32(s.to - s.from + s.rest)
	for _, lent := range [2][]Slot[T]{s.slots[s.from:s.to], s.slots[:s.rest]} {
		for len(lent) > 0 {
			to := l.pushSome(len(lent), p)
			for i := range to {
				var zero T
				to[i].Cost, to[i].Enqueued, to[i].Payload = lent[i].Cost, lent[i].Enqueued, lent[i].Payload
				lent[i].Payload = zero // keep no payload alive
			}
			lent = lent[len(to):]
		}
	}
	p.putSegment(s)
}

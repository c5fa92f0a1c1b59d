// Package ring holds the bounded multi-producer single-consumer rings of the
// low-contention core: Slots, whose tickets come from elsewhere, and MPSC, which
// has a tail of its own.
package ring

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/failpoint"
)

// Slots is the storage of a bounded MPSC ring. A ticket, which the producer got
// elsewhere and nobody else has, is the right to one slot. After Vyukov's
// bounded queue, with one difference: the consumer takes what is published even
// behind a slot whose producer is still at work (a hole), so that a producer
// that was stopped in between hides only its own value.
//
// The states of the slot of ticket t, in a ring of n slots:
//
//	seq = t-n+1, t-n+2 or t
//	                   free, or being written by the owner of ticket t
//	seq = t+1          published; the consumer takes it, in turn or (taken is
//	                   set) behind a hole; until Free, everybody still sees it
//	seq = t+2, taken   taken behind a hole, and Free was called
//
// and after freed has passed t, the slot is free for ticket t+n.
//
// Order: a value whose Put returned before another value's ticket was drawn is
// taken before it. The consumer looks at the tail first, and at the slots below
// it afterwards; a slot that it finds unpublished belongs to a Put that had not
// returned when the tail was read, so that everything below that tail overlaps
// with it.
//
// Progress: Put is wait-free. Pop belongs to one goroutine at a time.
type Slots[V any] struct {
	slots []slot[V]
	mask  uint32
	head  uint32        // consumer's: all tickets before it were taken
	ahead uint32        // consumer's: slots taken behind a hole since Free end before it
	freed atomic.Uint32 // head as last published; written by the consumer, read by producers
	early atomic.Uint32 // how often Free found slots taken behind a hole; as freed
}

type slot[V any] struct {
	seq   atomic.Uint32
	taken bool // consumer's
	// value belongs to the owner of the ticket until seq is published, then to
	// the consumer until freed passes it.
	value V
}

// Init makes room for size values, a power of two, with tickets starting at
// first.
func (s *Slots[V]) Init(size int, first uint32) {
	s.slots = make([]slot[V], size)
	s.mask = uint32(size - 1)
	s.head, s.ahead = first, first
	s.freed.Store(first)
	for i := range uint32(size) {
		s.slots[(first+i)&s.mask].seq.Store(first + i)
	}
}

// HasRoom reports whether the slot of a ticket is free. Once it is, it stays so
// for the owner of the ticket.
func (s *Slots[V]) HasRoom(ticket uint32) bool { return s.Room(ticket) > 0 }

// Room returns how many tickets, starting with this one, have a free slot.
func (s *Slots[V]) Room(ticket uint32) int {
	return len(s.slots) - int(int32(ticket-s.freed.Load()))
}

// Put publishes a value in the slot of a ticket that has room.
func (s *Slots[V]) Put(ticket uint32, v V) {
	sl := &s.slots[ticket&s.mask]
	sl.value = v
	sl.seq.Store(ticket + 1) // publishes value; pairs with the Load in Pop
}

// Head returns where Pop starts.
func (s *Slots[V]) Head() uint32 { return s.head }

// Pop takes the next published value of the tickets from *at up to tail, which
// was read before the first Pop of the pass, and moves *at past it. It reports
// false at the end of the pass; then call Free.
func (s *Slots[V]) Pop(at *uint32, tail uint32) (v V, ok bool) {
	for t := *at; t != tail; t++ {
		sl := &s.slots[t&s.mask]
		if sl.taken {
			if t == s.head {
				sl.taken = false
				s.head++
			}
			continue
		}
		if sl.seq.Load() != t+1 {
			continue // a hole: its producer is still at work
		}
		v = sl.value
		var zero V
		sl.value = zero // keep no payload alive
		if t == s.head {
			s.head++
		} else {
			sl.taken = true
			s.ahead = t + 1
		}
		*at = t + 1
		return v, true
	}
	*at = tail
	return v, false
}

// Free hands the slots that were taken back to the producers, and makes those
// that were taken behind a hole look unpublished.
func (s *Slots[V]) Free() {
	for t := s.head; int32(s.ahead-t) > 0; t++ {
		if sl := &s.slots[t&s.mask]; sl.taken {
			sl.seq.Store(t + 2)
		}
	}
	if int32(s.ahead-s.head) > 0 {
		s.early.Add(1)
	}
	s.ahead = s.head
	if s.freed.Load() != s.head {
		failpoint.At("ring freed")
		s.freed.Store(s.head) // pairs with the Load in Room
	}
}

// Holes reports whether a ticket before tail may be without its value yet.
// Anybody may ask; tail is the next ticket now.
func (s *Slots[V]) Holes(tail uint32) bool {
	for t := s.freed.Load(); int32(tail-t) > 0; t++ {
		if seq := s.slots[t&s.mask].seq.Load(); seq != t+1 && seq != t+2 {
			return true
		}
	}
	return false
}

// Published reports whether there is a published value among the tickets up to
// tail. Anybody may ask.
func (s *Slots[V]) Published(tail uint32) bool {
	for t := s.freed.Load(); int32(tail-t) > 0; t++ {
		if s.slots[t&s.mask].seq.Load() == t+1 {
			return true
		}
	}
	return false
}

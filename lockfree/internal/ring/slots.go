// Package ring holds the bounded multi-producer single-consumer ring of the low-contention
// core, and the arithmetic of tickets, which its inboxes use too.
package ring

import (
	"sync/atomic"
)

// Slots is the storage of MPSC. A ticket, which no other producer has, is the right to one slot.
// After Vyukov's bounded queue, with one difference: the consumer takes what is published
// even behind a slot whose producer is still at work (a hole), so that a producer that was
// stopped in between hides only its own value.
//
// The states of the slot of ticket t, in a ring of n slots:
//
//	seq = t-n+1, t-n+2 or t
//	                   free, or being written by the owner of ticket t
//	seq = t+1          published; the consumer takes it, in turn or (taken is
//	                   set) behind a hole
//	seq = t+2, taken   taken behind a hole, and Hide was called
//
// and after the owner of the ring has handed it back, the slot is free for ticket
// t+n.
//
// Tickets are TicketBits wide, so that those of an inbox fit into one word with what else its
// producers agree on, and wrap.
//
// Order: a value whose Publish returned before another value's ticket was drawn is
// taken before it. The consumer looks at the tail first, and at the slots below
// it afterwards; a slot that it finds unpublished belongs to a Publish that had not
// returned when the tail was read, so that everything below that tail overlaps
// with it.
//
// Progress: Publish is wait-free. Next belongs to one goroutine at a time.
//
// Slots is immutable after Init; what changes is behind it. So it may stand
// apart from what producers write.
type Slots[V any] struct{ slots []slot[V] }

// Taker is how far the consumer has come; it belongs to the consumer, which keeps
// it apart from what producers read.
type Taker struct {
	head  uint32 // all tickets before it were taken
	ahead uint32 // slots taken behind a hole since Hide end before it
}

type slot[V any] struct {
	seq   atomic.Uint32
	taken bool // consumer's
	// value belongs to the owner of the ticket until seq is published, then to
	// the consumer until the slot is handed back.
	value V
}

// TicketBits is how wide tickets are.
const TicketBits = 22

// ticketMask cuts a ticket off at the wrap.
const ticketMask = 1<<TicketBits - 1

// Distance returns how many tickets b is behind a, negative if it is ahead.
func Distance(a, b uint32) int {
	const unused = 32 - TicketBits
	return int(int32((a-b)<<unused) >> unused)
}

// After returns the ticket after t.
func After(t uint32) uint32 { return Cut(t + 1) }

// Cut cuts a ticket off at the wrap.
func Cut(t uint32) uint32 { return t & ticketMask }

// Init makes room for size values, a power of two, with tickets starting at
// first.
func (s *Slots[V]) Init(size int, first uint32) {
	s.slots = make([]slot[V], size)
	for i := range uint32(size) {
		t := (first + i) & ticketMask
		s.at(t).seq.Store(t)
	}
}

// at returns the slot of a ticket.
func (s *Slots[V]) at(ticket uint32) *slot[V] { return &s.slots[ticket&uint32(len(s.slots)-1)] }

// Init starts at the ticket first.
func (k *Taker) Init(first uint32) { k.head, k.ahead = first&ticketMask, first&ticketMask }

// Slot returns where the owner of a ticket that has room writes its value, which is
// zero before, and then calls Publish.
func (s *Slots[V]) Slot(ticket uint32) *V { return &s.at(ticket).value }

// Publish hands the value of a ticket to the consumer.
func (s *Slots[V]) Publish(ticket uint32) {
	s.at(ticket).seq.Store(ticket + 1) // publishes value; pairs with the Load in Next
}

// Head returns where Next starts: all tickets before it were taken.
func (k *Taker) Head() uint32 { return k.head }

// Next returns the next published value of the tickets from *at up to tail, which
// was read before the first Next of the pass, and moves *at past it; nil at the end
// of the pass. The value is left in its slot: the caller takes it from there, and
// zeroes it, before the slot is handed back. The slots that head has passed can be
// handed back at the end of the pass.
func (s *Slots[V]) Next(k *Taker, at *uint32, tail uint32) *V {
	for t := *at; t != tail; t = After(t) {
		sl := s.at(t)
		if sl.taken {
			if t == k.head {
				sl.taken = false
				k.head = After(t)
			}
			continue
		}
		if sl.seq.Load() != t+1 {
			continue // a hole: its producer is still at work
		}
		*at = After(t)
		if t == k.head {
			k.head = *at
		} else {
			sl.taken = true
			k.ahead = *at
		}
		return &sl.value
	}
	*at = tail
	return nil
}

// Behind reports whether slots were taken behind a hole since Hide.
func (k *Taker) Behind() bool { return Distance(k.ahead, k.head) > 0 }

// Hide makes the slots that were taken behind a hole look unpublished.
func (s *Slots[V]) Hide(k *Taker) {
	for t := k.head; Distance(k.ahead, t) > 0; t = After(t) {
		if sl := s.at(t); sl.taken {
			sl.seq.Store(t + 2)
		}
	}
	k.ahead = k.head
}

// Published reports whether there is a published value among these tickets that
// was not hidden. Any goroutine may ask.
func (s *Slots[V]) Published(from, tail uint32) bool {
	for t := from & ticketMask; Distance(tail, t) > 0; t = After(t) {
		if s.at(t).seq.Load() == t+1 {
			return true
		}
	}
	return false
}

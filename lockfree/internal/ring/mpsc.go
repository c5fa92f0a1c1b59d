package ring

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// MPSC is a bounded multi-producer single-consumer ring. Draw is lock-free, and
// false only when the ring is full; the consumer's methods belong to one
// goroutine at a time. See Slots for the order.
type MPSC[V any] struct {
	_ pad.Pad
	Slots[V]
	tail  atomic.Uint32 // producers: the next ticket, in its lowest TicketBits
	seen  atomic.Uint32 // producers: freed, as one of them found it
	_     pad.Pad
	taker Taker
	freed atomic.Uint32 // head as last published; written by the consumer, read by producers
	early atomic.Uint32 // how often Free found slots taken behind a hole; as freed
}

// InitAt makes room for size values, a power of two, counting from first.
func (r *MPSC[V]) InitAt(size int, first uint32) {
	r.Init(size, first)
	r.taker.Init(first)
	r.tail.Store(first)
	r.freed.Store(first & ticketMask)
	r.seen.Store(first & ticketMask)
}

// Draw draws a ticket: the caller writes its value into Slot, and calls Publish.
// It reports false if the ring is full.
//
// Producers look at freed, whose line the consumer writes, only when there is no
// room left as far as they have seen.
func (r *MPSC[V]) Draw() (ticket uint32, ok bool) {
	for {
		t := r.tail.Load()
		freed, looked := r.seen.Load(), false
		if r.room(t, freed) <= 0 {
			failpoint.At("ring look")
			freed, looked = r.freed.Load(), true // pairs with the Store in Free
			if r.room(t, freed) <= 0 {
				if r.tail.Load() == t {
					return 0, false
				}
				continue // t was old
			}
		}
		failpoint.At("ring draw")
		if r.tail.CompareAndSwap(t, t+1) {
			if looked {
				failpoint.At("ring seen")
				// freed does not pass this ticket before it is published: however late, this
				// is no further back than a size.
				r.seen.Store(freed)
			}
			failpoint.At("ring put")
			return t & ticketMask, true
		}
	}
}

// Tail returns the next ticket.
func (r *MPSC[V]) Tail() uint32 { return r.tail.Load() & ticketMask }

// Room returns how many tickets, starting with this one, have a free slot. Once
// it has one, the ticket keeps it until it is drawn.
func (r *MPSC[V]) Room(ticket uint32) int { return r.room(ticket, r.freed.Load()) }

func (r *MPSC[V]) room(ticket, freed uint32) int { return len(r.slots) - Distance(ticket, freed) }

// Head returns where Next starts.
func (r *MPSC[V]) Head() uint32 { return r.taker.Head() }

// Next is Slots.Next.
func (r *MPSC[V]) Next(at *uint32, tail uint32) *V { return r.Slots.Next(&r.taker, at, tail) }

// Free ends a pass: it hands the slots that were taken back to the producers, and
// makes those that were taken behind a hole look unpublished. Until then every caller
// sees the values that were taken.
func (r *MPSC[V]) Free() {
	if r.taker.Behind() {
		r.early.Add(1) // first: a call that sees that they are gone sees another version
		failpoint.At("ring hide")
		r.Hide(&r.taker)
	}
	if head := r.taker.head; r.freed.Load() != head {
		failpoint.At("ring freed")
		r.freed.Store(head) // pairs with the Load in Draw
	}
}

// Version changes whenever a ticket is drawn, and whenever values that were taken
// are freed.
func (r *MPSC[V]) Version() uint64 {
	return uint64(r.tail.Load()) + uint64(r.freed.Load()) + uint64(r.early.Load())
}

// Ready reports whether there is something to pop. Any goroutine may ask.
func (r *MPSC[V]) Ready() bool {
	t, freed := r.Tail(), r.freed.Load()
	return t != freed && r.Published(freed, t)
}

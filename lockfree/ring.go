package lockfree

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// ring is a bounded queue with many producers and one consumer at a time, the holder of the
// shard's lock. A producer is pinned between draw and publish, so that the holder may wait for
// a slot as it would for a lock.
type ring[V any] struct {
	slots []slot[V] // a power of two; immutable
	_     pad.Pad
	tail  atomic.Uint32 // the next ticket
	seen  atomic.Uint32 // freed, as a producer found it
	_     pad.Pad
	head  uint32        // the holder's: tickets before it are taken
	freed atomic.Uint32 // the slots of tickets before it belong to producers; written by the holder
	_     pad.Pad
}

// slot belongs to the producer that has drawn its ticket until mark is ticket+1, and then to
// the holder until it frees it.
type slot[V any] struct {
	mark  atomic.Uint32
	value V
}

func (r *ring[V]) at(ticket uint32) *slot[V] { return &r.slots[int(ticket)&(len(r.slots)-1)] }

// draw draws a ticket; false: the ring is full. Producers look at freed, whose line the
// holder writes, only when there is no room as far as they have seen.
func (r *ring[V]) draw() (ticket uint32, ok bool) {
	for {
		t := r.tail.Load()
		if int(t-r.seen.Load()) >= len(r.slots) {
			freed := r.freed.Load()
			if int(t-freed) >= len(r.slots) {
				return 0, false
			}
			r.seen.Store(freed) // an old value does no harm: it is looked up again
		}
		failpoint.At("ring draw")
		// Before: the slot is free, and any producer's that draws its ticket. After: this producer's. A
		// holder that reads the tail from here on (takeInAll, ready) waits for publish, so in between
		// the producer is pinned. The slot's last value is taken: seen, and freed before it, are no
		// later than what the holder has freed.
		if r.tail.CompareAndSwap(t, t+1) {
			return t, true
		}
	}
}

// publish hands a slot to the holder. Before, it is its producer's, value and all; after, the holder's.
// Pairs with the Load in next, which is what lets the holder read the value.
func (r *ring[V]) publish(ticket uint32) {
	failpoint.At("ring publish")
	r.at(ticket).mark.Store(ticket + 1)
}

// next takes the oldest value, whose ticket has been drawn; the slot stays the holder's until freeSlots.
func (r *ring[V]) next() *V {
	s := r.at(r.head)
	// Before: the producer may be writing the value. After: it has, and does not come back to the slot.
	// Marks of older tickets of the slot differ by multiples of the ring's length.
	for i := 0; s.mark.Load() != r.head+1; i++ {
		spin(i, "ring mark")
	}
	r.head++
	return &s.value
}

// freeSlots hands the slots that were taken back to producers. Pairs with the Load in draw.
func (r *ring[V]) freeSlots() {
	if r.freed.Load() != r.head {
		failpoint.At("ring free")
		// Before: the slots are the holder's, which has emptied them. After: producers'. It comes after
		// the shard has published that it is ready (release): until then a consumer that finds no
		// shard ready sees the tasks here, as a ring that is not freed.
		r.freed.Store(r.head)
	}
}

// ready reports whether something was drawn that is not freed. Any goroutine may ask.
func (r *ring[V]) ready() bool { return r.tail.Load() != r.freed.Load() }

// version changes whenever a ticket is drawn or freed: both only grow, so equal sums are equal terms.
func (r *ring[V]) version() uint64 { return uint64(r.tail.Load()) + uint64(r.freed.Load()) }

// spin waits for a pinned producer for the i-th time: only the operating system can have
// stopped it.
func spin(i int, mark string) {
	if failpoint.On || i > 100 {
		failpoint.Gosched(mark)
	}
}

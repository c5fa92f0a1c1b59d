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
		if r.tail.CompareAndSwap(t, t+1) { // from here on the holder waits for publish
			return t, true
		}
	}
}

// publish hands a slot to the holder. Pairs with the Load in next.
func (r *ring[V]) publish(ticket uint32) {
	failpoint.At("ring publish")
	r.at(ticket).mark.Store(ticket + 1)
}

// next takes the oldest value, whose ticket has been drawn; the slot stays the holder's until free.
func (r *ring[V]) next() *V {
	s := r.at(r.head)
	for i := 0; s.mark.Load() != r.head+1; i++ {
		spin(i, "ring mark")
	}
	r.head++
	return &s.value
}

// free hands the slots that were taken back to producers. Pairs with the Load in draw.
func (r *ring[V]) free() {
	if r.freed.Load() != r.head {
		failpoint.At("ring free")
		r.freed.Store(r.head)
	}
}

// ready reports whether something was drawn that is not freed. Anybody may ask.
func (r *ring[V]) ready() bool { return r.tail.Load() != r.freed.Load() }

// version changes whenever a ticket is drawn or freed.
func (r *ring[V]) version() uint64 { return uint64(r.tail.Load()) + uint64(r.freed.Load()) }

// spin waits for a pinned producer for the i-th time: only the operating system can have
// stopped it.
func spin(i int, mark string) {
	if failpoint.On || i > 100 {
		failpoint.Gosched(mark)
	}
}

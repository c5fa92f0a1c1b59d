package ring

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/pad"
)

// MPSC is a bounded multi-producer single-consumer ring. Push is lock-free, and
// false only when the ring is full; the consumer's methods belong to one
// goroutine at a time. See Slots for the order.
type MPSC[V any] struct {
	_    pad.Pad
	tail atomic.Uint32 // producers: the next ticket
	_    [pad.Line - 4]byte
	Slots[V]
}

// InitAt makes room for size values, a power of two, counting from first.
func (r *MPSC[V]) InitAt(size int, first uint32) {
	r.Init(size, first)
	r.tail.Store(first)
}

// Push adds a value; false: the ring is full.
func (r *MPSC[V]) Push(v V) bool {
	for {
		t := r.tail.Load()
		if !r.HasRoom(t) {
			if r.tail.Load() == t {
				return false
			}
			continue // t was old
		}
		failpoint.At("ring draw")
		if r.tail.CompareAndSwap(t, t+1) {
			failpoint.At("ring put")
			r.Put(t, v)
			return true
		}
	}
}

// Tail returns the next ticket.
func (r *MPSC[V]) Tail() uint32 { return r.tail.Load() }

// Version changes whenever a ticket is drawn, and whenever values that were taken
// are freed.
func (r *MPSC[V]) Version() uint64 {
	return uint64(r.tail.Load()) + uint64(r.freed.Load()) + uint64(r.early.Load())
}

// Ready reports whether there is something to pop. Anybody may ask.
func (r *MPSC[V]) Ready() bool {
	t := r.tail.Load()
	return t != r.freed.Load() && r.Published(t)
}

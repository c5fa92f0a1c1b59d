package adapter

import (
	"context"
	"math"
	"sync/atomic"
)

// Slot is the slot of a gate that a request holds; its context carries it. An adapter that is called with
// it, inside of another one of the same gate, joins it, for a request must not wait for a second
// slot, which the first may be.
type Slot interface {
	// Gate returns the gate.
	Gate() any
	// Outer returns the Slot of the adapter outside, nil if there is none.
	Outer() Slot
	// Join makes the caller one more holder, unless the slot is free already: a caller that joins
	// leaves.
	Join() bool
	// Leave makes it one fewer.
	Leave()
}

type slotKey struct{}

// WithSlot returns ctx with a Slot, whose Outer is SlotOf(ctx).
func WithSlot(ctx context.Context, s Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// SlotOf returns the innermost Slot of a context, nil if there is none.
func SlotOf(ctx context.Context) Slot {
	s, _ := ctx.Value(slotKey{}).(Slot)
	return s
}

// InnermostSlot returns the innermost Slot that is an S.
func InnermostSlot[S Slot](ctx context.Context) (s S, ok bool) {
	for at := SlotOf(ctx); at != nil; at = at.Outer() {
		if s, ok = at.(S); ok {
			return s, true
		}
	}
	return s, false
}

// JoinSlot returns the innermost Slot of the gate, joined; nil: the request comes with none.
func JoinSlot(ctx context.Context, gate any) Slot {
	for s := SlotOf(ctx); s != nil; s = s.Outer() {
		if s.Gate() == gate && s.Join() {
			return s
		}
	}
	return nil
}

// Holders counts those that hold a slot, which is free when none does. The zero value is of a
// slot that is free.
type Holders struct{ n atomic.Int32 }

// abandoned is less than holders can make up for.
const abandoned = math.MinInt32 / 2

// Add counts one more, while the caller holds the slot or has just got it.
func (h *Holders) Add() { h.n.Add(1) }

// Join is Add, unless the slot is free.
func (h *Holders) Join() bool {
	for {
		n := h.n.Load()
		if n <= 0 {
			return false
		}
		if h.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Leave counts one fewer, and reports whether the caller has to free the slot.
func (h *Holders) Leave() bool { return h.n.Add(-1) == 0 }

// Abandon ends the slot, held or not, and reports whether the caller has to free it.
func (h *Holders) Abandon() bool { return h.n.Swap(abandoned) > 0 }

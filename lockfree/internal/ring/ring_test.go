package ring

import (
	"fmt"
	"slices"
	"testing"
)

// starts are the first tickets that the tests count from: the second is so near
// the wrap that a few values cross it.
var starts = []uint32{0, 1<<TicketBits - 3, 1<<32 - 3}

func eachStart(t *testing.T, f func(t *testing.T, first uint32)) {
	for _, first := range starts {
		t.Run(fmt.Sprintf("first=%d", first), func(t *testing.T) { f(t, first) })
	}
}

func newRing[V any](size int, first uint32) *MPSC[V] {
	r := new(MPSC[V])
	r.InitAt(size, first)
	return r
}

// draw is the first half of Push, by a producer that then stops.
func draw[V any](r *MPSC[V]) uint32 { return ticket(r.tail.Add(1), -1) }

// ticket returns the i-th ticket from first on.
func ticket(first uint32, i int) uint32 { return (first + uint32(i)) & ticketMask }

// pass is the consumer's whole pass: everything published, then Free.
func pass[V any](r *MPSC[V]) (got []V) {
	tail, at := r.Tail(), r.Head()
	for {
		v, ok := r.Pop(&at, tail)
		if !ok {
			break
		}
		got = append(got, v)
	}
	r.Free()
	return got
}

func mustPush[V any](t *testing.T, r *MPSC[V], vs ...V) {
	t.Helper()
	for _, v := range vs {
		if !r.Push(v) {
			t.Fatalf("Push(%v): the ring says that it is full", v)
		}
	}
}

func mustTake[V comparable](t *testing.T, r *MPSC[V], want ...V) {
	t.Helper()
	if got := pass(r); !slices.Equal(got, want) {
		t.Fatalf("took %v, want %v", got, want)
	}
}

func TestFIFO(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		for _, size := range []int{1, 2, 8} {
			r, next := newRing[int](size, first), 0
			for round := range 40 { // several times around, with every fill
				var want []int
				for range round % (size + 1) {
					mustPush(t, r, next)
					want = append(want, next)
					next++
				}
				mustTake(t, r, want...)
			}
		}
	})
}

// Full at exactly size values, and until Free: before it the producers must not
// write over what the consumer may still be reading.
func TestFull(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		r := newRing[int](4, first)
		mustPush(t, r, 0, 1, 2, 3)
		if r.Push(4) {
			t.Fatal("the fifth value went into a ring of four")
		}
		at := r.Head()
		if v, ok := r.Pop(&at, r.Tail()); v != 0 || !ok {
			t.Fatalf("Pop = %d, %t", v, ok)
		}
		if r.Push(4) {
			t.Fatal("a slot was used again before Free")
		}
		r.Free()
		mustPush(t, r, 4)
		if r.Push(5) {
			t.Fatal("one slot came free, two values went in")
		}
		mustTake(t, r, 1, 2, 3, 4)
	})
}

// Distance has a sign, also across the wrap.
func TestDistance(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		for _, d := range []int{0, 1, 7, 1<<(TicketBits-1) - 1, -1, -7, -1 << (TicketBits - 1)} {
			if got := Distance(ticket(first, d), ticket(first, 0)); got != d {
				t.Errorf("Distance = %d, want %d", got, d)
			}
		}
	})
}

func TestAllocatesNothing(t *testing.T) {
	r := newRing[int](8, 0)
	if n := testing.AllocsPerRun(200, func() {
		r.Push(1)
		r.Push(2)
		tail, at := r.Tail(), r.Head()
		for _, ok := r.Pop(&at, tail); ok; _, ok = r.Pop(&at, tail) {
			_ = ok
		}
		r.Free()
	}); n != 0 {
		t.Errorf("two values in and out: %v allocations", n)
	}
}

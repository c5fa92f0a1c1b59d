package ring

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"
)

// starts are the first tickets that the tests count from: the second is so near
// the wrap that a few values cross it.
var starts = []uint32{0, 1<<32 - 3}

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
func draw[V any](r *MPSC[V]) uint32 { return r.tail.Add(1) - 1 }

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

// A pass ends at the tail that it was given, whatever comes in meanwhile.
func TestPassEndsAtTail(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		r := newRing[int](8, first)
		mustPush(t, r, 0, 1)
		tail, at := r.Tail(), r.Head()
		mustPush(t, r, 2)
		for want := range 2 {
			if v, ok := r.Pop(&at, tail); v != want || !ok {
				t.Fatalf("Pop = %d, %t; want %d", v, ok, want)
			}
		}
		if v, ok := r.Pop(&at, tail); ok {
			t.Fatalf("Pop = %d, which came in after the tail was read", v)
		}
		if at != tail {
			t.Fatalf("the pass ends at %d, want %d", at, tail)
		}
		r.Free()
		mustTake(t, r, 2)
	})
}

// Room counts the free slots from a ticket on, and Slots need no tail of their
// own.
func TestRoom(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		var s Slots[int]
		s.Init(4, first)
		for i := range uint32(6) {
			if got, want := s.Room(first+i), 4-int(i); got != want {
				t.Errorf("Room(first+%d) = %d, want %d", i, got, want)
			}
			if got, want := s.HasRoom(first+i), i < 4; got != want {
				t.Errorf("HasRoom(first+%d) = %t, want %t", i, got, want)
			}
		}
		s.Put(first, 7)
		at := s.Head()
		if v, ok := s.Pop(&at, first+1); v != 7 || !ok {
			t.Fatalf("Pop = %d, %t", v, ok)
		}
		if s.HasRoom(first + 4) {
			t.Error("room for first+4 before Free")
		}
		s.Free()
		if got := s.Room(first + 4); got != 1 {
			t.Errorf("Room(first+4) = %d after Free, want 1", got)
		}
	})
}

// What was popped is not kept alive by its slot: neither the values taken in
// turn nor those taken behind a hole, whose slots stay in use for long.
func TestPayloadIsForgotten(t *testing.T) {
	r := newRing[*[64]byte](8, 0)
	var refs []weak.Pointer[[64]byte]
	put := func() {
		p := new([64]byte)
		refs = append(refs, weak.Make(p))
		if !r.Push(p) {
			t.Fatal("full")
		}
	}
	put()
	hole := draw(r)
	put()
	put()
	if got := len(pass(r)); got != 3 {
		t.Fatalf("took %d values, want 3", got)
	}
	runtime.GC()
	for i, ref := range refs {
		if ref.Value() != nil {
			t.Errorf("value %d is still alive after it was taken", i)
		}
	}
	r.Put(hole, nil) // also keeps r alive until here
	pass(r)
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

package ring

import "testing"

// A ticket that was drawn and not yet published hides only itself.
func TestHoleHidesOnlyItself(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		r := newRing[int](8, first)
		mustPush(t, r, 0)
		hole := draw(r)
		mustPush(t, r, 2, 3)
		mustTake(t, r, 0, 2, 3)
		mustPush(t, r, 4)
		mustTake(t, r, 4)
		r.Put(hole, 1)
		mustPush(t, r, 5)
		mustTake(t, r, 1, 5) // what was taken out of turn does not come again
		mustTake(t, r)
	})
}

// The slots behind a hole, though taken, and the hole's own, are not used again
// before the hole is filled and taken.
func TestHoleHoldsSlots(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		r := newRing[int](4, first)
		hole := draw(r)
		mustPush(t, r, 1, 2, 3)
		mustTake(t, r, 1, 2, 3)
		if room := r.Room(r.Tail()); room != 0 || r.Push(4) {
			t.Fatalf("room for %d behind an open hole", room)
		}
		r.Put(hole, 0)
		if r.Push(4) {
			t.Fatal("a value went in before the hole's was taken")
		}
		mustTake(t, r, 0)
		if room := r.Room(r.Tail()); room != 4 {
			t.Fatalf("room for %d, want 4: head passes what was taken before", room)
		}
		mustPush(t, r, 4, 5, 6, 7)
		mustTake(t, r, 4, 5, 6, 7)
	})
}

// Ready is for a call that looks from outside: published and not taken, be it behind a
// hole.
func TestReady(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		r := newRing[int](4, first)
		want := func(ready bool, when string) {
			t.Helper()
			if got := r.Ready(); got != ready {
				t.Fatalf("Ready = %t: %s", got, when)
			}
		}
		want(false, "empty")
		hole := draw(r)
		want(false, "drawn, not published")
		mustPush(t, r, 1)
		want(true, "published behind a hole")
		at := r.Head()
		r.Pop(&at, r.Tail())
		r.Free()
		want(false, "only the hole is left, its neighbour was taken out of turn")
		mustPush(t, r, 2)
		want(true, "published behind a hole and a taken slot")
		mustTake(t, r, 2)
		r.Put(hole, 0)
		want(true, "the hole was filled")
		mustTake(t, r, 0)
		want(false, "all taken")
		mustPush(t, r, 3, 4, 5, 6)
		want(true, "full")
		mustTake(t, r, 3, 4, 5, 6)
		want(false, "all taken")
	})
}

// What was taken can be seen until Free: a shard says that it is ready in between,
// and a consumer that looks for work, at the ring first, then has to find either.
func TestReadyUntilFree(t *testing.T) {
	for _, behind := range []string{"nothing", "a hole"} {
		t.Run("behind="+behind, func(t *testing.T) {
			eachStart(t, func(t *testing.T, first uint32) {
				r := newRing[int](4, first)
				if behind == "a hole" {
					draw(r)
				}
				mustPush(t, r, 1)
				at := r.Head()
				if v, ok := r.Pop(&at, r.Tail()); v != 1 || !ok {
					t.Fatalf("Pop = %d, %t", v, ok)
				}
				if !r.Ready() {
					t.Error("not Ready between Pop and Free")
				}
				r.Free()
				if r.Ready() {
					t.Error("Ready after Free")
				}
			})
		})
	}
}

// Prefix ends at the first hole, whatever was published or taken behind it.
func TestPrefix(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		r := newRing[int](8, first)
		want := func(n int, when string) {
			t.Helper()
			if got := Distance(r.Prefix(&r.taker, r.Tail()), ticket(first, 0)); got != n {
				t.Errorf("%s: prefix of %d, want %d", when, got, n)
			}
		}
		want(0, "empty")
		mustPush(t, r, 0, 1)
		want(2, "no hole")
		hole := draw(r)
		mustPush(t, r, 3)
		want(2, "a hole")
		mustTake(t, r, 0, 1, 3)
		want(2, "the others were taken")
		r.Put(hole, 2)
		want(4, "the hole was filled")
	})
}

// Skip passes the head, and what was taken behind it.
func TestSkip(t *testing.T) {
	for _, first := range []uint32{0, ticketMask - 1} {
		var s Slots[int]
		var k Taker
		s.Init(8, first)
		k.Init(first)
		ticket := func(n uint32) uint32 { return (first + n) & ticketMask }
		for _, n := range []uint32{1, 2, 4} {
			s.Put(ticket(n), int(n))
		}
		at := k.Head()
		for range 3 {
			if p := s.Next(&k, &at, ticket(5)); p == nil {
				t.Fatal("nothing behind the hole")
			}
		}
		s.Skip(&k) // 0; 1 and 2 were taken
		if got := k.Head(); got != ticket(3) {
			t.Fatalf("head is %d after the start, want 3", Distance(got, first))
		}
		s.Skip(&k) // 3; 4 was taken
		s.Skip(&k) // 5; nothing was
		if got := k.Head(); got != ticket(6) {
			t.Fatalf("head is %d after the start, want 6", Distance(got, first))
		}
		// The slots are as good as new.
		for n := uint32(6); n < 20; n++ {
			s.Put(ticket(n), int(n))
			at := k.Head()
			if p := s.Next(&k, &at, ticket(n+1)); p == nil || *p != int(n) || k.Head() != ticket(n+1) {
				t.Fatalf("ticket %d", n)
			}
		}
	}
}

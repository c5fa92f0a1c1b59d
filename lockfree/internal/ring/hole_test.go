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

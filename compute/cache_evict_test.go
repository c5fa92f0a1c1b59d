package compute

import (
	"context"
	"testing"
	"time"
)

// lineOf returns whether a key is there, and in its tenant's main line.
func lineOf(c *intCache, k intKey) (there, settled bool) {
	n := c.find(c.hash(&k), &k)
	return n != nil, n != nil && n.flags.Load()&inMain != 0
}

// What came back soon after it was evicted, or was asked for in the window, gets into the
// main line; what came for the first time does not, nor what was evicted long ago or forgotten.
func TestWindow(t *testing.T) {
	c := newInts(Config[int, int, int]{Size: 80, TTL: time.Hour})
	defer c.stop()
	next := 0
	fill := func(n int) {
		for range n {
			next++
			put(c, intKey{1, next}, 1, 1, time.Hour)
		}
	}
	fill(200)
	last := next - 80/windowPart // evicted just now: its place among the ghosts is still its own
	if there, _ := lineOf(c, intKey{1, last}); there {
		t.Fatal("nothing was evicted")
	}
	asks, forgotten, long := intKey{1, 10_001}, intKey{1, 10_002}, intKey{1, 150}
	put(c, forgotten, 1, 1, time.Hour)
	c.remove(c.hash(&forgotten), &forgotten)
	for _, k := range []intKey{{1, last}, asks, forgotten} {
		put(c, k, 1, 1, time.Hour)
	}
	have(c, asks)
	fill(80 / windowPart)
	for k, want := range map[intKey]bool{{1, last}: true, asks: true, forgotten: false} {
		if there, settled := lineOf(c, k); there != want || settled != want {
			t.Errorf("%v is there: %t, in the main line: %t; want %t", k, there, settled, want)
		}
	}
	fill(2000)
	put(c, long, 1, 1, time.Hour)
	fill(80 / windowPart)
	if there, _ := lineOf(c, long); there {
		t.Error("what was evicted long ago counts as coming back")
	}
	c.intact(t)
}

// What came back competes with two entries of the main line, and goes if they were asked for.
func TestComingBackDoesNotWashOut(t *testing.T) {
	c := newInts(Config[int, int, int]{Size: 80, TTL: time.Hour})
	defer c.stop()
	for i := range 1000 {
		put(c, intKey{1, i}, 1, 1, time.Hour)
	}
	var settled []intKey
	for i := range 1000 {
		if _, yes := lineOf(c, intKey{1, i}); yes {
			settled = append(settled, intKey{1, i})
		}
	}
	for i := range 2000 { // a loop over twice as many as the ghosts remember at least
		put(c, intKey{1, 2000 + i%40}, 1, 1, time.Hour)
		if i%10 == 0 {
			for _, k := range settled {
				if _, ok := have(c, k); !ok {
					t.Fatalf("%v was asked for all the time, and is gone after %d", k, i)
				}
			}
		}
	}
}

// Room for a heavy result is made before its key's shard is locked.
func TestRoomIsMadeBefore(t *testing.T) {
	const size = 10_000
	s, err := New(func(context.Context, Call[int, int]) (int, error) { return 1, nil }, Config[int, int, int]{
		Size: size, TTL: time.Hour, Weigh: func(_, v int) int64 { return int64(v) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range size {
		s.Warm(1, i, 1)
	}
	n := s.entry(&Key[int, int]{1, -1}, size/2, nil, 0, s.clock.Now())
	if w := s.own.weight.Load(); w+n.Weight() > size {
		t.Errorf("weight %d before one of %d comes; the bound is %d", w, n.Weight(), size)
	}
}

package shardsel

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/firq-go/firq/internal/core/pad"
)

// spread checks that keys land on all shards about evenly, for several seeds.
// With 16 shards chi-square has 15 degrees of freedom: above 60 comes once in
// some million tries, and the placing of a pattern on few shards gives
// thousands.
func spread[K comparable](t *testing.T, name string, key func(i int) K) {
	t.Run(name, func(t *testing.T) {
		const shards, keys = 16, 16_000
		for range 3 {
			p := NewPlacer[K](shards)
			var n [shards]int
			for i := range keys {
				s := p.Shard(key(i))
				if s < 0 || s >= shards {
					t.Fatalf("key %v is on shard %d of %d", key(i), s, shards)
				}
				n[s]++
			}
			const want = keys / shards
			chi := 0.0
			for _, got := range n {
				d := float64(got - want)
				chi += d * d / want
			}
			if chi > 60 {
				t.Errorf("chi-square %.0f: %v", chi, n)
			}
		}
	})
}

type pair struct {
	region string
	id     int
}

func TestPlacerSpreads(t *testing.T) {
	spread(t, "sequential", func(i int) int { return i })
	spread(t, "multiples of 16", func(i int) int { return 16 * i })
	spread(t, "multiples of 2^32", func(i int) uint64 { return uint64(i) << 32 })
	spread(t, "strings", func(i int) string { return fmt.Sprintf("tenant-%d", i) })
	spread(t, "structs", func(i int) pair { return pair{"eu", i} })
	spread(t, "any", func(i int) any { return i })
}

// A tenant stays where it is, equal keys are together, and copies of a Placer
// agree.
func TestPlacerIsStable(t *testing.T) {
	p := NewPlacer[string](8)
	q := p
	for i := range 1_000 {
		k := fmt.Sprint("tenant", i)
		if a, b := p.Shard(k), q.Shard(string([]byte(k))); a != b || a != p.Shard(k) {
			t.Fatalf("%s is on shard %d and %d", k, a, b)
		}
	}
}

// No caller can choose keys that share a shard: each Placer has its own seed.
func TestPlacersDiffer(t *testing.T) {
	p, q := NewPlacer[int](16), NewPlacer[int](16)
	for k := range 1_000 {
		if p.Shard(k) != q.Shard(k) {
			return
		}
	}
	t.Error("two Placers put 1,000 keys on the same shards")
}

func TestPlacerOneShard(t *testing.T) {
	p := NewPlacer[int](1)
	for k := range 100 {
		if s := p.Shard(k); s != 0 {
			t.Fatalf("shard %d of one", s)
		}
	}
}

// Cursors start spread over the shards and within them, also when there are more
// processors than shards or a number that is no power of two.
func TestCursors(t *testing.T) {
	for _, processors := range []int{1, 2, 3, 8, 100} {
		for _, shards := range []int{1, 2, 8, 64} {
			c := NewCursors(processors, shards)
			if n := len(c.cells); n < processors || n&(n-1) != 0 || c.mask != n-1 {
				t.Fatalf("%d cells, mask %d for %d processors", n, c.mask, processors)
			}
			seen := map[uint32]int{}
			for i := range c.cells {
				s := c.cells[i].shard.Load()
				if s >= uint32(shards) {
					t.Fatalf("%d processors start at shard %d of %d", processors, s, shards)
				}
				seen[s]++
			}
			if want := min(len(c.cells), shards); len(seen) != want {
				t.Errorf("%d processors start at %d of %d shards, want %d", processors, len(seen), shards, want)
			}
			here := c.Here()
			here.Store(5)
			found := false
			for i := range c.cells {
				found = found || here == &c.cells[i].shard
			}
			if !found {
				t.Error("Here is none of the cells")
			}
		}
	}
}

// What different processors or lock holders write is on different cache lines.
func TestLayout(t *testing.T) {
	if n := unsafe.Sizeof(cursor{}); n != pad.Line {
		t.Errorf("a cursor has %d bytes, want %d", n, pad.Line)
	}
	if n := unsafe.Sizeof(roundCell{}); n != pad.Line {
		t.Errorf("a shard's round has %d bytes, want %d", n, pad.Line)
	}
	for _, n := range []int{1, 2, 8, 64} { // the allocator has to play along
		if at := uintptr(unsafe.Pointer(&NewRounds(n, 1).cells[0])) % pad.Line; at != 0 {
			t.Errorf("%d rounds start %d bytes behind a line", n, at)
		}
		if at := uintptr(unsafe.Pointer(&NewCursors(n, 1).cells[0])) % pad.Line; at != 0 {
			t.Errorf("%d cursors start %d bytes behind a line", n, at)
		}
	}
}

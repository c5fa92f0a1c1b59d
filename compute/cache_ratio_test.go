package compute

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/proof/race"
)

// Hit ratios on generated traces: at least 0.99 times what otter v2 has on zipf keys, also with a
// scan, and more where popularity shifts; at least 0.9 times on loops and bursts. The hash
// of keys has a random seed, which changes a ratio by some thousandths.
func TestHitRatio(t *testing.T) {
	race.OneGoroutine(t)
	if testing.Short() {
		t.Skip("half a million requests each")
	}
	for _, tc := range []struct {
		trace string
		size  int
		least float64
	}{
		{"zipf", 2000, 0.615}, {"scan", 2000, 0.61}, {"shift", 2000, 0.58}, {"drift", 2000, 0.55},
		{"zipf", 10_000, 0.725}, {"scan", 10_000, 0.715}, {"shift", 10_000, 0.64}, {"drift", 10_000, 0.68},
		{"loop", 2000, 0.135}, {"loop", 10_000, 0.69}, {"bursts", 2000, 0.7},
	} {
		t.Run(fmt.Sprint(tc.trace, tc.size), func(t *testing.T) {
			c := newInts(Config[int, int, int]{Size: tc.size, TTL: time.Hour})
			defer c.stop()
			if got := replay(c, tc.trace); got < tc.least {
				t.Errorf("%.3f hits, want at least %.3f", got, tc.least)
			} else {
				t.Logf("%.3f", got)
			}
			c.intact(t)
		})
	}
}

// replay returns the ratio of hits; with the trace scan, of those that are not the scan's.
func replay(c *intCache, trace string) float64 {
	const requests, alive = 500_000, 1000
	r := rand.New(rand.NewPCG(3, 9))
	z := rand.NewZipf(r, 1.01, 1, 200_000-1)
	burst, next := [alive]int{}, 0 // keys that are asked for now, five times on average
	hits, asked := 0, 0
	for i := range requests {
		k := int(z.Uint64())
		count := true
		switch trace {
		case "scan":
			if r.IntN(5) == 0 {
				k, count = 1_000_000+i, false
			}
		case "shift":
			k = (k + i/100_000*20_011) % 200_000
		case "drift":
			k += i / 50
		case "loop":
			k = i % 12_000
		case "bursts":
			at := r.IntN(alive)
			if k = burst[at]; r.IntN(5) == 0 || k == 0 {
				next++
				burst[at] = next
			}
		}
		_, ok := have(c, intKey{1, k})
		if !ok {
			put(c, intKey{1, k}, k, 1, time.Hour)
		}
		if count {
			asked++
			if ok {
				hits++
			}
		}
	}
	return float64(hits) / float64(asked)
}

// Memory per entry, with keys of 8 bytes in all and values of 8: less than otter v2's 82,
// which was measured on amd64. On arm64 (under qemu) the largest size takes 82.2, and there
// is no figure of otter's to compare that with: there the limit only keeps it from growing.
func TestCacheMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector adds memory")
	}
	for _, size := range []int{50_000, 100_000, 131_072} {
		// What something else allocates or frees during a measurement counts too: the least
		// of three counts that are possible, which is not below a node.
		const node = float64(unsafe.Sizeof(node[uint32, uint32, int64]{}))
		per, counts := math.Inf(1), 0
		for try := 0; counts < 3 && try < 8; try++ {
			if x := perEntry(t, size); x >= node {
				per, counts = min(per, x), counts+1
			}
		}
		if counts == 0 {
			t.Fatalf("%d entries: each measurement was disturbed", size)
		}
		t.Logf("%d entries: %.1f bytes each", size, per)
		limit := 82.0
		if runtime.GOARCH == "arm64" {
			limit = 84
		}
		if per > limit {
			t.Errorf("%d entries: %.1f bytes each", size, per)
		}
	}
}

// perEntry returns how much a full cache takes for each of its entries.
func perEntry(t *testing.T, size int) float64 {
	c, err := Config[uint32, uint32, int64]{Size: size, TTL: time.Hour}.check()
	if err != nil {
		t.Fatal(err)
	}
	clk := clock.New()
	before := settled()
	s := newCache(&c, maphash.MakeSeed(), &clk)
	defer s.stop()
	for i := range 3 * size {
		n := &node[uint32, uint32, int64]{key: Key[uint32, uint32]{1, uint32(i)}}
		n.val, n.made, n.fresh = int64(i), 0, int64(time.Hour)
		s.set(s.hash(&n.key), n)
	}
	after := settled()
	if s.n.Load() != int64(size) {
		t.Fatalf("%d entries, want %d", s.n.Load(), size)
	}
	return (after - before) / float64(size)
}

// settled returns the bytes in use once what other tests have left is gone: stopped timers and
// finalizers keep some of it for a while.
func settled() float64 {
	least := uint64(math.MaxUint64)
	for still := 0; still < 3; still++ {
		var m runtime.MemStats
		runtime.GC()
		time.Sleep(time.Millisecond) // lets the scheduler drop timers that are stopped
		runtime.ReadMemStats(&m)
		if m.HeapAlloc+10_000 < least {
			still = 0
		}
		least = min(least, m.HeapAlloc)
	}
	return float64(least)
}

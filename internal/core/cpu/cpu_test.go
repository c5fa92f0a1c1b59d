package cpu

import (
	"runtime"
	"sync"
	"testing"
)

// Hint is never negative, so that masking it gives an index; and under the
// runtime's own index it is below GOMAXPROCS, so that callers on different
// processors have different ones.
func TestHint(t *testing.T) {
	for _, processors := range []int{1, 2, 4} {
		before := runtime.GOMAXPROCS(processors)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 500 {
					if h := Hint(); h < 0 || Exact && h >= processors {
						t.Errorf("Hint = %d with %d processors", h, processors)
						return
					}
					runtime.Gosched()
				}
			})
		}
		wg.Wait()
		runtime.GOMAXPROCS(before)
	}
}

// Callers spread over the cache lines: by processor, or at random.
func TestHintSpreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const most = 2_000_000 // each: until both have been seen
	var seen [2]bool
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range most {
				h := Hint() & 1
				mu.Lock()
				seen[h] = true
				both := seen[0] && seen[1]
				mu.Unlock()
				if both {
					return
				}
				if i%64 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	if !seen[0] || !seen[1] {
		t.Errorf("only one of two lines is ever used: %v", seen)
	}
}

func TestHintAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Hint() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHint(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Hint()
		}
	})
}

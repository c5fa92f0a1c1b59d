package credit

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq/internal/core/cpu"
)

// fillAll keeps the last credits on the move: each goroutine goes from stripe to
// stripe, so that a credit given on one is looked for from another.
func fillAll(t *testing.T, p *Pool, goroutines, rounds int, hold func(g, i int)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				if t.Failed() {
					return
				}
				hold(g, i)
			}
		})
	}
	wg.Wait()
	p.wantFree(t, p.capacity())
}

// However many want credits, at most the capacity is out. out is counted up
// after Take and down before Give, so it is never above the truth.
func TestStrict(t *testing.T) {
	for _, capacity := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("capacity=%d", capacity), func(t *testing.T) {
			p := newWrapping(capacity, 8)
			var out atomic.Int64
			fillAll(t, p, 8, 2_000, func(g, i int) {
				got := 0
				switch {
				case i%3 == 0:
					got = p.TakeAt(cpu.Hint(), 1+i%4)
				case p.takeAt((g + i) & p.mask):
					got = 1
				}
				if now := out.Add(int64(got)); now > int64(capacity) {
					t.Errorf("%d credits out of %d", now, capacity)
				}
				out.Add(-int64(got))
				for range got {
					p.giveAt((g + 3*i) & p.mask)
				}
			})
		})
	}
}

// As many goroutines as credits, each holding at most one: whichever asks, there is
// one for it, in some stripe or on its way there.
func TestNoCallIsRefused(t *testing.T) {
	for _, processors := range []int{2, 8} {
		for capacity := 1; capacity <= 4; capacity++ {
			t.Run(fmt.Sprintf("capacity=%d/processors=%d", capacity, processors), func(t *testing.T) {
				p := newWrapping(capacity, processors)
				fillAll(t, p, capacity, 5_000, func(g, i int) {
					if !p.takeAt((g + i) & p.mask) {
						t.Errorf("goroutine %d, round %d: refused, with at most %d of %d credits out", g, i, capacity-1, capacity)
						return
					}
					if i%16 == g {
						runtime.Gosched()
					}
					p.giveAt((g + 5*i) & p.mask)
				})
			})
		}
	}
}

// Free and Out stay within the capacity, whatever goes on.
func TestReadersConcurrent(t *testing.T) {
	p := newWrapping(3, 4)
	var over atomic.Bool
	var reader sync.WaitGroup
	reader.Go(func() {
		for !over.Load() {
			if free, _ := p.Free(); free < 0 || free > p.capacity() {
				t.Errorf("Free = %d of %d", free, p.capacity())
				return
			}
			if out := p.Out(); out < 0 || out > p.capacity() {
				t.Errorf("Out = %d of %d", out, p.capacity())
				return
			}
			runtime.Gosched()
		}
	})
	fillAll(t, p, 4, 3_000, func(_, i int) { p.Give(p.TakeAt(cpu.Hint(), 1+i%2)) })
	over.Store(true)
	reader.Wait()
}

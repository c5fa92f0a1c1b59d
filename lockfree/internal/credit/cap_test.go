package credit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq/internal/core/cpu"
)

// What is out beyond a new capacity has to come back before anything is given out.
func TestSetCap(t *testing.T) {
	for _, processors := range []int{1, 2, 8} {
		p := newWrapping(6, processors)
		if p.TakeAt(cpu.Hint(), 1)+p.TakeAt(cpu.Hint(), 1)+p.TakeAt(cpu.Hint(), 1)+p.TakeAt(cpu.Hint(), 1) != 4 {
			t.Fatal("4 of 6 cannot be taken")
		}
		if risen := p.SetCap(2); risen != -4 || p.Cap() != 2 || p.Out() != 4 {
			t.Errorf("risen %d, capacity %d, %d out", risen, p.Cap(), p.Out())
		}
		for range 2 {
			if p.Take() || !p.None() {
				t.Errorf("there is a credit, with %d of 2 out", p.Out())
			}
			p.Give(1)
		}
		if p.Take() || !p.None() {
			t.Error("there is a credit, with 2 of 2 out")
		}
		p.Give(1)
		p.wantFree(t, 1)
		if !p.Take() || p.Take() {
			t.Error("one of 2 was free, and that alone")
		}
		if risen := p.SetCap(5); risen != 3 {
			t.Errorf("risen %d", risen)
		}
		p.wantFree(t, 3)
		p.Give(2)
		if p.wantFree(t, 5); !p.Home() {
			t.Error("nothing is out, and not all is home")
		}
	}
}

// A capacity goes up and down under load. When all is over there are as many credits as
// the last one says.
func TestSetCapConcurrent(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	p := newWrapping(3, 4)
	caps := []int{3, 1, 8, 2, 20, 1, 1, 5}
	for round := range 300 {
		together(5, func(g int) {
			for i := range 30 {
				switch {
				case g > 0:
					if got := p.TakeAt(g+i, 1+i%3); got > 0 {
						p.GiveAt(g+2*i, got)
					}
				case i%10 == 0:
					p.SetCap(caps[(round+i/10)%len(caps)])
				}
			}
		})
		want, taken := caps[(round+2)%len(caps)], 0
		for p.takeAt(taken & p.mask) {
			taken++
		}
		if taken != want || p.Cap() != want {
			t.Fatalf("round %d: %d of %d can be taken", round, taken, want)
		}
		p.Give(taken)
	}
}

// Takers want all that they can get, while the capacity is set far below what is out;
// and later, while all but one of what is out comes back. In the end as many are out as
// the capacity says: more would mean that a call got one above it, fewer that
// a call was refused that should have got one.
func TestSetCapIsStrict(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const low, high = 3, 40
	p := newWrapping(high, 4)
	for round := range 500 {
		var taken atomic.Int64 // by our own count
		take := func(i int) bool {
			ok := p.takeAt(i & p.mask)
			if ok {
				taken.Add(1)
			}
			return ok
		}
		p.SetCap(high)
		together(4, func(g int) {
			for i := range high {
				if g == 0 && i == high/2 {
					p.SetCap(low)
				}
				take(g + i)
			}
		})
		out := int(taken.Load())
		if out < low || out > high || p.Out() != out || take(round) {
			t.Fatalf("round %d: %d (%d) are out, of %d and then %d", round, out, p.Out(), high, low)
		}
		var back atomic.Bool
		together(4, func(g int) {
			if g == 0 {
				for i := range out - 1 {
					p.giveAt(i & p.mask)
				}
				back.Store(true)
				return
			}
			for last := false; ; last = back.Load() {
				for take(g) {
				}
				if last {
					return
				}
				runtime.Gosched()
			}
		})
		if n := int(taken.Load()) - (out - 1); n != low || p.Out() != low {
			t.Fatalf("round %d: %d (%d) of %d are out in the end", round, n, p.Out(), low)
		}
		p.Give(low)
	}
}

// together runs f n times concurrently.
func together(n int, f func(g int)) {
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() { f(g) })
	}
	wg.Wait()
}

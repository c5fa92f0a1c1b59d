package credit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mustSee asks look for a second while move changes the pool and leaves at least
// one credit in it at any instant: a sure answer below that would be a refusal
// with a credit there. So would a true answer of None.
func mustSee(t *testing.T, p *Pool, move func(i int)) {
	start := time.Now()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // so that the kernel may stop the mover anywhere
	var over atomic.Bool
	var mover sync.WaitGroup
	mover.Go(func() {
		defer over.Store(true)
		for i := 0; i&1023 != 0 || !over.Load() && time.Since(start) < time.Second; i++ {
			move(i)
		}
	})
	for !over.Load() {
		if free, _, sure := p.look(); sure && free < 1 {
			t.Errorf("look is sure of %d credits; there is always at least 1", free)
			break
		}
		if p.None() {
			t.Error("None; there is always at least 1")
			break
		}
	}
	over.Store(true)
	mover.Wait()
}

// The mover takes both credits from one stripe, keeps one and puts the other into
// its own, then gives the first one there too. look must not leave out the one in
// the mover's hands.
func TestLookSeesCreditsInTransit(t *testing.T) {
	p := newWrapping(2, 2)
	p.put(0)
	mustSee(t, p, func(i int) {
		own := (i + 1) & 1
		if got, ok := p.refill(&p.stripes[own], 1); got != 1 || !ok {
			t.Errorf("refill = %d, %t", got, ok)
		}
		p.giveAt(own)
	})
}

// Credits go from stripe to stripe one at a time. look must not add up what the
// stripes held at different instants.
func TestLookIsOneInstant(t *testing.T) {
	p := newWrapping(2, 2)
	p.put(0)
	mustSee(t, p, func(i int) {
		from := i / 2 & 1
		p.stripes[from].take(1)
		p.giveAt(1 - from)
	})
}

// The same for a call that takes: one credit may be out, another one hops from stripe to
// stripe, and is found.
func TestTakeFindsWhatHops(t *testing.T) {
	p := newWrapping(2, 4)
	p.put(0)
	start := time.Now()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var over atomic.Bool
	var hopper sync.WaitGroup
	hopper.Go(func() {
		for i := 0; !over.Load(); i++ {
			if from := i / 2 & 1; p.stripes[from].take(1) == 1 {
				p.giveAt(1 - from)
			}
		}
	})
	for i := 0; i&1023 != 0 || time.Since(start) < time.Second; i++ {
		if !p.takeAt(2) {
			t.Error("refused, with at most one of two credits out")
			break
		}
		for n := 1 + p.stripes[2].take(2); n > 0; n-- { // what came along too
			p.giveAt(i & 1)
		}
	}
	over.Store(true)
	hopper.Wait()
	p.wantFree(t, 2)
}

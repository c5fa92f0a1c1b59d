package credit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// One mover goes back and forth: it takes both credits from one stripe, keeps one
// and puts the other into its own, then gives the first one there too. At any
// instant at least one credit is in the pool: look must not be sure of a sum that
// leaves out the one in the mover's hands, or Take says no with a credit there.
func TestLookSeesCreditsInTransit(t *testing.T) {
	const rounds = 1_000_000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // so that the kernel may stop the mover anywhere
	p := newWrapping(2, 2)
	p.put(0)
	var over atomic.Bool
	var mover sync.WaitGroup
	mover.Go(func() {
		defer over.Store(true)
		for i := 0; i < rounds && !over.Load(); i++ {
			own := (i + 1) & 1
			if got, ok := p.refill(&p.stripes[own], 1); got != 1 || !ok {
				t.Errorf("refill = %d, %t", got, ok)
				return
			}
			p.giveAt(own)
		}
	})
	for !over.Load() {
		if free, sure := p.look(); sure && free < 1 {
			t.Errorf("look is sure of %d credits; there is always at least 1", free)
			break
		}
	}
	over.Store(true)
	mover.Wait()
}

package credit

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A mover takes two credits from one stripe, keeps one and puts the other into
// its own; look must not be sure of a sum that leaves out the one in its hands.
func TestLookSeesCreditsInTransit(t *testing.T) {
	const rounds = 200_000
	p := newStriped(2, 2)
	p.stripes[0].word.Store(2)
	p.stripes[1].word.Store(0)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer done.Store(true)
		for i := range rounds {
			own := &p.stripes[(i+1)&1]
			if got, ok := p.refill(own, 1); got != 1 || !ok {
				t.Errorf("refill = %d, %t", got, ok)
				return
			}
			own.word.Add(version + 1)
		}
	})
	for !done.Load() {
		if free, sure := p.look(); sure && free < 1 {
			t.Errorf("look is sure of %d credits; at any instant at least 1 is in the pool", free)
			break
		}
	}
	wg.Wait()
}

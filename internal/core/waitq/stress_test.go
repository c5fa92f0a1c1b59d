package waitq

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// places is a limit as the cores have them: a number that is taken from and given
// back, and the room of those that found it at 0.
type places struct {
	Queue[int]
	free atomic.Int64
}

func (p *places) try() bool {
	for {
		n := p.free.Load()
		if n == 0 {
			return false
		}
		if p.free.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// take waits for a place as serve does.
func (p *places) take(ctx context.Context, tenant int, cause Cause) bool {
	var w Waiter[int]
	for !p.try() {
		p.Enter(&w, tenant, cause)
		if p.try() {
			p.Leave(&w)
			return true
		}
		if p.Wait(ctx, &w, nil, nil) != Woken {
			return false
		}
	}
	return true
}

func (p *places) give(tenant int) {
	p.free.Add(1)
	p.Released(tenant, 1)
}

// Many more producers than places, some of which give up: as long as places come
// back, each producer gets one, and the places are all there in the end.
func TestNoProducerStarves(t *testing.T) {
	const producers, rounds = 16, 150
	for _, cause := range []Cause{Global, Tenant, Threshold} {
		for _, capacity := range []int64{1, 3} {
			t.Run(fmt.Sprintf("cause=%d/capacity=%d", cause, capacity), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				var p places
				p.free.Store(capacity)
				var wg sync.WaitGroup
				for i := range producers {
					wg.Go(func() {
						for r := range rounds {
							if i%4 == 0 && p.glance(ctx, r, cause) {
								p.give(0)
							}
							if !p.take(ctx, 0, cause) {
								t.Errorf("producer %d starves in round %d with %d free", i, r, p.free.Load())
								return
							}
							runtime.Gosched()
							p.give(0)
						}
					})
				}
				wg.Wait()
				if got := p.free.Load(); got != capacity || p.Waiting() || len(p.tenants) != 0 {
					t.Errorf("%d places in the end, want %d; Waiting = %t, %d lists", got, capacity, p.Waiting(), len(p.tenants))
				}
			})
		}
	}
}

// glance is take by a caller that gives up very soon, at any moment.
func (p *places) glance(ctx context.Context, round int, cause Cause) bool {
	ctx, cancel := context.WithCancel(ctx)
	if round%2 == 0 {
		cancel()
	} else {
		go cancel()
	}
	defer cancel()
	return p.take(ctx, 0, cause)
}

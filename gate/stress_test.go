package gate

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// TestStress: permits, limits that move, contexts that end and closers at the same time.
// Holders of a permit count themselves: never more than the limit that was in
// force when the last of them was let in.
func TestStress(t *testing.T) {
	for name, cfg := range map[string]Config[int]{
		"plain":     {},
		"shards":    {Shards: 4},
		"in flight": {MaxInFlightPerTenant: 2},
		"small":     {MaxGlobal: 4, MaxPerTenant: 2},
	} {
		t.Run(name, func(t *testing.T) {
			const most, calls, workers = 4, 400, 8
			g := New[int](most, cfg)
			var out, perTenant [5]atomic.Int32 // out[0] is of all
			var wg sync.WaitGroup
			use := func(tenant int, p Permit[int]) {
				if n := out[0].Add(1); n > most {
					t.Errorf("%d permits at a limit of at most %d", n, most)
				}
				if n := perTenant[tenant].Add(1); cfg.MaxInFlightPerTenant > 0 && int(n) > cfg.MaxInFlightPerTenant {
					t.Errorf("%d permits of one tenant", n)
				}
				if rand.IntN(4) == 0 {
					p.Charge(int64(rand.IntN(7)) - 3)
				}
				perTenant[tenant].Add(-1)
				out[0].Add(-1)
				p.Release()
			}
			for range workers {
				wg.Go(func() {
					for range calls {
						tenant := rand.IntN(len(perTenant))
						if rand.IntN(4) == 0 {
							if p, ok := g.TryAcquire(tenant, Request{}); ok {
								use(tenant, p)
							}
							continue
						}
						ctx, cancel := context.WithTimeout(background, time.Duration(rand.IntN(2000))*time.Microsecond)
						p, err := g.Acquire(ctx, tenant, Request{Cost: int64(rand.IntN(9))})
						cancel()
						if err == nil {
							use(tenant, p)
						} else if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, firq.ErrRejected) {
							t.Error(err)
						}
					}
				})
			}
			var stop atomic.Bool
			moved := make(chan struct{})
			go func() {
				defer close(moved)
				for !stop.Load() {
					g.SetLimit(rand.IntN(most + 1))
					g.Stats()
				}
				g.SetLimit(most)
			}()
			wg.Wait()
			stop.Store(true)
			<-moved
			if g.InUse() != 0 || g.Waiting() != 0 {
				t.Errorf("in use %d, waiting %d", g.InUse(), g.Waiting())
			}
			s := g.Stats().Queue
			if s.Enqueued != s.Dequeued+s.Expired+s.Cancelled+s.DroppedPolicy+s.Closed || s.QueueLen != 0 || s.InFlight != 0 {
				t.Errorf("the books do not balance: %+v", s)
			}
		})
	}
}

// TestStrictLimit: a limit that falls holds for all calls that come after.
func TestStrictLimit(t *testing.T) {
	g := New[int](8, Config[int]{})
	var wg sync.WaitGroup
	var over atomic.Bool
	for i := range 4 {
		wg.Go(func() {
			for !over.Load() {
				if p, err := g.Acquire(background, i, Request{}); err == nil {
					p.Release()
				}
			}
		})
	}
	for range 300 {
		g.SetLimit(1)
		for g.InUse() > 1 { // those that were let in before
		}
		for range 20 {
			if n := g.InUse(); n > 1 {
				t.Fatalf("in use %d after SetLimit(1)", n)
			}
		}
		g.SetLimit(4)
	}
	over.Store(true)
	wg.Wait()
}

// TestNoWaiterIsForgotten: many short stories of a waiter, a releaser and one that
// gives up, at full speed; at the end of each no waiter is left next to a free slot.
func TestNoWaiterIsForgotten(t *testing.T) {
	for _, cfg := range []Config[string]{{}, {MaxInFlightPerTenant: 1}} {
		g := New[string](1, cfg)
		for range 1000 {
			p := must(t, g, "a")
			ctx, cancel := context.WithCancel(background)
			var wg sync.WaitGroup
			wg.Go(p.Release)
			wg.Go(cancel)
			wg.Go(func() {
				if p, err := g.Acquire(ctx, "b", Request{}); err == nil {
					p.Release()
				}
			})
			for range 2 {
				wg.Go(func() {
					p, err := g.Acquire(background, "a", Request{})
					if err != nil {
						t.Error(err)
					}
					p.Release()
				})
			}
			wg.Wait() // or the test hangs
		}
		intact(t, g)
	}
}

// TestShutdownStress: a call that is let in by a gate that shuts down is waited for.
func TestShutdownStress(t *testing.T) {
	for range 200 {
		g := New[int](2, Config[int]{})
		var out atomic.Int32
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for {
					p, err := g.Acquire(background, i, Request{})
					if err != nil {
						if err != firq.ErrClosed {
							t.Error(err)
						}
						return
					}
					out.Add(1)
					out.Add(-1)
					p.Release()
				}
			})
		}
		if err := g.Shutdown(background); err != nil || g.InUse() != 0 || g.Waiting() != 0 || out.Load() != 0 {
			t.Fatalf("%v; in use %d, waiting %d, at work %d", err, g.InUse(), g.Waiting(), out.Load())
		}
		wg.Wait()
	}
}

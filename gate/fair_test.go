package gate

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// shares lets tenants with the given number of goroutines each take one permit after the
// other for a while, and returns how many each got. In a bubble.
func shares(t *testing.T, g *Gate[string], cost int64, demand map[string]int) map[string]int64 {
	t.Helper()
	var over atomic.Bool
	var wg sync.WaitGroup
	got := map[string]*int64{}
	var mu sync.Mutex
	for tenant, n := range demand {
		count := new(int64)
		got[tenant] = count
		for range n {
			wg.Go(func() {
				for !over.Load() {
					p, err := g.Acquire(background, tenant, Request{Cost: cost})
					if err != nil {
						t.Errorf("%s: %v", tenant, err)
						return
					}
					time.Sleep(time.Millisecond)
					mu.Lock()
					*count++
					mu.Unlock()
					p.Release()
				}
			})
		}
	}
	time.Sleep(time.Second)
	over.Store(true)
	wg.Wait()
	result := map[string]int64{}
	for tenant, n := range got {
		result[tenant] = *n
	}
	return result
}

// near fails unless a is between want and want + slack.
func near(t *testing.T, what string, a, want, slack int64) {
	t.Helper()
	if a < want-slack || a > want+slack {
		t.Errorf("%s: %d, want %d give or take %d", what, a, want, slack)
	}
}

// A tenant that asks more often gets no more.
func TestEqualShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](2, Config[string]{})
		got := shares(t, g, 1, map[string]int{"noisy": 40, "quiet": 4})
		near(t, "noisy", got["noisy"], 1000, 45) // 40 finish after the end
		near(t, "quiet", got["quiet"], 1000, 10)
		intact(t, g)
	})
}

func TestWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](4, Config[string]{QuantumFor: func(tenant string) int64 {
			if tenant == "gold" {
				return 30
			}
			return 10
		}})
		got := shares(t, g, 10, map[string]int{"gold": 20, "basic": 20})
		near(t, "gold", got["gold"], 3000, 25)
		near(t, "basic", got["basic"], 1000, 25)

		g.SetQuantum("gold", 10)
		got = shares(t, g, 10, map[string]int{"gold": 20, "basic": 20})
		near(t, "gold, as the others", got["gold"], 2000, 25)
		g.ResetQuantum("gold")
		got = shares(t, g, 10, map[string]int{"gold": 20, "basic": 20})
		near(t, "gold again", got["gold"], 3000, 25)
		intact(t, g)
	})
}

// A tenant at its limit of permits leaves free slots to others, and gets one when
// it gives one back.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](3, Config[string]{MaxInFlightPerTenant: 1})
		a := must(t, g, "a")
		if _, ok := g.TryAcquire("a", Request{}); ok || g.Waiting() != 0 {
			t.Fatalf("a second permit of one; %d wait", g.Waiting())
		}
		second := wait(background, g, "a", Request{})
		if second.done.Load() {
			t.Fatal("a second permit of one")
		}
		b := must(t, g, "b") // though a call waits
		if g.Stats().Queue.InFlight != 2 {
			t.Errorf("in flight: %d", g.Stats().Queue.InFlight)
		}
		b.Release()
		if second.done.Load() {
			t.Fatal("another tenant's Release let it in")
		}
		a.Release()
		second.granted(t).Release()
		intact(t, g)
	})
}

func TestInFlightShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](4, Config[string]{MaxInFlightPerTenant: 2})
		got := shares(t, g, 1, map[string]int{"a": 20, "b": 10, "c": 4})
		// Four permits come back in the same instant, in any order, and a tenant at its
		// limit then misses a turn: so the shares walk at random (25 was exceeded once
		// in a thousand times), besides 18 goroutines of a that finish after the end.
		near(t, "a", got["a"], 1333, 90)
		near(t, "b", got["b"], 1333, 70)
		near(t, "c", got["c"], 1333, 70)
		intact(t, g)
	})
}

func TestSetLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](2, Config[string]{})
		out := []Permit[string]{must(t, g, "a"), must(t, g, "a")}
		var waiters []*call
		for range 3 {
			waiters = append(waiters, wait(background, g, "b", Request{}))
		}
		g.SetLimit(4)
		out = append(out, waiters[0].granted(t), waiters[1].granted(t))
		if waiters[2].done.Load() || g.InUse() != 4 {
			t.Fatalf("in use %d of 4", g.InUse())
		}
		g.SetLimit(1)
		for i, p := range out {
			if waiters[2].done.Load() {
				t.Fatalf("let in with %d out at a limit of 1", g.InUse())
			}
			if want := 4 - i; g.InUse() != want {
				t.Fatalf("in use %d, want %d", g.InUse(), want)
			}
			p.Release()
			synctest.Wait()
		}
		g.SetLimit(0)
		waiters[2].granted(t).Release()
		w := wait(background, g, "a", Request{})
		if w.done.Load() || g.Limit() != 0 {
			t.Fatal("let in at a limit of 0")
		}
		g.SetLimit(3)
		w.granted(t).Release()
		intact(t, g)
	})
}

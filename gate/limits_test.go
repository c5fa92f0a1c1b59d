package gate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/firq-go/firq"
)

// The limits of the queue change while calls wait: strictly for every call that comes later.
func TestSetQueueLimits(t *testing.T) {
	for name, cfg := range map[string]Config[string]{"plain": {MaxPerTenant: 2}, "in flight": {MaxPerTenant: 2, MaxInFlightPerTenant: 9}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(1, cfg)
				out := must(t, g, "x")
				ctx, cancel := context.WithCancel(background)
				var calls sync.WaitGroup
				queue := func(tenant string, n int, then error) {
					t.Helper()
					for range n {
						calls.Go(func() { _, _ = g.Acquire(ctx, tenant, Request{}) })
					}
					synctest.Wait()
					if _, err := g.Acquire(ctx, tenant, Request{}); err != then {
						t.Errorf("%s, after %d more: %v, want %v", tenant, n, err, then)
					}
				}
				queue("a", 2, firq.ErrTenantFull)
				g.SetMaxPerTenant(4)
				queue("a", 2, firq.ErrTenantFull)
				queue("b", 4, firq.ErrTenantFull)
				g.SetMaxPerTenant(1)
				queue("a", 0, firq.ErrTenantFull)
				queue("c", 1, firq.ErrTenantFull)
				g.SetTenantLimit("c", 3)
				queue("c", 2, firq.ErrTenantFull)
				g.SetTenantLimit("c", 0)
				queue("d", 1, firq.ErrTenantFull)
				g.SetMaxGlobal(12)
				queue("e", 0, firq.ErrGlobalFull)
				g.SetMaxGlobal(14)
				g.SetMaxPerTenant(0)
				queue("e", 2, firq.ErrGlobalFull)
				if g.Waiting() != 14 {
					t.Errorf("%d wait", g.Waiting())
				}
				cancel()
				calls.Wait()
				out.Release()
				intact(t, g)
			})
		})
	}
}

// The limits hold aside, too.
func TestSetLimitsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, Config[string]{MaxPerTenant: 1, MaxGlobal: 3})
		ctx, cancel := context.WithCancel(background)
		heavy := Request{Weight: 2}
		wait(ctx, g, "a", heavy)
		if _, err := g.Acquire(ctx, "a", heavy); err != firq.ErrTenantFull {
			t.Error(err)
		}
		g.SetMaxPerTenant(2)
		wait(ctx, g, "a", heavy)
		if _, err := g.Acquire(ctx, "a", heavy); err != firq.ErrTenantFull {
			t.Error(err)
		}
		g.SetMaxPerTenant(0)
		g.SetMaxGlobal(2)
		if _, err := g.Acquire(ctx, "b", heavy); err != firq.ErrGlobalFull {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
		intact(t, g)
	})
}

// How many permits a tenant holds changes while its calls wait: a higher limit lets them in
// immediately, though no permit comes back; with a lower one enough have to come back first.
func TestSetMaxInFlightPerTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(5, Config[string]{MaxInFlightPerTenant: 1})
		calls := []*call{
			wait(background, g, "a", Request{}), wait(background, g, "a", Request{}),
			wait(background, g, "a", Request{}), wait(background, g, "a", Request{}),
		}
		have := func(n int) {
			t.Helper()
			synctest.Wait()
			for i, c := range calls {
				if c.done.Load() != (i < n) {
					t.Errorf("with %d permits: call %d, done %t", n, i, c.done.Load())
				}
			}
		}
		have(1)
		g.SetMaxInFlightPerTenant(3)
		have(3)
		if g.InUse() != 3 {
			t.Errorf("in use %d", g.InUse())
		}
		g.SetMaxInFlightPerTenant(2)
		calls[0].granted(t).Release()
		have(3)
		calls[1].granted(t).Release()
		have(4)
		if _, ok := g.TryAcquire("a", Request{}); ok {
			t.Error("three permits at a limit of two")
		}
		b := []Permit[string]{must(t, g, "b"), must(t, g, "b")} // not known before
		if _, ok := g.TryAcquire("b", Request{}); ok {
			t.Error("three permits at a limit of two")
		}
		for _, p := range append(b, calls[2].granted(t), calls[3].granted(t)) {
			p.Release()
		}
		intact(t, g)
	})
}

func TestSetLimitsPanic(t *testing.T) {
	g, plain := New(1, Config[string]{MaxInFlightPerTenant: 1}), New(1, Config[string]{})
	for name, call := range map[string]func(){
		"global 0":                func() { g.SetMaxGlobal(0) },
		"global, too large":       func() { g.SetMaxGlobal(MaxSlots + 1) },
		"per tenant, negative":    func() { g.SetMaxPerTenant(-1) },
		"per tenant, too large":   func() { g.SetMaxPerTenant(MaxSlots + 1) },
		"tenant, negative":        func() { g.SetTenantLimit("a", -1) },
		"in flight, negative":     func() { g.SetMaxInFlightPerTenant(-1) },
		"in flight, not counted":  func() { plain.SetMaxInFlightPerTenant(1) },
		"in flight 0, no counter": func() { plain.SetMaxInFlightPerTenant(0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
	intact(t, g)
	intact(t, plain)
}

func TestPolicy(t *testing.T) {
	if p := New(1, Config[string]{Policy: firq.DropNewest}).Policy("a"); p != firq.DropNewest {
		t.Error(p)
	}
	g := New(1, Config[string]{PolicyFor: func(tenant string) firq.Policy {
		return map[string]firq.Policy{"a": firq.DropOldest}[tenant]
	}})
	if g.Policy("a") != firq.DropOldest || g.Policy("b") != firq.Reject {
		t.Error(g.Policy("a"), g.Policy("b"))
	}
}

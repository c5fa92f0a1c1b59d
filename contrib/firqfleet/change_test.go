package firqfleet

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/gate"
)

// What Config says of a tenant may change while the tenant has calls.
func TestConfigChanges(t *testing.T) {
	n, addr := name(), addr(t, "redis-server")
	var most, asked atomic.Int64
	most.Store(1)
	g := join(t, addr, 10, Config{Name: n, MaxInFlightFor: func(string) int { asked.Add(1); return int(most.Load()) }})
	secondPasses := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tenants["x"].asked -= askEvery
	}
	p := get(t, g, "x", gate.Request{})
	second, third := later(t, g, "x", gate.Request{}), later(t, g, "x", gate.Request{})
	none(t, "a second one", second)
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	most.Store(3)
	secondPasses()
	fourth := make(chan gate.Permit[string], 1)
	go func() { fourth <- get(t, g, "x", gate.Request{}) }() // by which Config is asked
	got := []gate.Permit[string]{p, <-second, <-third}
	until(t, "the fourth waits", func() bool { return g.Waiting() == 1 })
	most.Store(1)
	secondPasses()
	if _, ok := g.TryAcquire("x", gate.Request{}); ok {
		t.Error("a fourth one")
	}
	until(t, "the server knows", func() bool {
		x, _ := client(t, addr).HGet(bounded(t), "ff:{"+n+"}:t:x", "x").Int()
		return x == 1
	})
	got[0].Release()
	got[1].Release()
	none(t, "a second one again", fourth)
	got[2].Release()
	(<-fourth).Release()
}

// The latest New sets the fleet's limit; a lower one takes effect as permits come back.
func TestLatestLimit(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		a := join(t, addr, 3, Config{Name: n, Lease: 3 * time.Minute}) // so it does not hear of it without being told
		var out []gate.Permit[string]
		for range 3 {
			out = append(out, get(t, a, "x", gate.Request{}))
		}
		b := join(t, addr, 1, Config{Name: n})
		until(t, "it hears of the limit", func() bool { return a.Limit() == 1 })
		waits := later(t, b, "y", gate.Request{})
		out[0].Release()
		out[1].Release()
		none(t, "above the lower limit", waits)
		out[2].Release()
		p := <-waits
		join(t, addr, 2, Config{Name: n})
		until(t, "both hear of the limit", func() bool { return a.Limit() == 2 && b.Limit() == 2 })
		get(t, a, "x", gate.Request{}).Release()
		p.Release()
	})
}

package firqfleet

import (
	"sync/atomic"
	"testing"

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

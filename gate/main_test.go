package gate

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// No goroutine outlives the tests: a gate starts none, and each call that waited was
// served or gave up.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// must acquires immediately.
func must(t testing.TB, g *Gate[string], tenant string) Permit[string] {
	t.Helper()
	p, ok := g.TryAcquire(tenant, Request{})
	if !ok {
		t.Fatalf("no permit for %s; in use %d of %d, waiting %d", tenant, g.InUse(), g.Limit(), g.Waiting())
	}
	return p
}

// call is an Acquire in its own goroutine.
type call struct {
	p    Permit[string]
	err  error
	done atomic.Bool // the others may be read
}

// wait starts an Acquire that has to wait, and returns when it does. In a bubble.
func wait(ctx context.Context, g *Gate[string], tenant string, req Request) *call {
	c := new(call)
	go func() {
		c.p, c.err = g.Acquire(ctx, tenant, req)
		c.done.Store(true)
	}()
	synctest.Wait()
	return c
}

// granted fails unless the call has its permit.
func (c *call) granted(t *testing.T) Permit[string] {
	t.Helper()
	synctest.Wait()
	if !c.done.Load() || c.err != nil {
		t.Fatalf("no permit: done %t, error %v", c.done.Load(), c.err)
	}
	return c.p
}

// intact fails unless nothing is out and all slots can be had; the gate is closed
// afterwards.
func intact(t rapid.TB, g *Gate[string]) {
	t.Helper()
	if g.InUse() != 0 || g.Waiting() != 0 || g.s.Len() != 0 {
		t.Fatalf("in use %d, waiting %d, queued %d; want none", g.InUse(), g.Waiting(), g.s.Len())
	}
	var all []Permit[string]
	for i := range g.Limit() {
		p, ok := g.TryAcquire(fmt.Sprint("x", len(all)), Request{})
		if !ok {
			t.Fatalf("a slot is lost: %d of %d can be had", i, g.Limit())
		}
		all = append(all, p)
	}
	if _, ok := g.TryAcquire(fmt.Sprint("x", len(all)), Request{}); ok {
		t.Fatalf("%d permits at a limit of %d", g.Limit()+1, g.Limit())
	}
	for _, p := range all {
		p.Release()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := g.Shutdown(ctx); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
}

package waitq

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// crowd is a Queue with producers that wait in it; each says its name when it is
// woken. It lives in a synctest bubble.
type crowd struct {
	Queue[string]
	t     *testing.T
	wg    sync.WaitGroup
	mu    sync.Mutex
	woken []string
}

// inCrowd runs f with an empty queue, and then ends and checks it.
func inCrowd(t *testing.T, f func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{t: t}
		end := func() {
			c.WakeAll()
			c.wg.Wait()
		}
		defer end() // also if f gave up
		f(c)
		end()
		if c.Waiting() || c.waiting.Load() != 0 || len(c.tenants) != 0 || c.global.head != nil || c.threshold.head != nil {
			t.Errorf("in the end %d are waiting, in %d tenants' lists", c.waiting.Load(), len(c.tenants))
		}
	})
}

// wait lets a producer go to sleep.
func (c *crowd) wait(name, tenant string, cause Cause) *Waiter[string] {
	w := new(Waiter[string])
	c.waitAs(w, name, tenant, cause)
	return w
}

func (c *crowd) waitAs(w *Waiter[string], name, tenant string, cause Cause) {
	c.Enter(w, tenant, cause)
	c.wg.Go(func() {
		if c.Wait(context.Background(), w, nil, nil) == Woken {
			c.mu.Lock()
			c.woken = append(c.woken, name)
			c.mu.Unlock()
		}
	})
	synctest.Wait()
}

// wantWoken compares which waiters were woken since the last call.
func (c *crowd) wantWoken(names ...string) {
	c.t.Helper()
	synctest.Wait()
	slices.Sort(c.woken) // those of one call run in any order
	slices.Sort(names)
	if !slices.Equal(c.woken, names) {
		c.t.Fatalf("woken: %v, want %v", c.woken, names)
	}
	c.woken = nil
}

// First come, first woken.
func TestOrder(t *testing.T) {
	for _, cause := range []Cause{Global, Tenant} {
		inCrowd(t, func(c *crowd) {
			for _, name := range []string{"1", "2", "3"} {
				c.wait(name, "a", cause)
			}
			for _, name := range []string{"1", "2", "3"} {
				c.Released("a", 1)
				c.wantWoken(name)
			}
			c.Released("a", 1)
			c.wantWoken()
		})
	}
}

// n places wake n of the scheduler's list and n of the tenant's, none of
// another tenant's, and the whole threshold list.
func TestReleasedWakesPerLine(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		for _, name := range []string{"1", "2", "3"} {
			c.wait("g"+name, "x", Global)
			c.wait("a"+name, "a", Tenant)
			c.wait("b"+name, "b", Tenant)
			c.wait("t"+name, "y", Threshold)
		}
		c.Released("a", 2)
		c.wantWoken("g1", "g2", "a1", "a2", "t1", "t2", "t3")
		c.Released("nobody", 1)
		c.wantWoken("g3")
		c.Released("b", 9)
		c.wantWoken("b1", "b2", "b3")
	})
}

func TestWakeAll(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		c.WakeAll() // no waiter
		for _, name := range []string{"1", "2"} {
			c.wait("g"+name, "x", Global)
			c.wait("a"+name, "a", Tenant)
			c.wait("b"+name, "b", Tenant)
			c.wait("t"+name, "y", Threshold)
		}
		c.WakeAll()
		c.wantWoken("g1", "g2", "a1", "a2", "b1", "b2", "t1", "t2")
	})
}

// Waiting counts the waiters in a list, and a tenant without waiters has none.
func TestLinesAreForgotten(t *testing.T) {
	inCrowd(t, func(c *crowd) {
		if c.Waiting() {
			t.Error("Waiting in an empty queue")
		}
		c.wait("a1", "a", Tenant)
		c.wait("a2", "a", Tenant)
		b := c.wait("b1", "b", Tenant)
		if len(c.tenants) != 2 || !c.Waiting() || c.waiting.Load() != 3 {
			t.Errorf("%d lists, %d waiting", len(c.tenants), c.waiting.Load())
		}
		c.Released("a", 1)
		if c.tenants["a"] == nil {
			t.Error("the list of a tenant was deleted with a waiter in it")
		}
		c.Released("a", 1)
		c.wantWoken("a1", "a2")
		if c.tenants["a"] != nil {
			t.Error("an empty list is kept")
		}
		c.Leave(b)
		if len(c.tenants) != 0 || c.Waiting() {
			t.Errorf("%d lists, %d waiting after all have left", len(c.tenants), c.waiting.Load())
		}
		b.wake <- struct{}{} // lets its goroutine end
	})
}

// From the middle, the front and the end of a list: the others keep their order.
func TestLeaveKeepsTheOrder(t *testing.T) {
	names := []string{"1", "2", "3"}
	for gone := range names {
		inCrowd(t, func(c *crowd) {
			var left []string
			for i, name := range names {
				if i == gone {
					continue
				}
				left = append(left, name)
			}
			var w Waiter[string]
			for i, name := range names {
				if i == gone {
					c.Enter(&w, "a", Tenant)
				} else {
					c.wait(name, "a", Tenant)
				}
			}
			c.Leave(&w)
			for _, name := range left {
				c.Released("a", 1)
				c.wantWoken(name)
			}
		})
	}
}

package compute

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// customCache wraps Config.Cache, which cannot be walked over. So ForgetTenant and ForgetAll
// do not delete: each takes a number from seq, and an entry that was set at a lower number is
// no longer found.
type customCache[T, K comparable, V any] struct {
	cache Cache[T, K, V] // immutable
	now   func() int64   // immutable

	seq   atomic.Uint64 // counts what was forgotten
	floor atomic.Uint64 // what was set before it is forgotten
	any   atomic.Bool   // there are forgotten tenants

	mu      sync.RWMutex
	longest int64        // until when the entry that can be an answer for longest can; under mu
	tenants map[T]forgot // tenants that were forgotten, for as long as an older entry can be an answer
	most    int          // that many at most; immutable
}

// forgot is when a tenant was forgotten.
type forgot struct {
	seq   uint64
	until int64 // later no entry from before can be an answer
}

func (c *customCache[T, K, V]) get(k *Key[T, K]) *Entry[V] {
	e := c.cache.Get(*k)
	if e == nil {
		return nil
	}
	x := e.extra.Load()
	if x == nil {
		return nil
	}
	if c.any.Load() {
		c.mu.RLock()
		t, found := c.tenants[k.Tenant]
		c.mu.RUnlock()
		if found && x.seq < t.seq {
			return nil
		}
	}
	failpoint.At("forgotten")
	if x.seq < c.floor.Load() { // last: the call that clears tenants has raised it, or does so before RUnlock
		return nil
	}
	return e
}

func (c *customCache[T, K, V]) set(k *Key[T, K], e *Entry[V]) {
	x := e.extra.Load()
	x.seq = c.seq.Load()
	c.mu.RLock()
	longer := x.end > c.longest
	c.mu.RUnlock()
	if longer {
		c.mu.Lock()
		c.longest = max(c.longest, x.end)
		c.mu.Unlock()
	}
	c.cache.Set(*k, e)
}

// forgetTenant hides all entries of the tenant that were set before.
func (c *customCache[T, K, V]) forgetTenant(tenant T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.seq.Add(1)
	now := c.now()
	if len(c.tenants) >= c.most {
		for t, f := range c.tenants {
			if f.until <= now {
				delete(c.tenants, t)
			}
		}
	}
	if len(c.tenants) >= c.most { // too many to remember one by one: forget all entries
		clear(c.tenants)
		c.floor.Store(n)
	}
	c.tenants[tenant] = forgot{n, c.longest}
	c.any.Store(true)
}

func (c *customCache[T, K, V]) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.floor.Store(c.seq.Add(1))
	clear(c.tenants)
	c.any.Store(false)
}

// mostForgotten limits the tenants that a customCache remembers as forgotten.
const mostForgotten = math.MaxUint16

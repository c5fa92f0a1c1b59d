package compute

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// sweeper frees what has expired: its timer rings somewhat after the first entry has
// expired, and it then walks over the cache. There is no timer while nothing can expire.
type sweeper struct {
	next    atomic.Int64 // the earliest end that the timer, or a walk, will look at; written under mu
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// never stands for any end that is further away.
const never = int64(forever) / 2

// willExpire sees to it that the timer rings after end. For most entries it is one look.
func (c *cache[T, K, V]) willExpire(end int64) {
	if end < c.sweep.next.Load() {
		c.arm(end)
	}
}

// arm sets the timer: the more there is to walk over, and the longer it was kept, the
// more time may pass.
func (c *cache[T, K, V]) arm(end int64) {
	now := c.clock.Now()
	left := max(end-now, 0)
	if left >= never {
		return
	}
	w := &c.sweep
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || end >= w.next.Load() {
		return
	}
	w.next.Store(end)
	in := time.Duration(left+left/16) + time.Millisecond + time.Duration(c.n.Load())*2*time.Microsecond
	if w.timer == nil {
		w.timer = time.AfterFunc(in, c.expire)
	} else {
		w.timer.Reset(in)
	}
}

// expire walks over the cache.
func (c *cache[T, K, V]) expire() {
	w := &c.sweep
	w.mu.Lock()
	w.next.Store(math.MaxInt64) // from now on a call that sets an entry arms the timer
	stopped := w.stopped
	w.mu.Unlock()
	if stopped {
		return
	}
	now, first := c.clock.Now(), int64(math.MaxInt64)
	c.removeIf(func(n *node[T, K, V]) bool {
		end := c.end(&n.Entry)
		if end <= now {
			return true
		}
		first = min(first, end)
		return false
	})
	if first < math.MaxInt64 {
		c.arm(first)
	}
}

// stop ends it for good.
func (c *cache[T, K, V]) stop() {
	c.sweep.mu.Lock()
	defer c.sweep.mu.Unlock()
	c.sweep.stopped = true
	if c.sweep.timer != nil {
		c.sweep.timer.Stop()
	}
}

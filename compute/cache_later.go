package compute

import (
	"sync"
	"sync/atomic"
)

// change is a change of a table that a tenant's lines still have to follow.
type change[T, K comparable, V any] struct {
	h   uint64
	old *node[T, K, V] // it is gone; nil: there was none
	n   *node[T, K, V] // it has come; nil: there is none
}

// later has the changes of callers that found cache.mu taken: its holder applies them, in order,
// when it has let go of it. So callers that write do not queue for the lock, even if its holder is
// not given a processor. Until then the cache has more entries than it may, by at most mostLater, and
// those that callers are adding.
//
// Callers change one key one after the other, and a caller that takes cache.mu applies what waits before
// its own change. So the changes of one key are applied in their order.
type later[T, K comparable, V any] struct {
	n       atomic.Int32 // changes; written under mu
	mu      sync.Mutex   // under it no other lock is taken
	changes []change[T, K, V]
	applied []change[T, K, V] // of which all were applied: room for the next ones. Guarded by cache.mu
}

const mostLater = 64

// change applies x, or leaves that to the holder of mu.
func (c *cache[T, K, V]) change(x change[T, K, V]) {
	if !c.mu.TryLock() {
		if c.later.add(x) {
			c.catchUp() // if the holder has just let go of it, it does not see x
			return
		}
		c.mu.Lock()
	}
	c.applyLater()
	c.apply(x)
	c.unlock()
}

// lock takes mu, and applies what waits.
func (c *cache[T, K, V]) lock() {
	c.mu.Lock()
	c.applyLater()
}

// unlock lets go of mu.
func (c *cache[T, K, V]) unlock() {
	c.mu.Unlock()
	c.catchUp()
}

// catchUp applies what came while mu was held. If it is held again, its holder does.
func (c *cache[T, K, V]) catchUp() {
	for c.later.n.Load() > 0 && c.mu.TryLock() {
		c.applyLater()
		c.mu.Unlock()
	}
}

// applyLater applies the changes that are there. Under mu.
func (c *cache[T, K, V]) applyLater() {
	if c.later.n.Load() == 0 {
		return
	}
	l := &c.later
	l.mu.Lock()
	all := l.changes
	l.changes = l.applied
	l.n.Store(0)
	l.mu.Unlock()
	for _, x := range all {
		c.apply(x)
	}
	clear(all)
	l.applied = all[:0]
}

// add adds x; false: there are too many.
func (l *later[T, K, V]) add(x change[T, K, V]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.changes) >= mostLater {
		return false
	}
	l.changes = append(l.changes, x)
	l.n.Store(int32(len(l.changes)))
	return true
}

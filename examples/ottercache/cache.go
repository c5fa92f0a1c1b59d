package ottercache

import (
	"fmt"
	"math"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
)

// Cache is a compute.Cache that is an otter cache. Make it with New; it must not be
// copied. All methods are safe for concurrent use.
type Cache[T, K comparable, V any] struct {
	otter *otter.Cache[compute.Key[T, K], *compute.Entry[V]] // immutable
}

var _ compute.Cache[string, string, int] = (*Cache[string, string, int])(nil)

// New returns a Cache whose entries weigh size together at most, each what its Weight
// says. A size below 1 is firq.ErrInvalidConfig. It starts a goroutine, which Close ends.
func New[T, K comparable, V any](size int) (*Cache[T, K, V], error) {
	if size < 1 {
		return nil, fmt.Errorf("%w: ottercache: size: %d, must be 1 or more", firq.ErrInvalidConfig, size)
	}
	type (
		key   = compute.Key[T, K]
		entry = *compute.Entry[V]
	)
	c, err := otter.New(&otter.Options[key, entry]{
		MaximumWeight: uint64(size),
		Weigher:       func(_ key, e entry) uint32 { return weight(e.Weight()) },
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[key, entry]) time.Duration {
			return life(e.Value.TTL())
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: ottercache: %w", firq.ErrInvalidConfig, err)
	}
	return &Cache[T, K, V]{otter: c}, nil
}

// weight is a weight as otter has it: one of 0 would never be evicted.
func weight(w int64) uint32 { return uint32(min(max(w, 1), math.MaxUint32)) }

// life is a TTL as otter has it: one of 0 would not end.
func life(ttl time.Duration) time.Duration { return max(ttl, 1) }

// Get returns the entry that was set last, or nil: there is none.
func (c *Cache[T, K, V]) Get(k compute.Key[T, K]) *compute.Entry[V] {
	e, _ := c.otter.GetIfPresent(k)
	return e
}

// Set keeps an entry instead of any other of its key, and evicts others if they are too
// many. An entry that weighs more than the size alone is not kept.
func (c *Cache[T, K, V]) Set(k compute.Key[T, K], e *compute.Entry[V]) { c.otter.Set(k, e) }

// Delete forgets the entry of a key, if there is one.
func (c *Cache[T, K, V]) Delete(k compute.Key[T, K]) { c.otter.Invalidate(k) }

// Len returns how many entries there are, by otter's estimate.
func (c *Cache[T, K, V]) Len() int { return c.otter.EstimatedSize() }

// Otter returns the otter cache, for its statistics, say. What is written to it is not
// the server's.
func (c *Cache[T, K, V]) Otter() *otter.Cache[compute.Key[T, K], *compute.Entry[V]] { return c.otter }

// Close ends the goroutine that frees what has expired, and waits for it. Close the server
// first. The cache still works, and frees what has expired when it is written to. A second
// call does nothing.
func (c *Cache[T, K, V]) Close() { c.otter.StopAllGoroutines() }

// Package shardsel spreads the tenants of a scheduler over shards, each with its own queue and
// lock, and keeps the shards fair to each other.
//
//	placer := shardsel.NewPlacer[string](8)
//	shard := placer.Shard("acme")      // on which the tenant lives
//	rounds := shardsel.NewRounds(8, 1) // fairness between shards
//	rounds.Publish(shard, tag, true)   // under the shard's lock: it has a task in that round
//	ok := rounds.InTime(shard)         // whether a consumer may serve it now
//
// A [Placer] chooses the shard of a tenant, [Cursors] the shard that a consumer looks at first,
// and [Rounds] the shards that may be served without being unfair to the others.
package shardsel

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/pad"
)

// Placer maps tenants to shards by hash, with its own seed: no pattern in
// the keys (multiples of 16, say) and no choice of keys puts them on one shard.
// Immutable, safe for concurrent use.
type Placer[K comparable] struct {
	seed maphash.Seed
	mask uint64
}

// NewPlacer returns a Placer for a power of two of shards.
func NewPlacer[K comparable](shards int) Placer[K] {
	return Placer[K]{maphash.MakeSeed(), uint64(shards - 1)}
}

// Shard returns the shard that the tenant lives on, always the same.
func (p Placer[K]) Shard(tenant K) int {
	if p.mask == 0 {
		return 0
	}
	return int(maphash.Comparable(p.seed, tenant) & p.mask)
}

// Cursors remember, for each processor, the shard that its consumers look at
// next. Consumers on different processors thus stay on different shards as long
// as there is work there. Safe for concurrent use; a lost update only costs
// locality.
type Cursors struct {
	cells []cursor
	mask  int
}

type cursor struct {
	shard atomic.Uint32
	_     [pad.Line - 4]byte
}

// NewCursors returns cursors for the given number of processors, spread over the
// shards.
func NewCursors(processors, shards int) *Cursors {
	n := 1
	for n < processors {
		n *= 2
	}
	c := &Cursors{make([]cursor, n), n - 1}
	for i := range c.cells {
		c.cells[i].shard.Store(uint32(i * shards / n))
	}
	return c
}

// Here returns the cursor of the caller's processor.
func (c *Cursors) Here() *atomic.Uint32 { return c.At(cpu.Hint()) }

// At is Here for a caller that knows its cpu.Hint.
func (c *Cursors) At(hint int) *atomic.Uint32 { return &c.cells[hint&c.mask].shard }

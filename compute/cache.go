package compute

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/pad"
)

// cache is the cache of this package, bounded by weight. Reading takes no lock: it looks
// into a table, and marks what it finds as asked for if it is not yet. Writing changes the table,
// which has a lock, and then the tenants' lines, which have one lock for all: a caller that finds
// it taken leaves the change to its holder (cache_later.go).
//
// Room is made in two choices. First, which tenant has to give: one that is silent; else the
// one that has most, so that each tenant which is not silent keeps at least its equal part
// (cache_tenants.go). Then, which of its entries goes: each tenant has two lines
// (cache_evict.go).
type cache[T, K comparable, V any] struct {
	// Immutable.
	size   int64 // total weight
	most   int64 // that one tenant may have
	grace  int64 // added to Entry.fresh, until when a result can be an answer
	seed   maphash.Seed
	clock  *clock.Clock
	read   []places[T, K, V] // where keys are looked up; a power of two
	tables []table[T, K, V]  // for writers

	_ pad.Pad // readers need nothing of what follows

	mu      sync.Mutex // guards the following; taken by lock
	slots   slots[T, K, V]
	ghosts  ghosts
	tenants tenants[T]

	weight atomic.Int64 // of all entries; written under mu
	n      atomic.Int64 // entries; written under mu
	later  later[T, K, V]
	sweep  sweeper
}

// node is an entry with its key.
type node[T, K comparable, V any] struct {
	Entry[V]
	key Key[T, K]
}

// perTable is how many entries a table has when the cache is full: so few that a call which
// lets it grow, and moves them, is not delayed much.
const perTable = 1024

func newCache[T, K comparable, V any](cfg *Config[T, K, V], seed maphash.Seed, clk *clock.Clock) *cache[T, K, V] {
	n := 1 << bits.Len(uint(min(cfg.Size/perTable, 4095)))
	size := min(int64(cfg.Size), math.MaxInt64/4) // no sum overflows
	c := &cache[T, K, V]{
		size:  size,
		most:  size,
		grace: cfg.grace(),
		seed:  seed,
		clock: clk,
		read:  make([]places[T, K, V], n),
	}
	if cfg.MaxPerTenant < 1 { // else a float may be more than the largest Size
		c.most = max(int64(cfg.MaxPerTenant*float64(size)), 1)
	}
	c.tables = make([]table[T, K, V], n)
	for i := range c.tables {
		c.tables[i].at = &c.read[i]
		if cfg.Weigh == nil {
			c.tables[i].expected = (cfg.Size + n - 1) / n
		}
	}
	c.tenants.init()
	c.sweep.next.Store(math.MaxInt64)
	return c
}

// get returns the node of a key, nil if there is none. It takes no lock.
func (c *cache[T, K, V]) get(h uint64, k *Key[T, K]) *node[T, K, V] {
	n := c.find(h, k)
	if n != nil && n.flags.Load()&(visited|asked) != visited|asked {
		n.flags.Or(visited | asked)
	}
	return n
}

// find is get without marking the entry as asked for.
func (c *cache[T, K, V]) find(h uint64, k *Key[T, K]) *node[T, K, V] {
	return c.read[h&uint64(len(c.read)-1)].find(h, k)
}

func (c *cache[T, K, V]) table(h uint64) *table[T, K, V] { return &c.tables[h&uint64(len(c.tables)-1)] }

// set keeps n instead of any other entry of its key. An entry that is too heavy, for the cache
// or for the room that other tenants leave, is not kept, and removes the other one all the same.
// Callers change one key one after the other.
func (c *cache[T, K, V]) set(h uint64, n *node[T, K, V]) {
	c.change(change[T, K, V]{h, c.table(h).set(h, n, c.hash), n})
	c.willExpire(c.end(&n.Entry))
}

// makeRoom makes room for a heavy result before its key's shard is locked for set, so that
// set evicts little under that lock.
func (c *cache[T, K, V]) makeRoom(tenant T, w int64) {
	for more := w > portion; more; {
		c.lock()
		_, more = c.room(tenant, w)
		c.unlock()
	}
}

// apply does to the lines what was done to a table. Under mu.
func (c *cache[T, K, V]) apply(x change[T, K, V]) {
	n, old := x.n, x.old
	if old != nil && old.slot == 0 { // it was evicted after it had gone
		old = nil
	}
	if n == nil {
		if old != nil {
			c.take(x.h, old)
		}
		return
	}
	w := n.Weight()
	if old != nil {
		n.flags.Or(visited) // a call has asked for it, or it would not have been made anew
		if w <= old.Weight() {
			c.replace(old, n)
			return
		}
		c.take(x.h, old)
	}
	fits, more := c.room(n.key.Tenant, w)
	for more { // a little: makeRoom has made the most of it
		fits, more = c.room(n.key.Tenant, w)
	}
	if !fits {
		c.table(x.h).discard(x.h, n)
		return
	}
	c.insert(x.h, n, w)
}

// insert adds n to a line; there is room. Under mu.
func (c *cache[T, K, V]) insert(h uint64, n *node[T, K, V], w int64) {
	if c.ghosts.take(h) {
		n.flags.Or(back)
	}
	t := c.tenants.of(n.key.Tenant)
	c.weight.Add(w)
	c.n.Add(1)
	at := c.slots.add(n)
	t.window.push(c.slots.link, at)
	t.young += w
	c.tenants.weigh(t, w)
	if t.young > t.part(0) && t.window.tail != at { // it grows
		c.settle(t, c.slots.node(t.window.tail))
	}
}

// replace puts n in the place of old, which is not lighter. Under mu.
func (c *cache[T, K, V]) replace(old, n *node[T, K, V]) {
	n.slot, old.slot = old.slot, 0
	n.flags.Or(old.flags.Load() & inMain)
	c.slots.set(n.slot, n)
	less := old.Weight() - n.Weight()
	t := c.tenants.of(n.key.Tenant)
	if n.flags.Load()&inMain == 0 {
		t.young -= less
	}
	c.weight.Add(-less)
	c.tenants.weigh(t, -less)
}

// take removes a node that is in a line. Under mu.
func (c *cache[T, K, V]) take(h uint64, n *node[T, K, V]) {
	c.takeFrom(c.tenants.byKey[n.key.Tenant], h, n)
}

func (c *cache[T, K, V]) takeFrom(t *tenant[T], h uint64, n *node[T, K, V]) {
	w := n.Weight()
	c.table(h).discard(h, n)
	if n.flags.Load()&inMain != 0 {
		t.main.remove(c.slots.link, n.slot)
	} else {
		t.window.remove(c.slots.link, n.slot)
		t.young -= w
	}
	c.slots.drop(n.slot)
	c.weight.Add(-w)
	c.n.Add(-1)
	c.tenants.weigh(t, -w)
}

// remove forgets a key.
func (c *cache[T, K, V]) remove(h uint64, k *Key[T, K]) {
	if old := c.table(h).cut(h, k); old != nil {
		c.change(change[T, K, V]{h, old, nil})
	}
}

// removeIf walks over all entries, some at a time, and forgets those for which f is true.
func (c *cache[T, K, V]) removeIf(f func(*node[T, K, V]) bool) {
	for from, more := 0, true; more; from++ {
		c.lock()
		if more = from < len(c.slots.pages); more {
			for _, n := range c.slots.pages[from].nodes {
				if n != nil && f(n) {
					c.take(c.hash(&n.key), n)
				}
			}
		} else if c.slots.live == 0 { // give the memory back
			c.slots = slots[T, K, V]{}
			c.ghosts = nil
			for i := range c.tables {
				c.tables[i].reset()
			}
		}
		c.unlock()
	}
}

func (c *cache[T, K, V]) hash(k *Key[T, K]) uint64 { return maphash.Comparable(c.seed, *k) }

// end is until when an entry can be an answer.
func (c *cache[T, K, V]) end(e *Entry[V]) int64 {
	if e.error() != nil {
		return e.fresh
	}
	return e.fresh + c.grace
}

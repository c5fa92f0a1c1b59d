package compute

import (
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/pad"
)

// sieve is the cache of this package: SIEVE (Zhang et al., NSDI 2024), bounded by
// weight, in shards with a lock each for writers. Reading takes no lock: it
// looks into the shard's table, and marks what it finds as visited if it is not yet.
//
// What differs from the paper: the shards share one bound, so that an entry may be as
// heavy as all of it, and a shard whose keys are many may be larger. The caller that inserts makes
// room in its own shard first, then in others. With a bound per tenant, all entries of
// a tenant are in one shard, which keeps a second line for each of its tenants.
//
// And a key that comes back soon after it was evicted begins as visited. That is the idea
// of the ghost queue of S3-FIFO (Yang et al., SOSP 2023), without its other queues: when
// other keys become popular, SIEVE alone evicts the new ones again and again, until its
// hand has passed all of the old ones.
type sieve[T, K comparable, V any] struct {
	// Immutable.
	size      int64 // total weight
	perTenant int64 // that one tenant may have
	byTenant  bool  // perTenant is less than size
	grace     int64 // added to Entry.fresh, until when a result can be an answer
	seed      maphash.Seed
	clock     *clock.Clock
	shards    []shard[T, K, V] // a power of two
	expected  int              // entries of a shard when the cache is full; 0: unknown
	gone      *node[T, K, V]   // stands in a table where a node was

	weight atomic.Int64 // of all entries, places reserved included; written under any shard's lock
	n      atomic.Int64 // entries
	turn   atomic.Uint32
	sweep  sweeper
}

// node is an entry with its key.
type node[T, K comparable, V any] struct {
	Entry[V]
	key Key[T, K]
}

// shard owns the entries whose hash, or whose tenant's, ends in its number.
type shard[T, K comparable, V any] struct {
	mu     sync.Mutex // guards everything but the reading of table
	table  table[T, K, V]
	slots  slots[T, K, V]
	queue  line
	owners map[T]*owner // with a bound per tenant; else nil
	_      pad.Pad
}

// owner is a tenant that has entries.
type owner struct {
	weight int64
	queue  line
}

// perShard is how many entries a shard has at least when the cache is full: with fewer
// the order in which each evicts is no longer that of the whole.
const perShard = 512

func newSieve[T, K comparable, V any](cfg *Config[T, K, V], seed maphash.Seed, c *clock.Clock) *sieve[T, K, V] {
	n := min(max(8*runtime.GOMAXPROCS(0), 16), 256, max(cfg.Size/perShard, 1))
	n = 1 << (bits.Len(uint(n)) - 1)
	s := &sieve[T, K, V]{
		size:      int64(cfg.Size),
		perTenant: max(int64(cfg.MaxPerTenant*float64(cfg.Size)), 1),
		byTenant:  cfg.MaxPerTenant < 1,
		grace:     cfg.grace(),
		seed:      seed,
		clock:     c,
		shards:    make([]shard[T, K, V], n),
		gone:      new(node[T, K, V]),
	}
	s.perTenant = min(s.perTenant, s.size)
	if cfg.Weigh == nil {
		s.expected = (cfg.Size + n - 1) / n
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.table.gone, sh.table.expected, sh.slots.expected = s.gone, s.expected, s.expected
		if s.byTenant {
			sh.owners = map[T]*owner{}
		}
	}
	s.sweep.next.Store(math.MaxInt64)
	return s
}

// shard returns where a key belongs. Its low bits choose, as the table takes the high
// ones.
func (s *sieve[T, K, V]) shard(h uint64, k *Key[T, K]) *shard[T, K, V] {
	if s.byTenant {
		h = maphash.Comparable(s.seed, k.Tenant)
	}
	return &s.shards[h&uint64(len(s.shards)-1)]
}

// get returns the node of a key, nil if there is none. It takes no lock.
func (s *sieve[T, K, V]) get(h uint64, k *Key[T, K]) *node[T, K, V] {
	n := s.shard(h, k).table.get(h, k)
	if n != nil && n.flags.Load()&visited == 0 {
		n.flags.Or(visited)
	}
	return n
}

// set keeps n instead of any other entry of its key; one that is too heavy is not kept,
// and neither is the other.
func (s *sieve[T, K, V]) set(h uint64, n *node[T, K, V]) {
	w := n.Weight()
	if w > s.perTenant {
		s.remove(h, &n.key)
		return
	}
	sh := s.shard(h, &n.key)
	sh.mu.Lock()
	if old := sh.table.get(h, &n.key); old != nil {
		s.replace(sh, h, old, n)
	} else {
		s.insert(sh, h, n, w)
	}
	sh.mu.Unlock()
	for s.weight.Load() > s.size && s.evictElsewhere(sh) { // sh has nothing else
	}
	s.willExpire(s.end(&n.Entry))
}

// insert makes room, and adds n. Under sh.mu.
func (s *sieve[T, K, V]) insert(sh *shard[T, K, V], h uint64, n *node[T, K, V], w int64) {
	if sh.slots.ghosts.take(h) { // before those that it evicts take its place
		n.flags.Store(visited) // nobody else has n yet
	}
	var o *owner
	if s.byTenant {
		if o = sh.owners[n.key.Tenant]; o != nil {
			s.trim(sh, o, w)
		}
		if o = sh.owners[n.key.Tenant]; o == nil { // also if trim has taken its last
			o = new(owner)
			sh.owners[n.key.Tenant] = o
		}
		o.weight += w
	}
	s.weight.Add(w)
	s.n.Add(1)
	at := sh.slots.add(n, s.byTenant)
	if o != nil {
		o.queue.push(sh.slots.owned, at)
	}
	for s.weight.Load() > s.size && sh.queue.head != 0 {
		s.evict(sh, &sh.queue, sh.slots.links, at)
	}
	sh.queue.push(sh.slots.links, at)
	sh.table.add(h, n, s.hash)
}

// replace puts n in old's place. Under sh.mu.
func (s *sieve[T, K, V]) replace(sh *shard[T, K, V], h uint64, old, n *node[T, K, V]) {
	n.slot = old.slot
	n.flags.Or(visited) // whoever made it anew was asked for it; also, trim is to spare it
	sh.slots.nodes[n.slot] = n
	sh.table.swap(h, old, n)
	more := n.Weight() - old.Weight()
	s.weight.Add(more)
	if s.byTenant {
		o := sh.owners[n.key.Tenant]
		o.weight += more
		for o.weight > s.perTenant {
			s.evict(sh, &o.queue, sh.slots.owned, n.slot)
		}
	}
	for s.weight.Load() > s.size && sh.slots.live > 1 {
		s.evict(sh, &sh.queue, sh.slots.links, n.slot)
	}
}

// trim lets a tenant evict of its own until it may have w more. Under sh.mu.
func (s *sieve[T, K, V]) trim(sh *shard[T, K, V], o *owner, w int64) {
	for o.queue.head != 0 && o.weight+w > s.perTenant {
		s.evict(sh, &o.queue, sh.slots.owned, 0)
	}
}

// evict takes out whom the line says, but not spare; there is another one. Under sh.mu.
func (s *sieve[T, K, V]) evict(sh *shard[T, K, V], l *line, links []link, spare uint32) {
	at := l.hand
	for left := 2 * sh.slots.live; ; left-- {
		if at == 0 {
			at = l.tail
		}
		f := &sh.slots.nodes[at].flags
		if at != spare && (left <= 0 || f.Load()&visited == 0) {
			break
		}
		f.And(^visited)
		at = links[at].newer
	}
	l.hand = at // take moves it on
	n := sh.slots.nodes[at]
	h := s.hash(&n.key)
	sh.slots.ghosts.add(h)
	s.take(sh, h, n)
}

// evictElsewhere evicts one from any other shard; false: there is none.
func (s *sieve[T, K, V]) evictElsewhere(but *shard[T, K, V]) bool {
	for range s.shards {
		sh := &s.shards[s.turn.Add(1)&uint32(len(s.shards)-1)]
		if sh == but {
			continue
		}
		sh.mu.Lock()
		found := sh.queue.head != 0
		if found {
			s.evict(sh, &sh.queue, sh.slots.links, 0)
		}
		sh.mu.Unlock()
		if found {
			return true
		}
	}
	return false
}

// take removes a node that is there. Under sh.mu.
func (s *sieve[T, K, V]) take(sh *shard[T, K, V], h uint64, n *node[T, K, V]) {
	sh.table.swap(h, n, s.gone)
	sh.queue.remove(sh.slots.links, n.slot)
	if s.byTenant {
		o := sh.owners[n.key.Tenant]
		o.queue.remove(sh.slots.owned, n.slot)
		o.weight -= n.Weight()
		if o.queue.head == 0 {
			delete(sh.owners, n.key.Tenant)
		}
	}
	sh.slots.drop(n.slot)
	s.weight.Add(-n.Weight())
	s.n.Add(-1)
}

// remove forgets a key.
func (s *sieve[T, K, V]) remove(h uint64, k *Key[T, K]) {
	sh := s.shard(h, k)
	sh.mu.Lock()
	if n := sh.table.get(h, k); n != nil {
		s.take(sh, h, n)
	}
	sh.mu.Unlock()
}

// removeIf walks over all entries, one shard after the other, and forgets those that f
// says.
func (s *sieve[T, K, V]) removeIf(f func(*node[T, K, V]) bool) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for _, n := range sh.slots.nodes {
			if n != nil && f(n) {
				s.take(sh, s.hash(&n.key), n)
			}
		}
		if sh.slots.live == 0 { // give the memory back
			sh.slots.reset()
			sh.table.at.Store(nil)
			sh.table.live, sh.table.used = 0, 0
			sh.queue = line{}
		}
		sh.mu.Unlock()
	}
}

func (s *sieve[T, K, V]) hash(k *Key[T, K]) uint64 { return maphash.Comparable(s.seed, *k) }

// end is until when an entry can be an answer.
func (s *sieve[T, K, V]) end(e *Entry[V]) int64 {
	if e.error() != nil {
		return e.fresh
	}
	return e.fresh + s.grace
}

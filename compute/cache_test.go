package compute

import (
	"hash/maphash"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/proof/race"
)

type (
	intCache = cache[int, int, int]
	intKey   = Key[int, int]
	intNode  = node[int, int, int]
)

func newInts(cfg Config[int, int, int]) *intCache {
	cfg, err := cfg.check()
	if err != nil {
		panic(err)
	}
	c := clock.New()
	return newCache(&cfg, maphash.MakeSeed(), &c)
}

func weightOne(int, int) int64 { return 1 }

func put(c *intCache, k intKey, v int, weight int64, ttl time.Duration) {
	n := &intNode{key: k}
	n.val, n.made = v, c.clock.Now()
	n.fresh = n.made + int64(ttl)
	if weight != 1 {
		n.extra.Store(&extra{weight: weight})
	}
	c.set(c.hash(&k), n)
}

func have(c *intCache, k intKey) (int, bool) {
	n := c.get(c.hash(&k), &k)
	if n == nil {
		return 0, false
	}
	return n.val, true
}

// weightOf returns what a tenant has.
func weightOf(c *intCache, tenant int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tenants.byKey[tenant]; t != nil {
		return t.weight
	}
	return 0
}

// intact fails unless all that the cache says of itself is true.
func (c *cache[T, K, V]) intact(t rapid.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if late := c.later.n.Load(); late != 0 {
		t.Fatalf("%d changes are not applied", late)
	}
	n, weight := 0, int64(0)
	for key, tn := range c.tenants.byKey {
		young := c.inLine(t, key, &tn.window, 0)
		old := c.inLine(t, key, &tn.main, inMain)
		if young.weight != tn.young || young.weight+old.weight != tn.weight || tn.weight < 1 || tn.weight > c.most {
			t.Fatalf("tenant %v has %d and %d, says %d of %d; may have %d", key, young.weight, old.weight, tn.young, tn.weight, c.most)
		}
		n += young.n + old.n
		weight += tn.weight
	}
	if n != c.slots.live || int(c.n.Load()) != n || c.weight.Load() != weight || weight < 0 || weight > c.size {
		t.Fatalf("%d slots; it says %d entries of weight %d, has %d of %d; the bound is %d", c.slots.live, c.n.Load(), c.weight.Load(), n, weight, c.size)
	}
	c.tenants.intact(t)
	for i := range c.tables {
		live, used, places := c.tables[i].count()
		if live != c.tables[i].live || used != c.tables[i].used || 10*used > 9*places {
			t.Fatalf("a table says %d nodes in %d places, has %d in %d of %d", c.tables[i].live, c.tables[i].used, live, used, places)
		}
		n -= live
	}
	if n != 0 {
		t.Fatalf("%d more entries in lines than in tables", n)
	}
}

type inLine struct {
	n      int
	weight int64
}

// inLine walks over a line, whose entries have such a flag of a line.
func (c *cache[T, K, V]) inLine(t rapid.TB, tenant T, l *line, flag uint32) (sum inLine) {
	t.Helper()
	before := uint32(0)
	for at := l.tail; at != 0; before, at = at, c.slots.link(at).newer {
		it := c.slots.node(at)
		if it == nil || it.slot != at || c.slots.link(at).older != 0 && before == 0 && at != l.tail {
			t.Fatalf("slot %d is not in order", at)
		}
		if newer := c.slots.link(at).newer; newer != 0 && c.slots.link(newer).older != at || newer == 0 && l.head != at {
			t.Fatalf("slot %d is not in order", at)
		}
		if it.key.Tenant != tenant || it.flags.Load()&inMain != flag {
			t.Fatalf("%v is in a wrong line", it.key)
		}
		if found := c.find(c.hash(&it.key), &it.key); found != it {
			t.Fatalf("the table has another node of %v", it.key)
		}
		sum.n++
		sum.weight += it.Weight()
	}
	return sum
}

// intact fails unless heap, ring and map have the same tenants, in order.
func (s *tenants[T]) intact(t rapid.TB) {
	t.Helper()
	if len(s.heap) != len(s.byKey) {
		t.Fatalf("%d tenants in the heap, %d in the map", len(s.heap), len(s.byKey))
	}
	for i, it := range s.heap {
		if it.place != i || s.byKey[it.key] != it || it.weight > s.heap[max(i-1, 0)/2].weight {
			t.Fatalf("tenant %v is not in its place of the heap", it.key)
		}
	}
	it := s.last
	for i := range s.heap {
		if s.byKey[it.key] != it || it.newer.older != it || it.seen > s.round || i < len(s.heap)-1 && it.newer.seen < it.seen {
			t.Fatalf("tenant %v is not in its place of the ring", it.key)
		}
		it = it.newer
	}
	if it != s.last {
		t.Fatal("the ring has more tenants than the heap")
	}
}

func (t *table[T, K, V]) count() (live, used, places int) {
	all := t.at.at.Load()
	if all == nil {
		return 0, 0, 0
	}
	for i := range *all {
		tags := (*all)[i].tags.Load()
		for at := range (*all)[i].at {
			tag, n := tags>>(8*at)&0xff, (*all)[i].at[at].Load()
			if tag != empty {
				used++
			}
			if n != nil {
				live++
			}
			if (n != nil) != (tag > gone) {
				return -1, -1, -1
			}
		}
	}
	return live, used, perOctet * len(*all)
}

// model is what is known of the cache from outside.
type model struct {
	last    map[intKey]int // what was set last and not deleted
	evicted int            // entries, at most
	called  map[int]int    // tenants that called once in each turn of the cache: evicted then
}

// The cache against a model: what is found is what was set last and not deleted; after each
// step the bounds hold, and each tenant that goes on calling has what it had, or its
// equal part.
func TestCacheModel(t *testing.T) { rapid.Check(t, cacheModel) }

func FuzzCache(f *testing.F) { f.Fuzz(rapid.MakeFuzz(cacheModel)) }

func cacheModel(t *rapid.T) {
	size := rapid.IntRange(1, 40).Draw(t, "size")
	cfg := Config[int, int, int]{Size: size, TTL: time.Hour}
	if rapid.Bool().Draw(t, "quota") {
		cfg.MaxPerTenant = 0.3
	}
	weighs, heaviest := rapid.Bool().Draw(t, "weights"), int64(1)
	if weighs {
		cfg.Weigh, heaviest = weightOne, int64(size)+1
	}
	c := newInts(cfg)
	m := model{last: map[intKey]int{}, called: map[int]int{}}
	for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
		k := intKey{rapid.IntRange(0, 5).Draw(t, "tenant"), rapid.IntRange(0, 20).Draw(t, "key")}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		default:
			m.put(t, c, k, i, rapid.Int64Range(1, heaviest).Draw(t, "weight"), heaviest)
		case 6, 7:
			if v, ok := have(c, k); ok {
				m.call(c, k.Tenant)
				if v != m.last[k] {
					t.Fatalf("%v is %d, want %d", k, v, m.last[k])
				}
			}
		case 8:
			c.remove(c.hash(&k), &k)
			delete(m.last, k)
		case 9:
			if tenant := k.Tenant; rapid.IntRange(0, 3).Draw(t, "all") == 0 {
				c.removeIf(func(n *intNode) bool { return n.key.Tenant == tenant })
				for k := range m.last {
					if k.Tenant == tenant {
						delete(m.last, k)
					}
				}
			}
		}
		c.intact(t)
		for tenant := range 6 * (i % 8 / 7) { // now and then, all of them
			for key := range 21 {
				k := intKey{tenant, key}
				n := c.find(c.hash(&k), &k)
				if want, may := m.last[k]; n != nil && (!may || n.val != want) {
					t.Fatalf("%v is %d, want %d, %t", k, n.val, want, may)
				}
			}
		}
	}
}

// put puts, and compares what the tenants have before and after.
func (m *model) put(t *rapid.T, c *intCache, k intKey, v int, w, heaviest int64) {
	before, n := map[int]int64{}, c.n.Load()
	for tenant := range 6 {
		before[tenant] = weightOf(c, tenant)
	}
	put(c, k, v, w, time.Hour)
	m.evicted += int(n + 1 - c.n.Load())
	delete(m.last, k)
	got, ok := have(c, k)
	if !ok && (w == 1 || w <= min(c.size/6, c.most)) || ok && got != v {
		t.Fatalf("%v of weight %d after set: %d, %t", k, w, got, ok)
	}
	if ok {
		m.last[k] = v
		m.call(c, k.Tenant)
	}
	have := int64(1)
	for tenant := range 6 {
		if tenant != k.Tenant && before[tenant] > 0 {
			have++
		}
	}
	for tenant := range 6 {
		since, steady := m.called[tenant]
		if !steady || m.evicted-since >= len(c.slots.pages)*perPage {
			delete(m.called, tenant) // it may be silent
			continue
		}
		// A tenant gives an entry only if it has more than its part, so it may lack all but one of its weight.
		if now := weightOf(c, tenant); tenant != k.Tenant && now < min(before[tenant], c.size/have-heaviest+1) {
			t.Fatalf("tenant %d had %d, has %d; its part is %d of %d", tenant, before[tenant], now, c.size/have, c.size)
		}
	}
}

// call notes that a tenant called; once it may have been silent, it counts from its
// next entry on, when it has no others.
func (m *model) call(c *intCache, tenant int) {
	if _, steady := m.called[tenant]; steady || c.tenants.byKey[tenant].seen == c.tenants.round {
		m.called[tenant] = m.evicted
	}
}

// Within its size it keeps everything: as many entries as Size says.
func TestCacheKeepsSize(t *testing.T) {
	race.OneGoroutine(t)
	for _, size := range []int{1, 7, 100, 2000, 20_000} {
		c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour})
		for i := range size {
			put(c, intKey{1, i}, i, 1, time.Hour)
		}
		for i := range size {
			if v, ok := have(c, intKey{1, i}); !ok || v != i {
				t.Fatalf("size %d: %d is gone", size, i)
			}
		}
		for i := range 3 * size {
			put(c, intKey{2, i}, i, 1, time.Hour)
		}
		if c.n.Load() != int64(size) {
			t.Errorf("size %d: %d entries", size, c.n.Load())
		}
		c.intact(t)
		c.stop()
	}
}

// What is visited is not evicted, and a scan passes: of the same tenant, or another's.
func TestCacheKeepsWhatIsVisited(t *testing.T) {
	for _, tenant := range []int{1, 2} {
		c := newInts(Config[int, int, int]{Size: 100, TTL: time.Hour})
		for i := range 50 {
			put(c, intKey{1, i}, i, 1, time.Hour)
		}
		for i := range 10_000 {
			for k := range 50 {
				if _, ok := have(c, intKey{1, k}); !ok {
					t.Fatalf("%d is gone after %d", k, i)
				}
			}
			put(c, intKey{tenant, 1000 + i}, i, 1, time.Hour)
		}
		c.stop()
	}
}

// An entry as heavy as everything takes the place of all its tenant's entries; one that is
// too heavy is not kept, and neither is what was kept of its key before.
func TestCacheHeavy(t *testing.T) {
	c := newInts(Config[int, int, int]{Size: 10_000, TTL: time.Hour, Weigh: weightOne})
	defer c.stop()
	for i := range 10_000 {
		put(c, intKey{2, i}, i, 1, time.Hour)
	}
	put(c, intKey{2, 0}, 7, 10_000, time.Hour)
	c.intact(t)
	if v, ok := have(c, intKey{2, 0}); !ok || v != 7 || c.n.Load() != 1 {
		t.Errorf("%d, %t; %d entries", v, ok, c.n.Load())
	}
	put(c, intKey{2, 0}, 8, 10_001, time.Hour)
	if _, ok := have(c, intKey{2, 0}); ok || c.n.Load() != 0 || c.weight.Load() != 0 {
		t.Errorf("too heavy, and kept, or the one before; %d entries", c.n.Load())
	}
	// Of two tenants each keeps half: for more than that nothing goes.
	for i := range 10_000 {
		put(c, intKey{1, i}, i, 1, time.Hour)
	}
	put(c, intKey{2, 0}, 9, 5_001, time.Hour)
	if _, ok := have(c, intKey{2, 0}); ok || weightOf(c, 1) != 10_000 {
		t.Errorf("the other tenant has %d", weightOf(c, 1))
	}
	put(c, intKey{2, 0}, 9, 5_000, time.Hour)
	if _, ok := have(c, intKey{2, 0}); !ok || weightOf(c, 1) != 5_000 {
		t.Errorf("no room for half; the other tenant has %d", weightOf(c, 1))
	}
	c.intact(t)
}

// What the parts of others leave no room for evicts nothing, neither its own tenant's entries nor
// theirs; all else is kept.
func TestHeavyForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := int64(rapid.IntRange(20, 400).Draw(t, "size"))
		n := rapid.IntRange(1, 9).Draw(t, "tenants")
		c := newInts(Config[int, int, int]{Size: int(size), TTL: time.Hour, Weigh: weightOne})
		defer c.stop()
		heavy := rapid.Int64Range(1, size)
		light := rapid.Int64Range(1, max(size/20, 1))
		for i := range rapid.IntRange(20, 120).Draw(t, "entries") {
			tenant, w := rapid.IntRange(1, n).Draw(t, "tenant"), light.Draw(t, "weight")
			if rapid.IntRange(0, 5).Draw(t, "heavy") == 0 {
				w = heavy.Draw(t, "weight")
			}
			var others []int64 // what those have that are not silent
			for other, tn := range c.tenants.byKey {
				if other != tenant && !c.tenants.silent(tn) {
					others = append(others, tn.weight)
				}
			}
			entries, left := c.n.Load(), size
			for _, has := range others {
				left -= min(has, size/int64(len(others)+1))
			}
			put(c, intKey{tenant, i}, i, w, time.Hour)
			if _, ok := have(c, intKey{tenant, i}); ok != (w <= left) {
				t.Fatalf("%d of %d where %d are left: kept %t", w, size, left, ok)
			} else if !ok && c.n.Load() != entries {
				t.Fatalf("%d of %d is not kept, and of %d entries are left %d", w, size, entries, c.n.Load())
			}
			c.intact(t)
		}
	})
}

// With Weigh, Size may be any number: also one that a float cannot have.
func TestCacheLargestSize(t *testing.T) {
	for _, quota := range []float64{0, 1, 0.999} {
		c := newInts(Config[int, int, int]{Size: math.MaxInt, MaxPerTenant: quota, TTL: time.Hour, Weigh: weightOne})
		for i := range 10 { // no sum overflows
			put(c, intKey{1, i}, i, c.most, time.Hour)
			put(c, intKey{2, i}, i, c.most/2, time.Hour)
			c.intact(t)
			if _, ok := have(c, intKey{2, i}); !ok || c.most < c.size/2 || c.size < math.MaxInt/4 {
				t.Errorf("MaxPerTenant %v: %d entries; a tenant may have %d", quota, c.n.Load(), c.most)
			}
		}
		c.stop()
	}
}

// Many goroutines write, read and delete; then the cache is intact. Under -race.
func TestCacheStress(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 6000
	}
	for _, cfg := range []Config[int, int, int]{{Size: 3000}, {Size: 3000, MaxPerTenant: 0.4}, {Size: 30_000, Weigh: weightOne}} {
		cfg.TTL = time.Hour
		c := newInts(cfg)
		over := func() {
			if w := c.weight.Load(); w > c.size {
				t.Errorf("weight %d of %d", w, c.size)
			}
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 1))
				for i := range n {
					k := intKey{r.IntN(4), g + 8*r.IntN(400)} // a server sets no key twice at the same time
					switch r.IntN(10) {
					case 0, 1, 2, 3:
						w := int64(1)
						if cfg.Weigh != nil && i%100 == 0 {
							w = 1 + r.Int64N(c.size/4)
							c.makeRoom(k.Tenant, w)
						}
						put(c, k, k.Key, w, time.Hour)
						over()
					case 4:
						c.remove(c.hash(&k), &k)
					default:
						k.Key = r.IntN(3200)
						if v, ok := have(c, k); ok && v != k.Key {
							t.Errorf("%v is %d", k, v)
						}
					}
					if i%5000 == 0 {
						c.removeIf(func(n *intNode) bool { return n.key.Tenant == g%4 })
					}
				}
			})
		}
		wg.Wait()
		c.intact(t)
		c.stop()
	}
}

// What has expired is freed, and the timer ends.
func TestCacheExpiry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newInts(Config[int, int, int]{TTL: time.Second, Stale: time.Second})
		for i := range 1000 {
			put(c, intKey{1, i}, i, 1, time.Second)
			put(c, intKey{2, i}, i, 1, 10*time.Second)
		}
		put(c, intKey{3, 0}, 0, 1, forever)
		time.Sleep(2*time.Second - time.Millisecond) // with Stale
		synctest.Wait()
		if n := c.n.Load(); n != 2001 {
			t.Errorf("%d entries before the end", n)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if n := c.n.Load(); n != 1001 {
			t.Errorf("%d entries after the end of the first", n)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := c.n.Load(); n != 1 {
			t.Errorf("%d entries after the end of the second", n)
		}
		c.intact(t)
		if c.sweep.next.Load() < never {
			t.Error("the timer goes on")
		}
	})
}

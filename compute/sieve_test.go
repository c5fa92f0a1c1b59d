package compute

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/internal/core/clock"
	"pgregory.net/rapid"
)

type (
	intCache = sieve[int, int, int]
	intKey   = Key[int, int]
	intNode  = node[int, int, int]
)

func intSieve(cfg Config[int, int, int]) *intCache {
	cfg, err := cfg.check()
	if err != nil {
		panic(err)
	}
	c := clock.New()
	return newSieve(&cfg, maphash.MakeSeed(), &c)
}

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

// intact fails unless all that the cache says of itself is true.
func (s *sieve[T, K, V]) intact(t rapid.TB) {
	t.Helper()
	n, weight := 0, int64(0)
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		of := map[T]int64{}
		seen := 0
		for at, before := sh.queue.tail, uint32(0); at != 0; before, at = at, sh.slots.links[at].newer {
			it := sh.slots.nodes[at]
			if it == nil || it.slot != at || sh.slots.links[at].older != before {
				t.Fatalf("slot %d is not in order", at)
			}
			if found := sh.table.get(s.hash(&it.key), &it.key); found != it {
				t.Fatalf("the table has another node of %v", it.key)
			}
			of[it.key.Tenant] += it.Weight()
			weight += it.Weight()
			seen++
		}
		if seen != sh.slots.live || seen != sh.table.live {
			t.Fatalf("%d in line, %d slots, %d in the table", seen, sh.slots.live, sh.table.live)
		}
		if len(sh.slots.ghosts) != len(sh.slots.nodes)/2 {
			t.Fatalf("%d ghosts for %d slots", len(sh.slots.ghosts), len(sh.slots.nodes))
		}
		if all := sh.table.at.Load(); all != nil && 5*sh.table.used > 4*len(*all) {
			t.Fatalf("%d of %d places are used", sh.table.used, len(*all))
		}
		n += seen
		if s.byTenant {
			if len(of) != len(sh.owners) {
				t.Fatalf("%d owners, want %d", len(sh.owners), len(of))
			}
			for tenant, w := range of {
				if o := sh.owners[tenant]; o == nil || o.weight != w || w > s.perTenant {
					t.Fatalf("tenant %v has %d, may have %d", tenant, w, s.perTenant)
				}
			}
		}
		sh.mu.Unlock()
	}
	if int(s.n.Load()) != n || s.weight.Load() != weight || weight > s.size {
		t.Fatalf("it says %d entries of weight %d, has %d of %d; the bound is %d", s.n.Load(), s.weight.Load(), n, weight, s.size)
	}
}

// The cache against a model: what is found is what was set last and not deleted, and the
// bounds hold after each step.
func TestSieveModel(t *testing.T) { rapid.Check(t, sieveModel) }

func FuzzSieve(f *testing.F) { f.Fuzz(rapid.MakeFuzz(sieveModel)) }

func sieveModel(t *rapid.T) {
	size := rapid.IntRange(1, 40).Draw(t, "size")
	cfg := Config[int, int, int]{Size: size, TTL: time.Hour}
	if rapid.Bool().Draw(t, "quota") {
		cfg.MaxPerTenant = 0.3
	}
	weighs := rapid.Bool().Draw(t, "weights")
	if weighs {
		cfg.Weigh = func(int, int) int64 { return 1 }
	}
	c := intSieve(cfg)
	model := map[intKey]int{}
	for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
		k := intKey{rapid.IntRange(0, 3).Draw(t, "tenant"), rapid.IntRange(0, 20).Draw(t, "key")}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		default:
			w := int64(1)
			if weighs {
				w = rapid.Int64Range(1, int64(size)+1).Draw(t, "weight")
			}
			put(c, k, i, w, time.Hour)
			delete(model, k)
			if w <= c.perTenant {
				model[k] = i
				if v, ok := have(c, k); !ok || v != i {
					t.Fatalf("%v is not there after set: %d, %t", k, v, ok)
				}
			}
		case 6, 7:
			if v, ok := have(c, k); ok && v != model[k] {
				t.Fatalf("%v is %d, want %d", k, v, model[k])
			}
		case 8:
			c.remove(c.hash(&k), &k)
			delete(model, k)
		case 9:
			if tenant := k.Tenant; rapid.IntRange(0, 3).Draw(t, "all") == 0 {
				c.removeIf(func(n *intNode) bool { return n.key.Tenant == tenant })
				for k := range model {
					if k.Tenant == tenant {
						delete(model, k)
					}
				}
			}
		}
		c.intact(t)
		for tenant := range 4 * (i % 8 / 7) { // now and then, all of them
			for key := range 21 {
				k := intKey{tenant, key}
				v, ok := have(c, k)
				if want, may := model[k]; ok && (!may || v != want) {
					t.Fatalf("%v is %d, want %d, %t", k, v, want, may)
				}
			}
		}
	}
}

// Within its size it keeps everything: as many entries as Size says.
func TestSieveKeepsSize(t *testing.T) {
	for _, size := range []int{1, 7, 100, 2000, 20_000} {
		c := intSieve(Config[int, int, int]{Size: size, TTL: time.Hour})
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

// What is visited is not evicted, and a scan passes.
func TestSieveKeepsWhatIsVisited(t *testing.T) {
	c := intSieve(Config[int, int, int]{Size: 100, TTL: time.Hour})
	for i := range 50 {
		put(c, intKey{1, i}, i, 1, time.Hour)
	}
	for i := range 10_000 {
		for k := range 50 {
			if _, ok := have(c, intKey{1, k}); !ok {
				t.Fatalf("%d is gone after %d", k, i)
			}
		}
		put(c, intKey{2, i}, i, 1, time.Hour)
	}
	c.stop()
}

// An entry as heavy as everything is kept, and takes the place of all shards' entries.
func TestSieveHeavy(t *testing.T) {
	c := intSieve(Config[int, int, int]{Size: 10_000, TTL: time.Hour, Weigh: func(int, int) int64 { return 1 }})
	for i := range 10_000 {
		put(c, intKey{1, i}, i, 1, time.Hour)
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
	c.stop()
}

// A key that comes back soon after it was evicted is spared by the hand once, as if it had been
// asked for; any other newcomer is not, and neither is one that was evicted long ago.
func TestSieveSparesWhatComesBack(t *testing.T) {
	for _, quota := range []float64{0, 0.99} { // with owners, all in one shard
		c := intSieve(Config[int, int, int]{Size: 100, TTL: time.Hour, MaxPerTenant: quota})
		fill := func(from, n int) {
			for i := range n {
				put(c, intKey{1, from + i}, i, 1, time.Hour)
			}
		}
		fill(0, 200)                             // the first ones are evicted, in this order
		back := intKey{1, 199 - int(c.n.Load())} // the last of these: nobody has taken its place
		if _, ok := have(c, back); ok {
			t.Fatal("nothing was evicted")
		}
		put(c, back, 7, 1, time.Hour)
		fill(1000, 150) // evicts all that was there before, but back
		h := c.hash(&back)
		if n := c.shard(h, &back).table.get(h, &back); n == nil || n.val != 7 {
			t.Errorf("bound per tenant %v: what came back is evicted as any other", quota)
		}
		spared := 0
		count := func(k int) {
			h := c.hash(&intKey{1, k})
			if n := c.shard(h, &intKey{1, k}).table.get(h, &intKey{1, k}); n != nil && n.flags.Load() != 0 {
				spared++
			}
		}
		for k := 1000; k < 1050; k++ {
			count(k)
		}
		fill(2000, 2000) // so many that what was evicted before is not remembered
		for k := range 50 {
			put(c, intKey{1, k}, 1, 1, time.Hour)
			count(k)
		}
		if spared > 10 { // marks are equal by chance, one in 32,768
			t.Errorf("bound per tenant %v: %d of 100 that did not come back soon are spared", quota, spared)
		}
		c.intact(t)
		c.stop()
	}
}

// What is forgotten is no ghost: it was not evicted.
func TestSieveForgetsGhosts(t *testing.T) {
	c := intSieve(Config[int, int, int]{Size: 100, TTL: time.Hour})
	defer c.stop()
	k := intKey{1, 1}
	put(c, k, 1, 1, time.Hour)
	c.remove(c.hash(&k), &k)
	put(c, k, 2, 1, time.Hour)
	h := c.hash(&k)
	if n := c.shard(h, &k).table.get(h, &k); n == nil || n.flags.Load() != 0 {
		t.Error("it counts as evicted")
	}
}

// MaxPerTenant: a noisy tenant evicts its own entries.
func TestSieveQuota(t *testing.T) {
	c := intSieve(Config[int, int, int]{Size: 1000, TTL: time.Hour, MaxPerTenant: 0.5})
	for i := range 400 {
		put(c, intKey{1, i}, i, 1, time.Hour)
	}
	for i := range 10_000 {
		put(c, intKey{2, i}, i, 1, time.Hour)
	}
	for i := range 400 {
		if _, ok := have(c, intKey{1, i}); !ok {
			t.Fatalf("%d of the quiet tenant is gone", i)
		}
	}
	if n := c.n.Load(); n != 900 {
		t.Errorf("%d entries, want 400 and 500", n)
	}
	c.intact(t)
	c.stop()
}

// What has expired is freed, and the timer ends.
func TestSieveExpiry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := intSieve(Config[int, int, int]{TTL: time.Second, Stale: time.Second})
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

// Many write, read and delete at once; then all is intact. Under -race.
func TestSieveStress(t *testing.T) {
	for _, quota := range []float64{0, 0.4} {
		c := intSieve(Config[int, int, int]{Size: 3000, TTL: time.Hour, MaxPerTenant: quota})
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 1))
				for i := range 20_000 {
					k := intKey{r.IntN(4), r.IntN(3000)}
					switch r.IntN(10) {
					case 0, 1, 2, 3:
						put(c, k, k.Key, 1, time.Hour)
					case 4:
						c.remove(c.hash(&k), &k)
					default:
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

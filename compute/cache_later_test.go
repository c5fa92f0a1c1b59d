package compute

import (
	"hash/maphash"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/internal/core/clock"
)

// Changes that find the lock taken are seen immediately, and once it is free all is as if they
// had not waited: the same entries, in the same lines, and the same shares of the tenants.
func TestCacheLater(t *testing.T) { rapid.Check(t, cacheLater) }

func FuzzCacheLater(f *testing.F) { f.Fuzz(rapid.MakeFuzz(cacheLater)) }

func cacheLater(t *rapid.T) {
	cfg := Config[int, int, int]{Size: rapid.IntRange(1, 200).Draw(t, "size"), TTL: time.Hour}
	if rapid.Bool().Draw(t, "quota") {
		cfg.MaxPerTenant = 0.3
	}
	cfg, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	clk, seed := clock.New(), maphash.MakeSeed()
	now, late := newCache(&cfg, seed, &clk), newCache(&cfg, seed, &clk)
	both := []*intCache{now, late}
	for i := range rapid.IntRange(1, 20).Draw(t, "rounds") {
		late.mu.Lock()
		for j := range rapid.IntRange(0, mostLater).Draw(t, "changes") {
			k := intKey{rapid.IntRange(0, 5).Draw(t, "tenant"), rapid.IntRange(0, 60).Draw(t, "key")}
			v := mostLater*i + j
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				for _, c := range both {
					c.remove(c.hash(&k), &k)
				}
				v = -1
			} else {
				for _, c := range both {
					put(c, k, v, 1, time.Hour)
				}
			}
			if n := late.find(late.hash(&k), &k); (n != nil) != (v >= 0) || n != nil && n.val != v {
				t.Fatalf("%v is %v after a change to %d that waits", k, n, v)
			}
		}
		if rapid.Bool().Draw(t, "between") { // another caller comes before the holder looks again
			late.mu.Unlock()
			k := intKey{rapid.IntRange(0, 5).Draw(t, "tenant"), rapid.IntRange(0, 60).Draw(t, "key")}
			for _, c := range both {
				put(c, k, -2, 1, time.Hour)
			}
			late.catchUp()
		} else {
			late.unlock()
		}
		for _, c := range both {
			c.intact(t)
		}
		for range rapid.IntRange(0, 20).Draw(t, "calls") {
			k := intKey{rapid.IntRange(0, 5).Draw(t, "tenant"), rapid.IntRange(0, 60).Draw(t, "key")}
			a, is := have(now, k)
			if b, too := have(late, k); a != b || is != too {
				t.Fatalf("%v is %d, %t; with changes that waited %d, %t", k, a, is, b, too)
			}
		}
		for tenant := range 6 {
			if a, b := weightOf(now, tenant), weightOf(late, tenant); a != b {
				t.Fatalf("tenant %d has %d, with changes that waited %d", tenant, a, b)
			}
		}
	}
}

// While another caller holds the lock, at most mostLater changes wait; a further one is not taken, and its caller waits.
func TestLaterIsBounded(t *testing.T) {
	c := newInts(Config[int, int, int]{Size: 10, TTL: time.Hour})
	defer c.stop()
	c.mu.Lock()
	for i := range mostLater {
		put(c, intKey{1, i}, i, 1, time.Hour)
	}
	if c.later.add(change[int, int, int]{}) {
		t.Errorf("one more than %d changes", mostLater)
	}
	c.unlock()
	if n := c.n.Load(); n != 10 {
		t.Errorf("%d entries", n)
	}
	c.intact(t)
}

// What waits is forgotten with the rest, and no room is made without it.
func TestLaterIsAppliedFirst(t *testing.T) {
	for what, do := range map[string]func(*intCache){
		"removeIf": func(c *intCache) { c.removeIf(func(*intNode) bool { return true }) },
		"makeRoom": func(c *intCache) { c.makeRoom(1, 1_000) },
	} {
		c := newInts(Config[int, int, int]{Size: 1_000, TTL: time.Hour})
		c.mu.Lock()
		put(c, intKey{1, 1}, 1, 1, time.Hour)
		c.mu.Unlock()
		do(c)
		if _, ok := have(c, intKey{1, 1}); ok {
			t.Errorf("%s does not see an entry that was added while the lock was held", what)
		}
		c.intact(t)
		c.stop()
	}
}

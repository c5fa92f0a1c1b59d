package compute

import (
	"fmt"
	"testing"
	"time"

	"github.com/firq-go/firq/internal/proof/race"
)

// shareSizes have one table, some, and many.
var shareSizes = []int{1_000, 10_000, 50_000}

// A cache full of silent tenants' entries locks no new tenant out, with or without a bound
// per tenant.
func TestNewTenantsGetRoom(t *testing.T) {
	race.OneGoroutine(t)
	for _, size := range shareSizes {
		for _, quota := range []float64{0, 0.25} {
			t.Run(fmt.Sprint(size, quota), func(t *testing.T) {
				c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour, MaxPerTenant: quota})
				defer c.stop()
				for i := range 2 * size {
					put(c, intKey{i % 8, i}, i, 1, time.Hour)
				}
				for tenant := 100; tenant < 110; tenant++ {
					each := size / 50
					for i := range each {
						put(c, intKey{tenant, i}, i, 1, time.Hour)
					}
					if w := weightOf(c, tenant); w != int64(each) {
						t.Errorf("new tenant %d has %d of %d", tenant, w, each)
					}
				}
				c.intact(t)
			})
		}
	}
}

// A scan of one tenant takes nothing from others that have no more than their equal part,
// and call once per turn of the cache; it does take what they have beyond that.
func TestSharesAgainstScan(t *testing.T) {
	race.OneGoroutine(t)
	for _, size := range shareSizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour})
			defer c.stop()
			const quiet = 19
			part := size / (quiet + 1)
			few := part / 5
			for i := range size { // tenant 1 has all
				put(c, intKey{1, i}, i, 1, time.Hour)
			}
			for tenant := 2; tenant <= quiet; tenant++ {
				n := part
				if tenant%2 == 0 {
					n = few
				}
				for i := range n {
					put(c, intKey{tenant, i}, i, 1, time.Hour)
				}
			}
			for i := range 8 * size {
				put(c, intKey{0, i}, i, 1, time.Hour)
				if i%(size/2) == 0 {
					for tenant := 2; tenant <= quiet; tenant++ {
						have(c, intKey{tenant, i % few})
					}
				}
			}
			for tenant := 2; tenant <= quiet; tenant++ {
				want := int64(part)
				if tenant%2 == 0 {
					want = int64(few)
				}
				if w := weightOf(c, tenant); w != want {
					t.Errorf("quiet tenant %d has %d of %d", tenant, w, want)
				}
			}
			if w := weightOf(c, 1); w != 0 {
				t.Errorf("a silent tenant has %d", w)
			}
			if n := c.n.Load(); n != int64(size) {
				t.Errorf("%d entries", n)
			}
			c.intact(t)
		})
	}
}

// Tenants that want more than their part divide equally what the others leave.
func TestSharesAreEqual(t *testing.T) {
	race.OneGoroutine(t)
	for _, size := range shareSizes {
		c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour})
		for i := range 15 * size {
			tenant := 1
			switch i % 20 {
			case 0:
				tenant = 2 // comes late, and seldom
			case 1:
				tenant = 3
			}
			if tenant == 3 { // needs a tenth
				k := intKey{3, i / 20 % (size / 10)}
				if _, ok := have(c, k); !ok {
					put(c, k, i, 1, time.Hour)
				}
				continue
			}
			put(c, intKey{tenant, i}, i, 1, time.Hour)
		}
		a, b, d := weightOf(c, 1), weightOf(c, 2), weightOf(c, 3)
		if d != int64(size/10) || b < a-1 || b > a+1 || a+b+d != int64(size) {
			t.Errorf("size %d: the noisy tenant has %d, the one that wants as much %d, and the one that wants a tenth %d", size, a, b, d)
		}
		c.intact(t)
		c.stop()
	}
}

// A silent tenant's entries go before all others, and it is one again as soon as it calls.
func TestSilentTenantsGoFirst(t *testing.T) {
	const size = 10_000
	c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour})
	defer c.stop()
	for i := range size {
		put(c, intKey{i % 4, i}, i, 1, time.Hour)
	}
	turn := func(from int) {
		for i := range size + 4*perPage { // as many slots as there are
			put(c, intKey{0, from + i}, i, 1, time.Hour)
			if i%1000 == 0 {
				have(c, intKey{1, 1})
			}
		}
	}
	for i := range 4 {
		turn((i + 1) * 100_000)
	}
	if a, b, d := weightOf(c, 1), weightOf(c, 2), weightOf(c, 3); a != size/4 || b != 0 || d != 0 {
		t.Errorf("the calling tenant has %d; the silent ones have %d and %d", a, b, d)
	}
	for i := range size / 4 { // tenant 2 comes back
		put(c, intKey{2, i}, i, 1, time.Hour)
	}
	turn(900_000)
	if w := weightOf(c, 2); w != size/4 {
		t.Errorf("the tenant that came back has %d", w)
	}
	c.intact(t)
}

// What silent tenants have is room for a heavy entry, and is not counted as a part.
func TestHeavyInsteadOfTheSilent(t *testing.T) {
	c := newInts(Config[int, int, int]{Size: 1_000, TTL: time.Hour, Weigh: weightOne})
	defer c.stop()
	for i := range 1_000 {
		put(c, intKey{i % 2, i}, i, 1, time.Hour)
	}
	c.mu.Lock()
	c.tenants.round += 3
	c.tenants.call(c.tenants.byKey[0])
	c.mu.Unlock()
	for _, w := range []int64{501, 500} {
		put(c, intKey{2, 0}, 0, w, time.Hour)
		if _, ok := have(c, intKey{2, 0}); ok != (w == 500) || weightOf(c, 0) != 500 {
			t.Errorf("%d is kept: %t; the tenant that is not silent has %d of its part, 500", w, ok, weightOf(c, 0))
		}
	}
	c.intact(t)
}

// A turn is as many evictions as there are entries, also after there were many more of them.
func TestSilenceAfterManyEntries(t *testing.T) {
	const size, heavy = 1_000_000, 10_000
	for _, before := range []int{0, 50_000} {
		c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour, Weigh: weightOne})
		for i := range before {
			put(c, intKey{0, i}, i, 1, time.Hour)
		}
		put(c, intKey{1, 0}, 0, heavy, time.Hour)
		c.removeIf(func(n *intNode) bool { return n.key.Tenant == 0 })
		for i := range size / heavy {
			put(c, intKey{i % 2, i}, i, heavy, time.Hour)
		}
		for i := range 50 * size / heavy { // tenant 1 is silent
			put(c, intKey{0, 1_000 + i}, i, heavy, time.Hour)
		}
		if w := weightOf(c, 1); w != 0 {
			t.Errorf("after %d entries, a tenant that was silent for 50 turns has %d", before, w)
		}
		c.intact(t)
		c.stop()
	}
}

// MaxPerTenant: a tenant evicts its own entries beyond it, though there is room.
func TestMaxPerTenant(t *testing.T) {
	race.OneGoroutine(t)
	for _, size := range shareSizes {
		c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour, MaxPerTenant: 0.5})
		for i := range 2 * size / 5 {
			put(c, intKey{1, i}, i, 1, time.Hour)
		}
		for i := range 10 * size {
			put(c, intKey{2, i}, i, 1, time.Hour)
		}
		if a, b := weightOf(c, 1), weightOf(c, 2); a != int64(2*size/5) || b != int64(size/2) {
			t.Errorf("size %d: %d and %d entries", size, a, b)
		}
		c.intact(t)
		c.stop()
	}
}

// A heavy entry lets others in between: it evicts a portion at a time, and the weight is
// never more than the bound.
func TestRoomIsMadeInPortions(t *testing.T) {
	race.OneGoroutine(t)
	const size = 100_000
	c := newInts(Config[int, int, int]{Size: size, TTL: time.Hour, Weigh: weightOne})
	defer c.stop()
	for i := range size {
		put(c, intKey{1, i}, i, 1, time.Hour)
	}
	times := 0
	for more := true; more; times++ {
		before := c.n.Load()
		var fits bool
		c.mu.Lock()
		fits, more = c.room(1, size/2)
		c.mu.Unlock()
		if n := before - c.n.Load(); n > portion || fits == more {
			t.Fatalf("%d evictions in one call; fits %t, more %t", n, fits, more)
		}
	}
	if times < size/2/portion || c.weight.Load() > size/2 {
		t.Errorf("room was made in %d portions; weight %d", times, c.weight.Load())
	}
	c.intact(t)
}

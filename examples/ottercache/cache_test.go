package ottercache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
)

type (
	key   = compute.Key[string, int]
	entry = compute.Entry[int]
)

func of(tenant string, k int) key { return key{Tenant: tenant, Key: k} }

func open(t *testing.T, size int) *Cache[string, int, int] {
	t.Helper()
	c, err := New[string, int, int](size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// catcher is a Cache that passes calls on, and keeps the last entry that was set.
type catcher struct {
	*Cache[string, int, int]
	last atomic.Pointer[entry]
}

func (c *catcher) Set(k key, e *entry) {
	c.last.Store(e)
	c.Cache.Set(k, e)
}

// made returns entries of a server with this config: what else could make them?
func made(t *testing.T, cfg compute.Config[string, int, int]) func() *entry {
	t.Helper()
	c := &catcher{Cache: open(t, 10)}
	cfg.Cache, cfg.Jitter = c, -1
	n := 0
	s := serve(t, cfg, func(context.Context, compute.Call[string, int]) (int, error) { return n, nil })
	return func() *entry {
		n++
		if _, err := s.Do(t.Context(), "t", n); err != nil {
			t.Fatal(err)
		}
		return c.last.Load()
	}
}

func serve(t *testing.T, cfg compute.Config[string, int, int], exec compute.Exec[string, int, int]) *compute.Server[string, int, int] {
	t.Helper()
	s, err := compute.New(exec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSize(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt} {
		c, err := New[string, int, int](size)
		if c != nil || !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(fmt.Sprint(err), "size") {
			t.Errorf("%d: %v, %v", size, c, err)
		}
	}
	open(t, math.MaxInt).Set(of("t", 1), new(entry)) // not too much to ask for
}

// Get returns the entry that was last set for its key, and never that of another key.
func TestKeys(t *testing.T) {
	c := open(t, 100)
	next := made(t, compute.Config[string, int, int]{TTL: time.Hour})
	a, b, other := next(), next(), next()
	if c.Get(of("t", 1)) != nil || c.Len() != 0 {
		t.Error("an entry that was not set")
	}
	c.Set(of("t", 1), a)
	c.Set(of("u", 1), other)
	if got := c.Get(of("t", 1)); got != a {
		t.Errorf("got %p, want %p", got, a)
	}
	c.Set(of("t", 1), b)
	if got := c.Get(of("t", 1)); got != b {
		t.Errorf("after another Set: got %p, want %p", got, b)
	}
	if got := c.Get(of("u", 1)); got != other {
		t.Errorf("another tenant: got %p, want %p", got, other)
	}
	if n := c.Len(); n != 2 {
		t.Errorf("Len is %d", n)
	}
	c.Delete(of("t", 1))
	c.Delete(of("t", 7))
	if c.Get(of("t", 1)) != nil || c.Get(of("u", 1)) != other {
		t.Error("Delete forgot the wrong one")
	}
	if n := c.Len(); n != 1 {
		t.Errorf("Len is %d after Delete", n)
	}
}

// A Get that begins after a Set has returned sees its entry, or a later one, or nil;
// never an older one.
func TestSetIsSeen(t *testing.T) {
	const goroutines, each, keys = 8, 2_000, 4
	c := open(t, 3) // fewer than the keys: it evicts all the time
	next := made(t, compute.Config[string, int, int]{TTL: time.Hour})
	entries := make([]*entry, goroutines*each/keys)
	number := map[*entry]int64{}
	for i := range entries {
		entries[i] = next()
		number[entries[i]] = int64(i)
	}
	var wg sync.WaitGroup
	for g := range keys { // each key has one writer and some readers
		var set atomic.Int64
		set.Store(-1)
		k := of("t", g)
		wg.Go(func() {
			for i, e := range entries {
				c.Set(k, e)
				set.Store(int64(i))
			}
		})
		for range goroutines / keys {
			wg.Go(func() {
				for range each {
					atLeast := set.Load()
					if e := c.Get(k); e != nil && number[e] < atLeast {
						t.Errorf("entry %d after Set of %d", number[e], atLeast)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

// There are no more entries than the size once otter has evicted.
func TestBound(t *testing.T) {
	const size = 100
	c := open(t, size)
	e := made(t, compute.Config[string, int, int]{TTL: time.Hour})()
	for i := range 100 * size {
		c.Set(of("t", i), e)
	}
	c.Otter().CleanUp()
	if n := c.Len(); n > size || n < size/2 {
		t.Errorf("%d entries, the size is %d", n, size)
	}
	if w := c.Otter().WeightedSize(); w != uint64(c.Len()) {
		t.Errorf("%d entries of weight 1 weigh %d", c.Len(), w)
	}
}

func TestWeight(t *testing.T) {
	for w, want := range map[int64]uint32{
		math.MinInt64: 1, -1: 1, 0: 1, 1: 1, 2: 2, math.MaxUint32: math.MaxUint32, math.MaxUint32 + 1: math.MaxUint32, math.MaxInt64: math.MaxUint32,
	} {
		if got := weight(w); got != want {
			t.Errorf("%d weighs %d, want %d", w, got, want)
		}
	}
}

// An entry goes when it can no longer be an answer, not sooner, and without a caller
// asking for it.
func TestExpiry(t *testing.T) {
	for name, c := range map[string]struct {
		cfg compute.Config[string, int, int]
		end time.Duration
	}{
		"TTL":          {compute.Config[string, int, int]{TTL: time.Minute}, time.Minute},
		"Stale":        {compute.Config[string, int, int]{TTL: time.Minute, Stale: time.Hour, StaleIfError: time.Minute}, time.Hour + time.Minute},
		"StaleIfError": {compute.Config[string, int, int]{TTL: time.Minute, StaleIfError: time.Hour}, time.Hour + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := open(t, 10)
				kept.Set(of("t", 1), made(t, c.cfg)())
				time.Sleep(c.end - time.Millisecond)
				if kept.Get(of("t", 1)) == nil {
					t.Error("it went too soon")
				}
				time.Sleep(2 * time.Millisecond)
				if kept.Get(of("t", 1)) != nil {
					t.Error("it is there after its end")
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if n := kept.Len(); n != 0 {
					t.Errorf("%d entries take memory after their end", n)
				}
			})
		})
	}
}

// Close ends the goroutines that New starts; goleak would see others.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New[string, int, int](10)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		c.Close()
		e := made(t, compute.Config[string, int, int]{TTL: time.Minute})()
		c.Set(of("t", 1), e)
		if c.Get(of("t", 1)) != e {
			t.Error("Close has broken it")
		}
	})
}

package compute

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/proof/race"
)

// However many keys are asked for, the cache, and the memory, stay bounded.
func TestManyKeys(t *testing.T) {
	race.OneGoroutine(t)
	keys := 1_000_000
	if testing.Short() {
		keys = 100_000
	}
	const size = 1000
	s, err := New(func(_ context.Context, c Call[int, int]) (int, error) { return c.Key, nil }, Config[int, int, int]{TTL: time.Hour, Size: size})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range keys {
		if v, err := s.Do(background, i%7, i); v != i || err != nil {
			t.Fatal(v, err)
		}
		if i%1000 == 0 {
			if st := s.Stats(); st.Entries > size || st.Weight > size {
				t.Fatalf("after %d keys %d entries of weight %d", i, st.Entries, st.Weight)
			}
		}
	}
	if after := heap(); after > before+4<<20 { // 1,000 entries take a tenth of one
		t.Errorf("the heap has grown by %d bytes", after-before)
	}
}

// Groups change where is executed, not what is a hit: one key is hot, the others are many.
func TestHitsOfGroups(t *testing.T) {
	hits := func(groups int) uint64 {
		s, err := New(func(_ context.Context, c Call[string, int]) (int, error) { return c.Key, nil },
			Config[string, int, int]{TTL: time.Hour, Limit: 32, Groups: groups})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		random := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(random, 1.01, 1, 10_000)
		for range 20_000 {
			key := -1
			if random.Float64() > 0.3 {
				key = int(zipf.Uint64())
			}
			_, _ = s.Do(background, "a", key)
		}
		return s.Stats().Hits
	}
	if one, many := hits(1), hits(16); one != many || one == 0 {
		t.Errorf("%d hits with 1 group, %d with 16", one, many)
	}
}

// 16 groups of 4 slots at 80 % load, executions of random length; zipf keys, then one key
// with 30 % of all: the load of each group, as every 64th call finds it, against the mean.
// With few slots the whole numbers of the bound weigh: a mean of 3.2 is bounded by 5. Without
// a bound the one key's group has several times the mean.
func TestRouterBalance(t *testing.T) {
	const groups, calls = 16, 20_000
	for _, c := range []struct {
		slots     int
		hot, most float64
	}{{4, 0, 1.35}, {4, 0.3, 1.45}, {16, 0, 1.30}, {16, 0.3, 1.30}} {
		slots, hot := c.slots, c.hot
		if testing.Short() && slots > 4 {
			continue
		}
		t.Run(fmt.Sprintf("slots=%d/hot=%v", slots, hot), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(3, 4))
				zipf := rand.NewZipf(random, 1.01, 1, 100_000)
				s, err := New(func(context.Context, Call[int, int]) (int, error) { return 0, nil },
					Config[int, int, int]{Limit: groups * slots, Groups: groups, NoCoalesce: true, FIFO: true,
						Gate: gate.Config[int]{MaxQueueAge: -1}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var sum [groups]float64
				for i := range calls {
					time.Sleep(time.Duration(random.ExpFloat64() / (0.8 * float64(groups*slots)) * float64(time.Second)))
					key := int(zipf.Uint64()) + 1
					if random.Float64() < hot {
						key = 0
					}
					takes := time.Duration(random.ExpFloat64() * float64(time.Second))
					with := s.With(func(context.Context, Call[int, int]) (int, error) {
						time.Sleep(takes)
						return 0, nil
					})
					go func() { _, _, _ = s.DoInfo(background, 0, key, with) }()
					if i%64 == 0 && i > calls/10 {
						synctest.Wait()
						for g, gr := range s.groups.now.Load().groups {
							sum[g] += float64(gr.load())
						}
					}
				}
				time.Sleep(time.Hour)
				most, mean := 0.0, 0.0
				for _, x := range sum {
					most, mean = math.Max(most, x), mean+x/groups
				}
				if st := s.Stats(); mean == 0 || most/mean > c.most || st.Refused > 0 {
					t.Errorf("max/mean %.3f, refused %d", most/mean, st.Refused)
				}
			})
		})
	}
}

// Keys that hold a NaN are executed each by itself, and never kept.
func TestKeyWithNaN(t *testing.T) {
	type key struct {
		name string
		x    float64
	}
	n := 0
	s, err := New(func(context.Context, Call[string, key]) (int, error) { n++; return n, nil }, Config[string, key, int]{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, x := range []float64{1, 1, math.NaN(), math.NaN()} {
		_, _ = s.Do(background, "a", key{"k", x})
	}
	if st := s.Stats(); n != 3 || st.Hits != 1 || st.Entries != 1 || st.Flights != 0 {
		t.Errorf("executed %d times, %d hits, %d entries", n, st.Hits, st.Entries)
	}
	if _, _, ok := s.Peek("a", key{"k", math.NaN()}); ok {
		t.Error("Peek finds a NaN")
	}
}

// No caller is starved without a reply, the oldest of a stack neither: 1,000 callers, with a
// deadline of 100 ms and far more than can be served, have all returned by then.
func TestAllReturnByTheirDeadline(t *testing.T) {
	for _, detach := range []bool{false, true} {
		t.Run(fmt.Sprintf("detach=%t", detach), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := openWith(t, newMaker(), config{Limit: 2, Detach: detach}, func(ctx context.Context, c call) (string, error) {
					select {
					case <-time.After(2 * time.Millisecond):
						return c.Key, nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				})
				const callers = 1000
				var all [callers]*answered
				for i := range all {
					a := &answered{t: t}
					all[i] = a
					go func() {
						ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
						defer cancel()
						a.v, a.info, a.err = d.DoInfo(ctx, "a", fmt.Sprint(i))
						d.calls.Add(1)
						a.done.Store(true)
					}()
				}
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				served := 0
				for i, a := range all {
					if !a.done.Load() {
						t.Fatalf("caller %d waits on", i)
					}
					if a.err == nil {
						served++
					} else if !isAny(a.err, context.DeadlineExceeded) {
						t.Errorf("caller %d: %v", i, a.err)
					}
				}
				if st := d.Stats(); served < 90 || st.GaveUp != uint64(callers-served) {
					t.Errorf("%d served, %d gave up", served, st.GaveUp)
				}
			})
		})
	}
}

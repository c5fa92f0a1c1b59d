package actor

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Used by one goroutine, shards serve as one heap would: the smallest start tag of all first,
// entries that have used less before others with that tag, and no entry before the virtual time.
func TestShardsOrder(t *testing.T) {
	limit(t, 20e9)
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		q := newShards(16)
		if len(q.all) != maxShards {
			t.Fatal(len(q.all))
		}
		type item struct {
			key int64 // the doubled tag, plus 1 if it was not among those that have used less
			a   *actor
		}
		in := map[*actor]item{}
		for range 1000 {
			if rnd.IntN(5) > 1 {
				tag, v := rnd.Int64N(2000), q.now()
				k := item{max(tag, v) << 1, &actor{}}
				if tag >= v {
					k.key++
				}
				in[k.a] = k
				if !q.put(entry{tag: tag, a: k.a}) {
					t.Fatal("it is closed")
				}
				continue
			}
			e, ok := q.get(0)
			if ok != (len(in) > 0) || q.any() != (len(in) > 1) {
				t.Fatal(ok, q.any(), len(in))
			}
			if !ok {
				continue
			}
			got := in[e.a]
			for _, k := range in {
				if k.key < got.key {
					t.Fatalf("seed %d: %d before %d", seed, got.key, k.key)
				}
			}
			if e.tag != got.key>>1 || q.now() < e.tag {
				t.Fatalf("seed %d: tag %d of %d, it is %d", seed, e.tag, got.key, q.now())
			}
			delete(in, e.a)
		}
		if n := len(q.close()); n != len(in) || q.put(entry{}) || q.any() {
			t.Error(n, len(in), q.any())
		}
	}
}

// Only entries that were chosen before the first entry came overtake it: a get that began after
// it was put in, and ended before it was taken, has returned no entry with a greater tag. Nothing
// is lost, and nothing comes twice.
func TestShardsConcurrent(t *testing.T) {
	limit(t, 60e9)
	const each = 150
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		q := newShards(16)
		var clock atomic.Int64
		type life struct{ put, begin, end, tag int64 }
		var mu sync.Mutex
		lives := map[*actor]*life{}
		var left atomic.Int64
		left.Store(4 * each)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				for range each {
					a := &actor{}
					q.put(entry{tag: q.now() + rnd.Int64N(100), a: a})
					at := clock.Add(1)
					mu.Lock()
					if lives[a] == nil {
						lives[a] = &life{}
					}
					lives[a].put = at
					mu.Unlock()
				}
			})
			wg.Go(func() {
				for left.Load() > 0 {
					begin := clock.Add(1)
					e, ok := q.get(0)
					end := clock.Add(1)
					if !ok {
						runtime.Gosched()
						continue
					}
					left.Add(-1)
					mu.Lock()
					l := lives[e.a]
					if l == nil {
						l = &life{}
						lives[e.a] = l
					}
					if l.end != 0 {
						t.Error("it came twice")
					}
					l.begin, l.end, l.tag = begin, end, e.tag
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(lives) != 4*each || q.any() {
			t.Fatalf("%d of %d, or something is left", len(lives), 4*each)
		}
		for _, x := range lives {
			for _, g := range lives {
				if g.begin > x.put && g.end < x.begin && g.tag > x.tag {
					t.Fatalf("round %d: %+v was passed by %+v", round, x, g)
				}
			}
		}
	}
}

// Shares of processor time are by weight over shards too.
func TestShardsShares(t *testing.T) {
	for _, slots := range []int{8, 16, 32} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newSys(t, Config{Slots: slots, Handoff: -1})
				var mu sync.Mutex
				var used [2]time.Duration
				for i := range 6 * slots {
					kind := i % 2
					d := []time.Duration{time.Millisecond, 130 * time.Microsecond}[i/2%2]
					var loop job
					loop = func(_ *box, c *Ctx) (any, error) {
						time.Sleep(d)
						mu.Lock()
						used[kind] += d
						mu.Unlock()
						return nil, do.Tell(c, must3[*box](c), loop)
					}
					_ = do.Tell(bg, box0(t, s, "", WithWeight(1+2*kind)), loop)
				}
				sleep(400)
				s.Close()
				sleep(2)
				synctest.Wait()
				if share := float64(used[1]) / float64(used[0]); share < 2.7 || share > 3.3 {
					t.Error(share)
				}
			})
		})
	}
}

func must3[S any](c *Ctx) Ref[S] { r, _ := Self[S](c); return r }

// An actor that was idle has earned no credit, whichever shard it comes to, and is served first.
func TestShardsIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 8, Handoff: -1})
		var n [32]atomic.Int32
		var refs [32]Ref[*box]
		for i := range refs {
			refs[i] = box0(t, s, "")
		}
		tell := func(i, k int) {
			for range k {
				_ = do.Tell(bg, refs[i], func(*box, *Ctx) (any, error) { sleep(1); n[i].Add(1); return nil, nil })
			}
		}
		for i := range 16 {
			tell(i, 300)
		}
		sleep(200) // the others are idle
		before := n[0].Load()
		for i := 16; i < 32; i++ {
			tell(i, 300)
		}
		sleep(200)
		old, fresh := n[0].Load()-before, n[16].Load()
		if old < 40 || fresh < 40 || fresh > 60 {
			t.Errorf("in 200 ms of 8 slots for 32 actors: %d for an old one, %d for a new one", old, fresh)
		}
		s.Close()
		sleep(2)
	})
}

// Many slots go to sleep and are woken, and no message waits forever.
func TestShardsWake(t *testing.T) {
	limit(t, 60e9)
	rounds := 3000
	if testing.Short() {
		rounds = 600
	}
	s := newSys(t, Config{Slots: 16, Handoff: -1})
	var done sync.WaitGroup
	hit := NewAction("Hit", func(*box, *Ctx, int) error { done.Done(); return nil })
	var refs [24]Ref[*box]
	for i := range refs {
		refs[i] = box0(t, s, "")
	}
	for round := range rounds {
		done.Add(3 * len(refs))
		for g := range 3 {
			go func() {
				for i := range refs {
					_ = hit.Tell(bg, refs[(i*(g+1)*5+round)%len(refs)], i)
				}
			}()
		}
		done.Wait()
	}
	s.Close()
	books(t, s)
}

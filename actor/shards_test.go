package actor

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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

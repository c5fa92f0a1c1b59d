package lockfree

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/internal/core/serve"
)

// races is how long a test tries to hit an interleaving that it cannot force.
func races() time.Duration {
	if testing.Short() {
		return 20 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// Each worker takes a task and hands it in again, for another tenant. There are as
// many tasks as workers, and a worker that looks for one has none in hand: so at
// each instant of its look some task is queued whose Enqueue has returned, and
// TryDequeue must find one.
func TestNeverEmpty(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, shards := range []int{1, 4, 256} {
		for _, workers := range []int{2, 4} {
			t.Run(fmt.Sprintf("shards=%d/workers=%d", shards, workers), func(t *testing.T) {
				s := build(t, config{Shards: shards, MaxGlobal: workers})
				for i := range workers {
					admit(t, s, fmt.Sprint(i), task{Payload: i})
				}
				end := time.Now().Add(races())
				var wg sync.WaitGroup
				for w := range workers {
					wg.Go(func() {
						for i := w; time.Now().Before(end) && !t.Failed(); i++ {
							it, ok := s.TryDequeue()
							if !ok {
								t.Errorf("nothing to dequeue, Len %d", s.Len())
								return
							}
							if err := s.Enqueue(fmt.Sprint(i%61), task{Payload: it.Payload}); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// A tenant dies by one CAS on the word that a producer has to change as well, so a tenant whose place a
// producer has got never dies.
func TestForgetAgainstPlace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	s := build(t, config{TenantIdle: time.Nanosecond})
	sh := s.shards[0]
	var over atomic.Bool
	var taken, spun atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := int64(1); !over.Load(); i++ {
			if err := s.Enqueue("a", task{}); err != nil {
				t.Error(err)
				return
			}
			for taken.Load() != i && !over.Load() {
				runtime.Gosched()
			}
		}
	})
	died := 0
	forget := func(st *serve.Tenant[string, int]) bool {
		ok := sh.forget(st)
		if tn := ownerOf(&st.Tenant); ok && tn.held() != 0 {
			t.Error("dead, with a place out")
		}
		if ok {
			died++
		}
		return ok
	}
	for start := time.Now(); (time.Since(start) < races() || died == 0) && !t.Failed(); {
		if _, ok := s.TryDequeue(); ok {
			taken.Add(1)
			for n := rand.IntN(300); n > 0; n-- {
				spun.Add(1) // so that the two meet at any step
			}
		}
		sh.lock()
		sh.SweepSome(s.shared.Clock.Now(), true, 1, forget)
		sh.unlock()
	}
	over.Store(true)
	wg.Wait()
}

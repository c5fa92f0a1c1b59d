package lockfree

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
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

// A tenant dies by one CAS on the word that a producer has to change as well:
// there is no producer that got a ticket of it before and is not seen.
func TestForgetAgainstTicket(t *testing.T) {
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
		if w := ownerOf(&st.Tenant).word.Load(); ok && roomIn(w) != s.shared.Limit(st.Key, 0) {
			t.Error("dead, with a ticket out")
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

// deadlineIsSeen has a lease holder reset boxDue, the tenant's and the shard's, and
// drain; a producer lowers both before and after it publishes. When Enqueue has
// returned, a caller that asks knows when the task is due. The payload is large, so that it
// takes a while to copy it into its slot.
func deadlineIsSeen(t *testing.T, all bool) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	type large [1 << 15]byte
	s, err := New(firq.Config[string, large]{Shards: 1, Order: firq.LIFO})
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(deadline time.Time) {
		if err := s.Enqueue("a", firq.Task[large]{Deadline: deadline}); err != nil {
			t.Error(err)
		}
	}
	for range 2 { // which stay, so that the tenant stays polled
		enqueue(time.Time{})
	}
	sh := s.shards[0]
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			sh.lock()
			sh.drainPolled()
			sh.unlock()
			runtime.Gosched()
		}
	})
	deadline := far()
	due := s.shared.Clock.Due(deadline)
	for start := time.Now(); time.Since(start) < races() && !t.Failed(); {
		enqueue(deadline)
		for range 50 {
			when := s.NextDueOf("a")
			if all {
				when = s.NextDue()
			}
			if when > due {
				t.Errorf("a task is due at %d; of all tenants %t, the answer is %d", due, all, when)
				break
			}
		}
		if it, ok := s.TryDequeue(); !ok || it.Deadline.IsZero() {
			t.Error("the newest task does not come")
		}
	}
	over.Store(true)
	wg.Wait()
}

func TestDeadlineIsSeen(t *testing.T) { deadlineIsSeen(t, false) }

// TestDeadlineIsSeenByOthers: another tenant's producer, that waits for a place of
// the scheduler, reads the shard's due and boxDue.
func TestDeadlineIsSeenByOthers(t *testing.T) { deadlineIsSeen(t, true) }

// A call that is refused after E1 gives its place back before it fills its slot:
// a producer that finds the tenant full, and no hole, is not refused on its account.
func TestFullAgainstVoid(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	s := build(t, config{MaxPerTenant: 1})
	a, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	var spun atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			for range inboxSize {
				p := stopped(t, s, "a", task{})
				for n := rand.IntN(100); n > 0; n-- {
					spun.Add(1) // so that the two meet at any step
				}
				p.void()
			}
			a.shard.lock()
			a.shard.drainAll(a)
			a.shard.unlock()
		}
	})
	for start := time.Now(); time.Since(start) < races(); {
		if a.full() {
			t.Error("full, though no task was ever admitted")
			break
		}
	}
	over.Store(true)
	wg.Wait()
}

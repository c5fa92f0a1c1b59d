package lockfree

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Producers number their tasks per tenant; each consumer must see the numbers of a producer and tenant rise, and all
// together every task once. A quarter of the runs has tasks that are not plain among them.
func TestOrder(t *testing.T) {
	each := 4000
	if testing.Short() {
		each = 500
	}
	lanes := 0
	for run := 0; run < 24; run++ {
		cfg := firq.Config[int, load]{MaxGlobal: []int{100, 5000, 65536}[run%3], Shards: 1 + run%2}
		if run%4 == 1 {
			cfg.MaxPerTenant = 37
		}
		mixed := run%4 == 3
		tenants := []int{1, 3, 64, 1000}[run/2%4]
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		const producers, consumers = 6, 4
		var wg, cg sync.WaitGroup
		got := make([]atomic.Int32, producers*each)
		var stop atomic.Bool
		go func() { // an outside observer of the limits
			for !stop.Load() {
				if n := s.Len(); n > cfg.MaxGlobal {
					t.Errorf("Len %d", n)
				}
				runtime.Gosched()
			}
		}()
		for range consumers {
			cg.Add(1)
			go func() {
				defer cg.Done()
				last := map[[2]int]int{}
				for {
					it, err := s.Dequeue(context.Background())
					if err != nil {
						return
					}
					p, n := it.Payload.producer, it.Payload.seq
					got[p*each+n].Add(1)
					k := [2]int{p, it.Tenant}
					if m, ok := last[k]; ok && m >= n {
						t.Errorf("run %d: tenant %d producer %d: %d after %d", run, it.Tenant, p, n, m)
					}
					last[k] = n
				}
			}()
		}
		for p := range producers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for n := range each {
					task := firq.Task[load]{Payload: load{producer: p, seq: n}, Cost: int64(rand.IntN(3))}
					k := rand.IntN(tenants)
					if mixed && rand.IntN(10) == 0 {
						task.Deadline = time.Now().Add(time.Hour)
					}
					for s.Enqueue(k, task) != nil {
						runtime.Gosched()
					}
				}
			}()
		}
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		if err := s.Shutdown(ctx); err != nil {
			t.Fatalf("run %d: %v, Len %d, %+v", run, err, s.Len(), s.Stats())
		}
		cancel()
		cg.Wait()
		stop.Store(true)
		for i := range got {
			if got[i].Load() != 1 {
				t.Fatalf("run %d: task %d came %d times", run, i, got[i].Load())
			}
		}
		if n := s.Len(); n != 0 {
			t.Errorf("Len %d at the end", n)
		}
		for _, sh := range s.shards {
			for l := sh.freeLanes; l != nil; l = l.next {
				lanes++
			}
		}
	}
	t.Logf("%d lanes were used", lanes)
}

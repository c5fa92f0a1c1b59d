package lockfree

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
)

func smoke(t *testing.T, s firq.Scheduler[int, int], np, nc, tenants, per int) {
	var wg sync.WaitGroup
	ctx := context.Background()
	start := time.Now()
	for p := range np {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range per {
				if err := s.EnqueueWait(ctx, (p*7+i)%tenants, firq.Task[int]{Payload: i}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	var cw sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range nc {
		cw.Add(1)
		go func() {
			defer cw.Done()
			n := 0
			for range firq.All(ctx, s) {
				n++
			}
			mu.Lock()
			total += n
			mu.Unlock()
		}()
	}
	wg.Wait()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	cw.Wait()
	el := time.Since(start)
	if total != np*per {
		t.Errorf("got %d want %d; %+v", total, np*per, s.Stats())
	}
	st := s.Stats()
	t.Logf("%.2f M/s, enq %d deq %d len %d", float64(total)/el.Seconds()/1e6, st.Enqueued, st.Dequeued, s.Len())
}

func TestSmoke(t *testing.T) {
	for _, sh := range []int{1, 4} {
		for _, g := range []int{64, 1} {
			a, _ := New(firq.Config[int, int]{Shards: sh})
			smoke(t, a, 8, 8, g, 200000)
			b, _ := baseline.New(firq.Config[int, int]{Shards: sh})
			smoke(t, b, 8, 8, g, 200000)
		}
	}
}

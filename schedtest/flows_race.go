package schedtest

import (
	"context"
	"sync"
	"testing"

	"github.com/firq-go/firq"
)

// flowRace: each producer is a flow of each of a few tenants, apart or sharing; its tasks
// come out in its order, whatever the others do, and all of them come out.
func flowRace(t *testing.T, newSched maker) {
	const producers, nTenants = 5, 3
	n := reps(2000)
	names := tenants(nTenants)
	for _, most := range []int{2, 64} {
		for _, shards := range []int{1, 4} {
			s := open(t, newSched, config{Shards: shards, MaxFlows: most, MaxGlobal: 200, Quantum: 3})
			ctx := patient(t)
			var all sync.WaitGroup
			for p := range producers {
				all.Go(func() {
					for i := 1; i <= n; i++ {
						tk := task{Payload: fifoID(p, i), Flow: uint64(p), Cost: int64(1 + i%5)}
						if err := s.EnqueueWait(ctx, names[i%nTenants], tk); err != nil {
							t.Errorf("EnqueueWait: %v", err)
							return
						}
					}
				})
			}
			go func() {
				all.Wait()
				_ = s.Shutdown(context.Background())
			}()
			see := fifoCheck(t, producers)
			got, dst := 0, make([]item, 7)
			for {
				k, err := s.DequeueBatch(ctx, dst[:1+got%7])
				if err == firq.ErrClosed {
					break
				} else if err != nil {
					t.Fatalf("after %d tasks: %v", got, err)
				}
				for i, it := range dst[:k] {
					if it.Flow != uint64(it.Payload>>24) {
						t.Fatalf("a task of flow %d says flow %d", it.Payload>>24, it.Flow)
					}
					see(it.Tenant, it.Payload)
					if (got+i)%50 == 0 {
						it.Charge(10)
					}
				}
				got += k
			}
			if got != producers*n {
				t.Fatalf("%d tasks delivered, %d enqueued", got, producers*n)
			}
		}
	}
}

package worker_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

// Weights and costs hold with MaxInFlightPerTenant, however many tasks a turn has: gold
// next to ten others, 64 workers, at most 32 for each, all with a backlog.
func TestWeightsInFlight(t *testing.T) {
	quanta := []int64{1, 8, 16, 100}
	if testing.Short() {
		quanta = quanta[1:2]
	}
	for name, newCore := range cores[int, int]() {
		for _, quantum := range quanta {
			for _, x := range []struct {
				name         string
				weight, cost int64
				want         float64
			}{{"weight 4", 4, 1, 4}, {"cost 50", 1, 50, 1}} {
				synctest.Test(t, func(t *testing.T) {
					s := newCore(t, firq.Config[int, int]{Shards: 1, MaxInFlightPerTenant: 32, QuantumFor: func(tenant int) int64 {
						if tenant == 0 {
							return x.weight * quantum
						}
						return quantum
					}})
					ctx, cancel := context.WithCancel(t.Context())
					n, most := 0, 2000+500*int(quantum)
					var served [11]float64
					random := rand.New(rand.NewPCG(5, 9))
					turn := make(chan struct{}, 1) // one handler at a time
					add := func(tenant int) {
						task := firq.Task[int]{}
						if tenant == 0 {
							task.Cost = x.cost
						}
						if err := s.Enqueue(tenant, task); err != nil {
							t.Error(err)
						}
					}
					for tenant := range served {
						for range 64 { // each worker may have taken a task that is not replaced yet
							add(tenant)
						}
					}
					err := worker.Run(ctx, s, func(_ context.Context, it *firq.Item[int, int]) error {
						turn <- struct{}{}
						if n++; n <= most {
							served[it.Tenant] += float64(it.Cost)
							add(it.Tenant)
						} else {
							cancel()
						}
						took := time.Duration((0.5 + random.Float64()) * float64(10*time.Millisecond))
						<-turn
						time.Sleep(took)
						return nil
					}, worker.Options[int, int]{Concurrency: 64})
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					others := 0.0
					for _, cost := range served[1:] {
						others += cost
					}
					got := served[0] / (others / 10)
					t.Logf("%s, quantum %d, %s: %.3f", name, quantum, x.name, got)
					if got < 0.95*x.want || got > 1.05*x.want {
						t.Errorf("%s, quantum %d, %s: %.3f of what the others get, want %.1f", name, quantum, x.name, got, x.want)
					}
				})
			}
		}
	}
}

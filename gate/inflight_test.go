package gate

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/internal/proof/race"
)

// Weights and costs hold with MaxInFlightPerTenant, however many permits a turn has: gold
// next to ten others, 64 slots, at most 32 for each, all with calls that wait.
func TestWeightsInFlight(t *testing.T) {
	race.OneGoroutine(t)
	for _, quantum := range []int64{1, 8, 16, 100} {
		for _, x := range []struct {
			name         string
			weight, cost int64
			want         float64
		}{{"weight 4", 4, 1, 4}, {"cost 50", 1, 50, 1}} {
			synctest.Test(t, func(t *testing.T) {
				g := New[string](64, Config[string]{MaxInFlightPerTenant: 32, QuantumFor: func(tenant string) int64 {
					if tenant == "gold" {
						return x.weight * quantum
					}
					return quantum
				}})
				served := serveAll(t, g, 40, time.Duration(20_000+500*quantum)*10*time.Millisecond/64, x.cost)
				others := int64(0)
				for i := range 10 {
					others += served[fmt.Sprint("plain", i)]
				}
				got := float64(served["gold"]*x.cost) / (float64(others) / 10)
				t.Logf("quantum %d, %s: %.3f", quantum, x.name, got)
				if got < 0.95*x.want || got > 1.05*x.want {
					t.Errorf("quantum %d, %s: %.3f of what the others get, want %.1f", quantum, x.name, got, x.want)
				}
				intact(t, g)
			})
		}
	}
}

// serveAll lets gold and ten others take permits for a while, with the given number of goroutines each,
// and returns how many each got. In a bubble.
func serveAll(t *testing.T, g *Gate[string], callers int, while time.Duration, cost int64) map[string]int64 {
	t.Helper()
	end := time.Now().Add(while)
	counts := map[string]*atomic.Int64{}
	begin := make(chan struct{})
	call := func(tenant string, cost int64, seed uint64, count *atomic.Int64) {
		r := rand.New(rand.NewPCG(seed, 11))
		<-begin
		for {
			p, err := g.Acquire(background, tenant, Request{Cost: cost})
			if err != nil {
				t.Errorf("%s: %v", tenant, err)
				return
			}
			if !time.Now().Before(end) {
				p.Release()
				return
			}
			count.Add(1)
			time.Sleep(time.Duration((0.5 + r.Float64()) * float64(10*time.Millisecond)))
			p.Release()
		}
	}
	for i := -1; i < 10; i++ {
		tenant, c := "gold", cost
		if i >= 0 {
			tenant, c = fmt.Sprint("plain", i), 1
		}
		counts[tenant] = new(atomic.Int64)
		for j := range callers {
			go call(tenant, c, uint64(100*i+j), counts[tenant])
		}
	}
	var held []Permit[string]
	for i := range 64 {
		held = append(held, must(t, g, fmt.Sprint("before", i)))
	}
	close(begin)
	synctest.Wait() // all wait: else the first to come would have what is free
	for i := range held {
		held[i].Release()
	}
	time.Sleep(while + time.Minute)
	synctest.Wait()
	served := map[string]int64{}
	for tenant, n := range counts {
		served[tenant] = n.Load()
	}
	return served
}

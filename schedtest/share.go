package schedtest

import (
	"fmt"
	"math"
	"testing"
)

// A tenant that is backlogged gets work in proportion to its quantum, whatever its costs.
var shareChecks = []check{
	{name: "quanta 100 to 1 give 100 to 1", run: shareQuanta},
	{name: "quanta 10 to 1 give 10 to 1", run: shareQuanta10},
	{name: "costs 1 and 100 get equal work", run: shareCosts},
	{name: "a tenant that asks for more gets no more", run: shareGreedy},
}

// serve dequeues n items and enqueues each task again, so that every tenant keeps its
// backlog. It returns the cost delivered to each tenant.
func serve(t *testing.T, s sched, n int) map[string]int64 {
	t.Helper()
	work := map[string]int64{}
	for range n {
		it := take(t, s)
		work[it.Tenant] += it.Cost
		admit(t, s, it.Tenant, task{Payload: it.Payload, Cost: it.Cost, Priority: it.Priority})
	}
	return work
}

// within fails unless a : b is ratio, give or take the fraction.
func within(t *testing.T, a, b int64, ratio, fraction float64) {
	t.Helper()
	if got := float64(a) / float64(b); math.Abs(got-ratio) > fraction*ratio {
		t.Fatalf("the work is %d to %d, a ratio of %.3f; want %.0f give or take %.0f %%", a, b, got, ratio, 100*fraction)
	}
}

func shareQuanta(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	s.SetQuantum("gold", 100)
	load(t, s, "gold", 500)
	load(t, s, "free", 500)
	work := serve(t, s, 101*50)
	within(t, work["gold"], work["free"], 100, 0.05)
}

func shareQuanta10(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, QuantumFor: func(tenant string) int64 {
		return map[string]int64{"gold": 1000, "free": 100}[tenant]
	}})
	for i := range 100 {
		admit(t, s, "gold", task{Payload: i, Cost: 70})
		admit(t, s, "free", task{Payload: i, Cost: 30})
	}
	work := serve(t, s, 10_000)
	within(t, work["gold"], work["free"], 10, 0.05)
}

func shareCosts(t *testing.T, newSched maker) {
	for _, quantum := range []int64{1, 10, 100} {
		s := open(t, newSched, config{Shards: 1, Quantum: quantum})
		for i := range 200 {
			admit(t, s, "cheap", task{Payload: i, Cost: 1})
			admit(t, s, "costly", task{Payload: i, Cost: 100})
		}
		work := serve(t, s, 101*50)
		within(t, work["costly"], work["cheap"], 1, 0.03)
	}
}

// shareGreedy: a tenant with more and costlier tasks, in one batch, gets no more than its share.
func shareGreedy(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 10})
	names := tenants(5)
	for i, name := range names {
		for range 100 {
			admit(t, s, name, task{Payload: i, Cost: int64(1 + 3*i)})
		}
	}
	greedy := make([]task, 20_000)
	for i := range greedy {
		greedy[i] = task{Payload: i, Cost: 19}
	}
	admitBatch(t, s, "greedy", greedy, len(greedy), nil)
	work := serve(t, s, 20_000)
	for _, name := range names {
		t.Run(fmt.Sprint(name), func(t *testing.T) { within(t, work["greedy"], work[name], 1, 0.03) })
	}
}

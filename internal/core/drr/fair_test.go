package drr

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
)

// serveBacklogged keeps every tenant backlogged with tasks of random cost up to
// its most, delivers n of them and returns which tenant got what cost, in order.
func serveBacklogged(t *testing.T, cfg Config, quanta, most []int64, n int) (who []int, cost []int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(quanta))))
	q, tenants := makeTenants(cfg, len(quanta), 1)
	push := func(key int) {
		task := plainTask(0, 1+r.Int64N(most[key]))
		task.Priority = firq.Priority(1 + r.IntN(levels))
		push(q, tenants[key], task)
	}
	for key, tenant := range tenants {
		tenant.SetQuantum(quanta[key])
		for range 3 {
			push(key)
		}
	}
	for range n {
		tenant, task := mustNext(t, q, 0)
		who, cost = append(who, tenant.Key), append(cost, task.Cost)
		push(tenant.Key)
	}
	return who, cost
}

func total(tenants int, who []int, cost []int64) []int64 {
	sums := make([]int64, tenants)
	for i, key := range who {
		sums[key] += cost[i]
	}
	return sums
}

func TestWeights(t *testing.T) {
	who, cost := serveBacklogged(t, Config{}, []int64{100, 1}, []int64{1, 1}, 10_100)
	if got := total(2, who, cost); got[0] != 10_000 || got[1] != 100 {
		t.Fatalf("quanta 100 and 1: served %v, want 10000 and 100", got)
	}
}

// TestEqualWork: a tenant with costly tasks gets the work of one with cheap tasks.
func TestEqualWork(t *testing.T) {
	for _, quantum := range []int64{1, 10, 100, 1000} {
		q, tenants := makeTenants(Config{}, 2, quantum)
		costs := []int64{1, 100}
		var work [2]int64
		for key, tenant := range tenants {
			push(q, tenant, plainTask(0, costs[key]))
			push(q, tenant, plainTask(0, costs[key]))
		}
		for work[0]+work[1] < 200_000 {
			tenant, task := mustNext(t, q, 0)
			work[tenant.Key] += task.Cost
			push(q, tenant, plainTask(0, task.Cost))
		}
		if gap := work[0] - work[1]; max(gap, -gap) > quantum+101 {
			t.Fatalf("quantum %d: costs 1 and 100 got work %v", quantum, work)
		}
	}
}

// TestBound looks at every interval of a service log: for no two tenants does the
// service by quantum differ by more than 1 + maxCost/q_i + maxCost/q_j, where
// maxCost may even be each tenant's own.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		name         string
		quanta, most []int64
	}{
		{"weights", []int64{100, 50, 1, 7, 30}, []int64{1, 1, 1, 1, 1}},
		{"costs", []int64{10, 10, 10, 10}, []int64{1, 10, 100, 1000}},
		{"both", []int64{1, 3, 20, 500, 90, 2}, []int64{50, 7, 300, 1, 40, 99}},
		{"small quanta", []int64{1, 2, 3}, []int64{100_000, 100_000, 3}},
	} {
		for _, cfg := range []Config{{}, {Order: firq.LIFO}, {NewFirst: true}} {
			who, cost := serveBacklogged(t, cfg, c.quanta, c.most, 20_000)
			for i, qi := range c.quanta {
				for j, qj := range c.quanta[:i] {
					bound := 1 + float64(c.most[i])/float64(qi) + float64(c.most[j])/float64(qj)
					if worst := widest(who, cost, i, j, float64(qi), float64(qj)); worst > bound+1e-6 {
						t.Errorf("%s, %+v: tenants %d and %d are %v apart, bound %v", c.name, cfg, i, j, worst, bound)
					}
				}
			}
		}
	}
}

// widest returns the maximum of |S_i/q_i - S_j/q_j| over all intervals: the range
// of the running difference.
func widest(who []int, cost []int64, i, j int, qi, qj float64) float64 {
	var d, low, high float64
	for n, key := range who {
		switch key {
		case i:
			d += float64(cost[n]) / qi
		case j:
			d -= float64(cost[n]) / qj
		}
		low, high = min(low, d), max(high, d)
	}
	return high - low
}

// TestHugeCosts: whatever a task costs, it is delivered immediately, and the numbers
// stay in their range.
func TestHugeCosts(t *testing.T) {
	q, tenants := makeTenants(Config{}, 3, 1)
	push(q, tenants[0], plainTask(1, 1e12))
	if _, task, verdict := q.Next(0); verdict != Delivered || task.Cost != 1e12 {
		t.Fatalf("verdict %d, cost %d", verdict, task.Cost)
	}
	if clock := q.lists[0].clock(); clock < 1e12-2 || clock > 1e12 {
		t.Fatalf("%d rounds have passed, want about 1e12", clock)
	}
	last := q.Round()
	for i := range 1000 {
		if i == 500 { // until here two deliveries are worth 1<<64 rounds
			tenants[2].SetQuantum(math.MaxInt64)
		}
		for _, tenant := range tenants {
			if tenant.Len() == 0 {
				push(q, tenant, plainTask(i, math.MaxInt64))
			}
		}
		if _, _, verdict := q.Next(0); verdict != Delivered {
			t.Fatalf("delivery %d: verdict %d", i, verdict)
		}
		if Apart(q.Round(), last) < 0 {
			t.Fatalf("delivery %d: from round %d to %d", i, last, q.Round())
		}
		last = q.Round()
		if err := invariants(q, tenants); err != nil {
			t.Fatalf("delivery %d: %v", i, err)
		}
	}
}

// TestSaturation: debts and credits of any size neither overflow nor get lost.
func TestSaturation(t *testing.T) {
	q, tenants := makeTenants(Config{}, 2, 1)
	a, b := tenants[0], tenants[1]
	for range 5 {
		q.Charge(a, firq.PriorityNormal, math.MaxInt64)
		if a.seat.deficit != -maxDebt {
			t.Fatalf("debt %d, want %d", a.seat.deficit, int64(-maxDebt))
		}
	}
	push(q, a, plainTask(1, math.MaxInt64))
	if _, task, verdict := q.Next(0); verdict != Delivered || task.Payload != 1 {
		t.Fatalf("in debt: verdict %d", verdict)
	}
	// While a waits for its task, b saves up nearly as much.
	push(q, a, plainTask(2, math.MaxInt64-1))
	push(q, b, plainTask(3, math.MaxInt64))
	if _, task := mustNext(t, q, 0); task.Payload != 2 {
		t.Fatalf("delivered %d, want 2", task.Payload)
	}
	before := b.seat.deficit
	if before < math.MaxInt64-3 {
		t.Fatalf("b has %d", before)
	}
	q.Charge(b, firq.PriorityNormal, -math.MaxInt64)
	if b.seat.deficit != before {
		t.Fatalf("a credit moved the deficit from %d to %d", before, b.seat.deficit)
	}
	q.Charge(b, firq.PriorityNormal, 5)
	if b.seat.deficit != before-5 {
		t.Fatalf("a charge of 5 moved the deficit from %d to %d", before, b.seat.deficit)
	}
	b.SetQuantum(math.MaxInt64)
	if got := addSaturated(before, b.Quantum()); got != math.MaxInt64 {
		t.Fatalf("%d + %d = %d", before, b.Quantum(), got)
	}
	if _, task := mustNext(t, q, 0); task.Payload != 3 || b.seat.deficit < 0 {
		t.Fatalf("delivered %d, deficit %d", task.Payload, b.seat.deficit)
	}
	for range 5 {
		push(q, b, plainTask(4, 1))
		q.Charge(b, firq.PriorityNormal, math.MinInt64)
	}
	if b.seat.deficit > math.MaxInt64-maxQuantum {
		t.Fatalf("credit %d leaves no room for a quantum", b.seat.deficit)
	}
}

// TestChargeShares: with costs that are corrected afterwards, each tenant gets its
// share of the actual cost.
func TestChargeShares(t *testing.T) {
	q, tenants := makeTenants(Config{}, 2, 10)
	var actual [2]int64
	for range 10_000 {
		for _, tenant := range tenants {
			for tenant.Len() < 2 {
				push(q, tenant, plainTask(0, 5))
			}
		}
		tenant, _ := mustNext(t, q, 0)
		delta := []int64{-4, 20}[tenant.Key]
		q.Charge(tenant, firq.PriorityNormal, delta)
		actual[tenant.Key] += 5 + delta
	}
	if gap := actual[0] - actual[1]; max(gap, -gap) > 60 {
		t.Fatalf("actual costs %v", actual)
	}
}

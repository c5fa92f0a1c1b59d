package schedtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/firq-go/firq"
)

// The flows of a tenant share what the tenant gets (Task.Flow, Config.MaxFlows).
var flowChecks = []check{
	{name: "take turns, a quantum each", run: flowTurns},
	{name: "one user floods, another one trickles", run: sharded(flowFlood, 1, 4)},
	{name: "many users get their tenant no more", run: flowMany},
	{name: "the bound holds among flows and among tenants", run: flowBound},
	{name: "huge costs", run: flowHuge},
	{name: "more than may be queued apart", run: flowBeyond},
	{name: "one may be queued apart", run: flowOff},
	{name: "priorities come first", run: flowPriorities},
	{name: "newest first within a flow", run: flowNewest},
	{name: "charged to the flow", run: flowCharge},
	{name: "a debt survives an empty queue", run: flowDebt},
	{name: "a flow that floods evicts its own tasks", run: flowEvict},
	{name: "cancelled and expired fronts", run: flowGone},
	{name: "one in flight", run: flowInFlight},
	{name: "at each priority across tenants", run: flowAcross},
	{name: "first in, first out, with many producers", run: flowRace},
}

// flowLoad enqueues n tasks of a flow; their payloads are flow*100 + 1 and so on.
func flowLoad(t *testing.T, s sched, tenant string, flow, n int, cost int64) {
	t.Helper()
	for i := range n {
		admit(t, s, tenant, task{Payload: flow*100 + i + 1, Flow: uint64(flow), Cost: cost})
	}
}

func flowTurns(t *testing.T, newSched maker) {
	for _, x := range []struct {
		quantum int64
		want    string
	}{
		{1, "a101 a1 a201 a102 a2 a202 a103 a3 a203"},
		{2, "a101 a102 a1 a2 a201 a202 a103 a3 a203"},
		{9, "a101 a102 a103 a1 a2 a3 a201 a202 a203"},
	} {
		s := open(t, newSched, config{Shards: 1, Quantum: x.quantum})
		for _, flow := range []int{1, 0, 2} {
			flowLoad(t, s, "a", flow, 3, 1)
		}
		same(t, fmt.Sprint("quantum ", x.quantum), drain(t, s), x.want)
	}
	s := open(t, newSched, config{Shards: 1})
	flowLoad(t, s, "a", 1, 2, 3)
	flowLoad(t, s, "a", 2, 6, 1)
	same(t, "costs 3 and 1", drain(t, s), "a201 a202 a101 a203 a204 a205 a102 a206")

	s = open(t, newSched, config{Shards: 1})
	flowLoad(t, s, "a", 1, 2, 1)
	flowLoad(t, s, "a", 2, 2, 1)
	flowLoad(t, s, "b", 0, 4, 1)
	admit(t, s, "a", task{Payload: 7, Flow: math.MaxUint64})
	same(t, "beside another tenant", drain(t, s), "a101 b1 a201 b2 a7 b3 a102 b4 a202")
	load(t, s, "a", 1)
	if it := take(t, s); it.Flow != 0 {
		t.Errorf("the item says flow %d, want 0", it.Flow)
	}
	admit(t, s, "a", task{Flow: 1 << 63})
	if it := take(t, s); it.Flow != 1<<63 {
		t.Errorf("the item says flow %d, want 1<<63", it.Flow)
	}
}

// flowFlood: however many tasks others have queued, a user that sends one task at a time
// waits for at most one turn of each other flow.
func flowFlood(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, Quantum: 3})
	flowLoad(t, s, "a", 1, 3000, 1)
	flowLoad(t, s, "a", 2, 3000, 1)
	for i := range 300 {
		admit(t, s, "a", task{Payload: -i - 1, Flow: 3})
		for served := 0; take(t, s).Payload != -i-1; served++ {
			if served == 2*3 {
				t.Fatalf("task %d of the quiet flow waited for more than a turn of each other flow", i)
			}
		}
	}
}

// flowMany: a tenant with a thousand users gets what one with a single user gets.
func flowMany(t *testing.T, newSched maker) {
	for _, most := range []int{0, 1, 2, 1000} {
		for _, shards := range []int{1, 4} {
			s := open(t, newSched, config{Shards: shards, MaxFlows: most, Quantum: 5})
			for i := range 1000 {
				admit(t, s, "many", task{Flow: uint64(i), Cost: int64(1 + i%7)})
				admit(t, s, "many", task{Flow: uint64(i), Cost: int64(1 + i%7)})
				admit(t, s, "one", task{Flow: 1, Cost: int64(1 + i%7)})
				admit(t, s, "one", task{Flow: 1, Cost: int64(1 + i%7)})
			}
			work := map[string]int64{}
			for range 1500 {
				it := take(t, s)
				work[it.Tenant] += it.Cost
			}
			// 1 + 2*6/5 within a shard, 2 more across.
			if gap := work["many"] - work["one"]; max(gap, -gap) > 5*5+2*6 {
				t.Errorf("shards %d, at most %d apart: the work is %v", shards, most, work)
			}
		}
	}
}

// flowGauge measures by how many quanta any two parties come apart, over all intervals in
// which both have tasks.
type flowGauge struct {
	quantum, costliest, served []float64
	left                       []int
	low, high                  [][]float64
}

func newFlowGauge(parties int) *flowGauge {
	g := &flowGauge{
		quantum: make([]float64, parties), costliest: make([]float64, parties), served: make([]float64, parties),
		left: make([]int, parties), low: make([][]float64, parties), high: make([][]float64, parties),
	}
	for i := range parties {
		g.low[i], g.high[i] = make([]float64, parties), make([]float64, parties)
	}
	return g
}

func (g *flowGauge) add(i int, quantum, cost int64) {
	g.quantum[i] = float64(quantum)
	g.costliest[i] = max(g.costliest[i], float64(cost))
	g.left[i]++
}

// serve records a delivery, and says which bound it breaks, if any.
func (g *flowGauge) serve(i int, cost int64) string {
	g.served[i] += float64(cost) / g.quantum[i]
	defer func() { g.left[i]-- }()
	for j := range g.served {
		if j == i || g.left[j] == 0 {
			continue
		}
		d := g.served[i] - g.served[j]
		g.low[i][j], g.high[i][j] = min(g.low[i][j], d), max(g.high[i][j], d)
		g.low[j][i], g.high[j][i] = -g.high[i][j], -g.low[i][j]
		bound := 1 + (g.costliest[i]-1)/g.quantum[i] + (g.costliest[j]-1)/g.quantum[j]
		if gap := g.high[i][j] - g.low[i][j]; gap > bound*(1+1e-9)+1e-6 {
			return fmt.Sprintf("%d and %d are %.3f quanta apart, the bound is %.3f", i, j, gap, bound)
		}
	}
	return ""
}

// flowBound: over every interval, also after a history, any two backlogged flows of a
// tenant are within 1 + (C-1)/q + (C'-1)/q, and any two backlogged tenants within the
// bound of tenants, while flows come and go.
func flowBound(t *testing.T, newSched maker) {
	flowBoundOf(t, newSched, func(r *rand.Rand, flow int) int64 { return 1 + r.Int64N(1+10*int64(flow)) })
}

// flowHuge is flowBound for costs of all magnitudes.
func flowHuge(t *testing.T, newSched maker) {
	flowBoundOf(t, newSched, func(r *rand.Rand, flow int) int64 { return 1 + r.Int64N(1<<(1+r.IntN(1+7*flow%62))) })
}

func flowBoundOf(t *testing.T, newSched maker, cost func(r *rand.Rand, flow int) int64) {
	const nTenants, nFlows = 3, 9
	for seed := range uint64(reps(24)) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := open(t, newSched, config{Shards: 1})
		names := tenants(nTenants)
		if seed%3 > 0 {
			flowHistory(t, s, r, names)
		}
		among, all := make([]*flowGauge, nTenants), newFlowGauge(nTenants)
		quanta := make([]int64, nTenants)
		for i, name := range names {
			quanta[i] = 1 + r.Int64N(30)
			s.SetQuantum(name, quanta[i])
			among[i] = newFlowGauge(nFlows)
		}
		for range 1500 {
			i, flow := r.IntN(nTenants), r.IntN(nFlows)
			c := cost(r, flow)
			among[i].add(flow, quanta[i], c)
			all.add(i, quanta[i], c)
			admit(t, s, names[i], task{Payload: i, Flow: uint64(flow), Cost: c})
		}
		for n := 0; s.Len() > 0; n++ {
			it := take(t, s)
			if wrong := among[it.Payload].serve(int(it.Flow), it.Cost); wrong != "" {
				t.Fatalf("seed %d, task %d, flows of %s: %s", seed, n, it.Tenant, wrong)
			}
			if wrong := all.serve(it.Payload, it.Cost); wrong != "" {
				t.Fatalf("seed %d, task %d, tenants: %s", seed, n, wrong)
			}
		}
	}
}

// flowHistory has costly tasks of some flows served, with refunds.
func flowHistory(t *testing.T, s sched, r *rand.Rand, names []string) {
	t.Helper()
	for i := range 60 {
		admit(t, s, names[r.IntN(len(names))], task{Flow: uint64(r.IntN(5)), Cost: 1 + r.Int64N(1<<(1+r.IntN(61)))})
		if i%3 == 2 {
			it := take(t, s)
			it.Charge(-r.Int64N(it.Cost))
		}
	}
	drain(t, s)
}

// flowBeyond: with more flows than MaxFlows, each flow stays first in, first out, also when
// it moves from a line that it shares to one for itself; and a flow with a line for itself
// gets the share of a line.
func flowBeyond(t *testing.T, newSched maker) {
	for seed := range uint64(reps(30)) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := open(t, newSched, config{Shards: 1, MaxFlows: 1 + int(seed%4), Quantum: 1 + r.Int64N(3)})
		var last, sent [12]int
		var tickets [50]firq.Ticket
		for i := range 4000 {
			if r.IntN(100) < 50+30*(i/500%2)-15 {
				flow := min(r.IntN(12), r.IntN(12))
				sent[flow]++
				tk := &tickets[i%50]
				tk.Cancel()
				admit(t, s, "a", task{Payload: sent[flow], Flow: uint64(flow), Cost: 1 + r.Int64N(4), Ticket: tk})
			} else if it, ok := s.TryDequeue(); ok {
				if it.Payload <= last[it.Flow] {
					t.Fatalf("seed %d: task %d of flow %d came after task %d", seed, it.Payload, it.Flow, last[it.Flow])
				}
				if last[it.Flow] = it.Payload; r.IntN(10) == 0 {
					it.Charge(r.Int64N(30) - 10)
				}
			}
		}
		drain(t, s)
	}
	s := open(t, newSched, config{Shards: 1, MaxFlows: 2})
	flowLoad(t, s, "a", 1, 50, 1)
	flowLoad(t, s, "a", 2, 50, 1)
	for flow := 3; flow < 10; flow++ {
		flowLoad(t, s, "a", flow, 10, 1) // behind 1 or 2
	}
	var of [10]int
	for range 100 {
		of[take(t, s).Flow]++
	}
	if of[1] != 50 || of[2] != 50 {
		t.Errorf("of the first hundred, %v are of flows 0 to 9; want 50 of each that is queued apart", of)
	}
}

func flowOff(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxFlows: 1})
	var want []string
	for i := range 30 {
		admit(t, s, "a", task{Payload: i, Flow: uint64(i % 3), Cost: int64(1 + i%5)})
		want = append(want, fmt.Sprint("a", i))
	}
	it := take(t, s)
	it.Charge(100)
	same(t, "in order", show(it)+" "+drain(t, s), strings.Join(want, " "))
}

func flowPriorities(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	for i := range 2 {
		for _, p := range []firq.Priority{firq.PriorityLow, firq.PriorityHigh} {
			for flow := range 2 {
				admit(t, s, "a", task{Payload: int(p)*100 + flow*10 + i, Flow: uint64(flow), Priority: p})
			}
		}
	}
	same(t, "within a priority", drain(t, s), "a400 a410 a401 a411 a200 a210 a201 a211")
}

func flowNewest(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Order: firq.LIFO, Quantum: 2})
	flowLoad(t, s, "a", 1, 4, 1)
	flowLoad(t, s, "a", 2, 4, 1)
	same(t, "newest first", drain(t, s), "a104 a103 a204 a203 a102 a101 a202 a201")
}

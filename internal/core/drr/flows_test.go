package drr

import (
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
)

func flowTask(payload int, flow uint64, cost int64) Task[int] {
	task := plainTask(payload, cost)
	task.Flow = flow
	return task
}

// TestFlowsUseNothing: a tenant of which all queued tasks are of one flow has no round
// robin of flows, and one that had several gives it back.
func TestFlowsUseNothing(t *testing.T) {
	q, tenants := makeTenants(Config{MaxFlows: 64}, 1, 1)
	a := tenants[0]
	for i := range 10 {
		push(q, a, flowTask(i, 0, 1))
	}
	if a.more != nil || a.seat.flowed {
		t.Fatal("flow 0 alone takes memory")
	}
	push(q, a, flowTask(10, 7, 1))
	if a.seat.split != 1<<normalLevel || len(a.more.flows[normalLevel].open) != 2 {
		t.Fatalf("split is %b after a second flow", a.seat.split)
	}
	for range 11 {
		mustNext(t, q, 0)
	}
	if a.seat.split != 0 || a.more.flows[normalLevel] != nil || len(q.flowSets.free) != 1 || len(q.flowRecords.free) != 2 {
		t.Fatalf("split is %b, %d sets and %d flows are free", a.seat.split, len(q.flowSets.free), len(q.flowRecords.free))
	}
	for i := range 10 {
		push(q, a, flowTask(i, 7, 1))
	}
	if a.seat.split != 0 {
		t.Fatal("one flow alone is split")
	}
}

// TestFlowsAllocate: what flows need is used again, and what is kept is bounded.
func TestFlowsAllocate(t *testing.T) {
	q, tenants := makeTenants(Config{MaxFlows: 16}, 8, 2)
	step := uint64(0)
	round := func() {
		for i := range uint64(64) {
			task := flowTask(0, i/8+step%3, int64(1+i%3))
			q.Push(tenants[i%8], &task)
		}
		for range 64 {
			mustNext(t, q, 0)
		}
		step++
	}
	for range 20 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations per 64 tasks", n)
	}
	for i := range 3 * keepFlows {
		push(q, tenants[0], flowTask(i, uint64(i), 1))
	}
	for range 3 * keepFlows {
		mustNext(t, q, 0)
	}
	if n := len(q.flowRecords.free); n > keepFlows {
		t.Errorf("%d free flows are kept, want at most %d", n, keepFlows)
	}
	if x := q.flowSets.free[len(q.flowSets.free)-1]; len(x.table) > keepTable {
		t.Errorf("a table of %d buckets is kept", len(x.table))
	}
}

// TestFlowsKeepFront: while the seats wait for the round in which a seat can pay, no
// task of another flow changes that round, nor what is served in it.
func TestFlowsKeepFront(t *testing.T) {
	for _, before := range []bool{false, true} { // was there a second flow beforehand
		q, tenants := makeTenants(Config{MaxFlows: 8}, 2, 1)
		a, b := tenants[0], tenants[1]
		push(q, a, flowTask(1, 1, 100))
		if before {
			push(q, a, flowTask(2, 2, 200))
		}
		push(q, b, plainTask(3, 150))
		if _, _, v := within(q, 0, q.Round()+5); v != Ahead {
			t.Fatalf("verdict %d, want %d", v, Ahead)
		}
		tag := q.Tag()
		for i := range 5 {
			push(q, a, flowTask(10+i, uint64(10+i), 1))
			q.ChargeFlow(a, firq.PriorityNormal, 1, 3)
			q.ChargeFlow(a, firq.PriorityNormal, uint64(10+i), 2)
		}
		if q.Tag() != tag || !q.Waiting() {
			t.Errorf("second flow before: %v: the tag went from %d to %d", before, tag, q.Tag())
		}
		if tn, task := mustNext(t, q, 0); tn != a || task.Payload != 1 {
			t.Errorf("second flow before: %v: delivered %d of tenant %d, want 1 of 0", before, task.Payload, tn.Key)
		}
	}
}

// payloadInFront returns what is in the entry that a tenant would deliver next.
func payloadInFront(q *Queue[int, int], t *Tenant[int, int]) int {
	_, e := q.front(&t.seat, 0)
	return e.payload
}

// TestFlowsLookAgain: where a charge makes the task of another flow the front, and that
// is cheaper, the seats do not go on waiting.
func TestFlowsLookAgain(t *testing.T) {
	q, tenants := makeTenants(Config{Order: firq.LIFO, MaxFlows: 8}, 2, 1)
	a := tenants[0]
	push(q, a, flowTask(1, 1, 100))
	for range 60 {
		push(q, a, flowTask(2, 2, 5))
		push(q, tenants[1], plainTask(3, 150))
	}
	for payloadInFront(q, a) != 1 {
		mustNext(t, q, 0)
	}
	if _, _, v := within(q, 0, q.Round()+1); v != Ahead || q.Tag() < q.Round()+50 {
		t.Fatalf("verdict %d, tag %d in round %d: this test shows nothing", v, q.Tag(), q.Round())
	}
	q.ChargeFlow(a, firq.PriorityNormal, 1, 1)
	if payloadInFront(q, a) != 2 {
		t.Fatal("the front has not changed: this test shows nothing")
	}
	if q.Tag() > q.Round()+10 {
		t.Errorf("the tag is %d in round %d, with a task of cost 5 in front", q.Tag(), q.Round())
	}
}

// TestFlowHash: no two queues share in the same way, so that no client can choose flows
// that fall on each other.
func TestFlowHash(t *testing.T) {
	a, _ := makeTenants(Config{MaxFlows: 64}, 0, 1)
	b, _ := makeTenants(Config{MaxFlows: 64}, 0, 1)
	same := 0
	var spread [64]int
	for id := range uint64(6400) {
		if a.hash(id<<32)%64 == b.hash(id<<32)%64 {
			same++
		}
		spread[a.hash(id<<32)%64]++
	}
	if same > 300 {
		t.Errorf("two queues have %d of 6,400 flows in the same place", same)
	}
	for i, n := range spread {
		if n < 40 || n > 180 {
			t.Errorf("%d of 6,400 flows are in place %d of 64", n, i)
		}
	}
}

// TestFlowDebtors: no more debts are remembered than there may be lines.
func TestFlowDebtors(t *testing.T) {
	q, tenants := makeTenants(Config{MaxFlows: 4}, 1, 1)
	a := tenants[0]
	push(q, a, flowTask(0, 9, 1))
	for id := range uint64(100) {
		q.ChargeFlow(a, firq.PriorityNormal, 100+id, 1000)
	}
	x := a.more.flows[normalLevel]
	if x.owing != 4 || x.n != 5 || x.find(q.hash(199), 199) == nil || x.find(q.hash(195), 195) != nil {
		t.Fatalf("%d debtors, %d flows", x.owing, x.n)
	}
	// Of any number of rounds, even if the count of them comes round.
	for range 8 {
		push(q, a, flowTask(0, 9, 1<<61))
		mustNext(t, q, 0)
	}
	if err := invariants(q, tenants); err != nil {
		t.Fatal(err)
	}
	for a.Len() > 0 {
		mustNext(t, q, 0)
	}
	if a.seat.split != 0 {
		t.Errorf("after 2^64 rounds %d are in debt", a.more.flows[normalLevel].owing)
	}
}

// TestFlowBound: flows come and go at random, with credits and debts, at costs of all
// magnitudes; over each interval in which two flows have tasks throughout, they are
// within the bound.
func TestFlowBound(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 9))
		quantum := 1 + r.Int64N(20)
		q, tenants := makeTenants(Config{MaxFlows: 64}, 2, quantum)
		const flows = 6
		var queued [flows]int
		var costliest, served [flows]float64
		var low, high [flows][flows]float64
		add := func(flow int) {
			cost := 1 + r.Int64N(1<<(1+r.IntN(1+flow*8)))
			push(q, tenants[0], flowTask(flow, uint64(flow), cost))
			queued[flow]++
			if queued[flow] == 1 { // its intervals begin
				costliest[flow] = 0
				for j := range flows {
					d := served[flow] - served[j]
					low[flow][j], high[flow][j], low[j][flow], high[j][flow] = d, d, -d, -d
				}
			}
			costliest[flow] = max(costliest[flow], float64(cost))
		}
		for step := range 6000 {
			if push(q, tenants[1], plainTask(-1, 1+r.Int64N(10))); r.IntN(3) > 0 || step < 50 {
				add(r.IntN(flows))
			}
			for n := r.IntN(4); n > 0 && q.Len() > 0; n-- {
				_, task := mustNext(t, q, 0)
				i := task.Payload
				if i < 0 || queued[i] == 0 {
					continue
				}
				served[i] += float64(task.Cost) / float64(quantum)
				for j := range flows {
					if j == i || queued[j] == 0 {
						continue
					}
					d := served[i] - served[j]
					low[i][j], high[i][j] = min(low[i][j], d), max(high[i][j], d)
					low[j][i], high[j][i] = -high[i][j], -low[i][j]
					bound := 1 + (costliest[i]-1+costliest[j]-1)/float64(quantum)
					if gap := high[i][j] - low[i][j]; gap > bound*(1+1e-9)+1e-3 {
						t.Fatalf("seed %d, step %d: flows %d and %d are %v quanta apart, the bound is %v", seed, step, i, j, gap, bound)
					}
				}
				queued[i]--
			}
		}
	}
}

// To look which task is next says what choose will choose, and changes nothing.
func TestForesee(t *testing.T) {
	for seed := range uint64(300) {
		w := newTwin(int(seed%3)+3*2*2*2*1, 3, randomOps(seed, 600)) // flows, in each order
		if w.q.cfg.MaxFlows == 0 {
			t.Fatal("no flows")
		}
		for w.done < len(w.ops) {
			if err := operationOf(w.next("operation", operationWeights)).do(w); err != nil {
				t.Fatal(err)
			}
			if err := w.compare(); err != nil {
				t.Fatal(err)
			}
			for _, x := range w.tenants {
				foreseen := w.q.look(&x.seat, w.now)
				if err := w.compare(); err != nil {
					t.Fatalf("seed %d: a look has changed something: %v", seed, err)
				}
				if w.next("choose", 4) == 0 { // it changes turns, so not each time
					if chosen, _ := w.q.front(&x.seat, w.now); chosen != foreseen {
						t.Fatalf("seed %d: foreseen %+v, chosen %+v", seed, foreseen, chosen)
					}
					w.m.front(w.m.tenants[x.Key].seats[0], w.now)
				}
			}
		}
	}
}

// A flow that comes back when no other has a task has its turn in this round, which does not
// pay off its debt as well.
func TestFlowThatComesBackAlone(t *testing.T) {
	for _, others := range []bool{false, true} {
		x := &flows[int, int]{round: 7}
		f := &flow[int, int]{deficit: -10, since: 5}
		x.debtors.push(f)
		x.owing = 1
		want := int64(-10 + 2*3)
		if others {
			x.lines.push(&flow[int, int]{})
		} else {
			want = -10 + 3
		}
		if x.comeBack(f, 3); f.deficit != want || x.owing != 0 {
			t.Errorf("others %t: owes %d, want %d; %d owe", others, -f.deficit, -want, x.owing)
		}
	}
}

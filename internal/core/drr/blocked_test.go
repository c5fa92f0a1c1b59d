package drr

import (
	"container/heap"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// party is what a simulated tenant has. It always has tasks queued.
type party struct{ quantum, cost, limit int64 }

// ends are deliveries in progress, the first to end first.
type ends []struct{ at, seq, tenant int64 }

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(struct{ at, seq, tenant int64 })) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// serves simulates that many slots, in which a task takes a random time, and returns what
// cost each tenant was served.
func serves(t *testing.T, cfg Config, parties []party, slots, deliveries int) (served []float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	q := New[int, int](cfg, idleHost{})
	ts := newTenants(len(parties), func(i int) int64 { return parties[i].quantum })
	served = make([]float64, len(parties))
	inFlight := make([]int64, len(parties))
	add := func(i int) {
		push(q, ts[i], costing(parties[i].cost))
	}
	for i := range parties {
		for range 3 {
			add(i)
		}
	}
	var running ends
	now := int64(0)
	for n := range deliveries {
		for len(running) == slots || q.Ready() == 0 {
			x := heap.Pop(&running).(struct{ at, seq, tenant int64 })
			now = x.at
			if inFlight[x.tenant]--; ts[x.tenant].Blocked() {
				q.Unblock(ts[x.tenant])
			}
		}
		x, task, v := q.Next(0)
		for v == Again {
			x, task, v = q.Next(0)
		}
		if v != Delivered {
			t.Fatalf("%d are ready, verdict %d", q.Ready(), v)
		}
		served[x.Key] += float64(task.Cost)
		add(x.Key)
		if inFlight[x.Key]++; inFlight[x.Key] == parties[x.Key].limit {
			q.Block(x)
		}
		took := int64(1000 * r.ExpFloat64())
		heap.Push(&running, struct{ at, seq, tenant int64 }{now + took, int64(n), int64(x.Key)})
	}
	return served
}

// share returns what the first party got, as a multiple of the others' average, and by
// how much the others differ.
func share(served []float64) (first, apart float64) {
	least, most, sum := served[1], served[1], 0.0
	for _, s := range served[1:] {
		least, most, sum = min(least, s), max(most, s), sum+s
	}
	mean := sum / float64(len(served)-1)
	return served[0] / mean, (most - least) / mean
}

// Weights and costs hold under in-flight limits, however many tasks a turn has. Where a
// limit binds, the others share the rest equally.
func TestSharesInFlight(t *testing.T) {
	race.OneGoroutine(t)
	others := func(first, other party) []party {
		all := []party{first}
		for range 10 {
			all = append(all, other)
		}
		return all
	}
	for _, quantum := range []int64{1, 8, 16, 100} {
		for _, x := range []struct {
			name    string
			parties []party
			want    float64
			apart   float64
		}{
			{"weight 4", others(party{4 * quantum, 1, 32}, party{quantum, 1, 32}), 4, 0.03},
			{"cost 50", others(party{quantum, 50, 32}, party{quantum, 1, 32}), 1, 0.03},
			{"weight 10, and 16 in flight", others(party{10 * quantum, 1, 16}, party{quantum, 1, 32}), 16.0 / 48 * 10, 0.03},
			{"limits of one", others(party{4 * quantum, 1, 1}, party{quantum, 1, 1}), 1, 0.15}, // tasks take random times
		} {
			for _, cfg := range []Config{{}, {NewFirst: true}, {Order: firq.LIFO}, {Across: true}} {
				if race.Enabled && (cfg.Across || cfg.Order != firq.FIFO) {
					continue
				}
				first, apart := share(serves(t, cfg, x.parties, 64, 20_000+600*int(quantum)))
				t.Logf("quantum %d, %s, %+v: %.3f, the others differ by %.2f %%", quantum, x.name, cfg, first, 100*apart)
				if first < 0.95*x.want || first > 1.05*x.want || apart > x.apart {
					t.Errorf("quantum %d, %s, %+v: %.3f of what others get, want %.3f; those differ by %.1f %%",
						quantum, x.name, cfg, first, x.want, 100*apart)
				}
			}
		}
	}
}

// A blocked tenant costs nothing, however many there are: a call visits those that can be
// served.
func TestBlockedAreNotVisited(t *testing.T) {
	const crowd = 100_000
	q := New[int, int](Config{}, idleHost{})
	ts := newTenants(crowd+1, func(int) int64 { return 1 })
	for i, x := range ts {
		if i > 0 {
			q.Block(x)
		}
		push(q, x, costing(1))
	}
	for i := range 3 * stepBudget {
		x, _, v := q.Next(0)
		if v != Delivered || x.Key != 0 {
			t.Fatalf("call %d: verdict %d, want a task of the only one that is not blocked", i, v)
		}
		push(q, x, costing(1))
	}
}

// However long a tenant has been blocked, and whatever its quantum and its task's cost, its
// deficit is what a queue that gives it turns would have: at most what keeps says.
func TestEarnsWithinBounds(t *testing.T) {
	for _, quantum := range []int64{1, 3, 1 << 40, maxQuantum} {
		for _, cost := range []int64{1, 7, 1 << 50, 1<<63 - 1 - maxQuantum} {
			for _, rounds := range []uint64{0, 1, 2, 5, 1 << 62} {
				q, tenants := makeTenants(Config{}, 1, quantum)
				a := tenants[0]
				q.Block(a)
				push(q, a, plainTask(1, cost))
				q.SetRound(rounds)
				q.Unblock(a)
				q.bring(&a.seat)
				q64, c64 := big.NewInt(quantum), big.NewInt(cost)
				want := new(big.Int).Add(q64, c64) // q + max(q, cost), as an int64
				if quantum > cost {
					want.Add(q64, q64)
				}
				for _, bound := range []*big.Int{big.NewInt(math.MaxInt64), new(big.Int).Mul(new(big.Int).SetUint64(rounds), q64)} {
					if want.Cmp(bound) > 0 {
						want = bound
					}
				}
				if got := big.NewInt(a.seat.deficit); got.Cmp(want) != 0 {
					t.Errorf("quantum %d, cost %d, %d rounds: has %v, want %v", quantum, cost, rounds, got, want)
				}
			}
		}
	}
}

// The rounds in which a tenant was blocked pay off its debt, also if its task is gone once it may
// go on, and new ones go first, so that it goes through the list before it leaves.
func TestDebtOfFreed(t *testing.T) {
	q, tenants := makeTenants(Config{NewFirst: true}, 2, 1)
	a, b := tenants[0], tenants[1]
	push(q, a, plainTask(1, 1))
	q.Block(a)
	push(q, b, plainTask(2, 1))
	mustNext(t, q, 0) // b's, and a is parked
	q.Charge(a, firq.PriorityNormal, 3)
	q.AdvanceRound(q.Round() + 2)
	q.Unblock(a)
	q.Evict(a, firq.PriorityCritical, false)
	push(q, b, plainTask(3, 1))
	mustNext(t, q, 0)
	if a.seat.where == freed || a.seat.deficit != -1 {
		t.Errorf("place %d, deficit %d, want one that is not freed, and -1: a debt of 3, and two rounds", a.seat.where, a.seat.deficit)
	}
}

// What a blocked tenant keeps for its next task is what is left after a charge, not nothing.
func TestChargeOfBlocked(t *testing.T) {
	q, tenants := makeTenants(Config{}, 2, 4)
	a := tenants[0]
	push(q, a, plainTask(1, 1))
	push(q, a, plainTask(2, 1))
	mustNext(t, q, 0)
	q.Block(a)
	push(q, tenants[1], plainTask(3, 1))
	mustNext(t, q, 1) // and a is parked, with 3
	q.Unblock(a)
	mustNext(t, q, 0) // with 2 left, and the round's quantum
	before := a.seat.deficit
	q.Block(a)
	q.Charge(a, firq.PriorityNormal, 1)
	if before < 2 || a.seat.where != nowhere || a.seat.deficit != before-1 {
		t.Errorf("place %d, deficit %d after a charge of 1, want nowhere, and 1 less than %d", a.seat.where, a.seat.deficit, before)
	}
}

// A list that waits for a far round looks again once a tenant is not blocked any more: its
// front may be a cheaper task, which came while it was.
func TestUnblockLooksAgain(t *testing.T) {
	q, tenants := makeTenants(Config{}, 1, 1)
	a := tenants[0]
	push(q, a, plainTask(1, 9))
	var payload int
	if _, v := q.NextWithin(0, q.Round(), &payload, new(Head)); v != Ahead || !q.Waiting() {
		t.Fatalf("verdict %d, waiting %t, want to wait", v, q.Waiting())
	}
	q.Block(a)
	push(q, a, Task[int]{Payload: 2, Cost: 1, Due: NoDeadline, Priority: firq.PriorityHigh})
	if q.Unblock(a); q.Waiting() {
		t.Errorf("it waits until round %d in round %d, and its front can be paid", q.Tag(), q.Round())
	}
}

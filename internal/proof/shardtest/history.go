package shardtest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/fairness"
)

// after is build for a scheduler that has gone through a history, with tenants that
// no test has.
func after(h fairness.History, build Maker) Maker {
	return func(cfg firq.Config[int, int]) (sched, func(int) int, error) {
		s, shardOf, err := build(cfg)
		if err == nil {
			err = fairness.Live(s, h, func(tenant int) int { return -1 - tenant })
		}
		return s, shardOf, err
	}
}

// Whatever has been before, tenants that are backlogged get equal shares, wherever
// they live: theorem 2 from when each has had its first turn, and one more before that,
// as each came while others were backlogged.
func equalShares(t *testing.T, build Maker) {
	for _, shards := range []int{2, 8} {
		s, shardOf, err := build(firq.Config[int, int]{Shards: shards})
		if err != nil {
			t.Fatal(err)
		}
		for tenant := range 16 {
			enqueue(t, s, tenant, 2000, 1)
		}
		first := dequeue(t, s, 160)
		if len(first) < 16 {
			t.Errorf("%d shards: the first 160 items are of %d tenants, want 16", shards, len(first))
		}
		rest := dequeue(t, s, 8000)
		for a := range 16 {
			for b := range a {
				bound, newcomer := 1, 0
				if shardOf(a) != shardOf(b) {
					bound, newcomer = 3, 1
				}
				apart := rest[a] - rest[b]
				all := apart + first[a] - first[b]
				if max(apart, -apart) > bound || max(all, -all) > bound+newcomer {
					t.Errorf("%d shards: tenant %d on shard %d got %d, and %d before, and tenant %d on shard %d got %d, and %d before: the bound is %d apart",
						shards, a, shardOf(a), rest[a], first[a], b, shardOf(b), rest[b], first[b], bound)
				}
			}
		}
	}
}

// Theorems 1 and 2 for any costs and quanta, of all magnitudes at the same time, and
// tenants that come while others wait for far rounds.
func anyCosts(t *testing.T, build Maker) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, shardOf, err := build(firq.Config[int, int]{Shards: 2})
		if err != nil {
			t.Fatal(err)
		}
		tenants := make([]payer, 8)
		for i := range tenants {
			tenants[i] = newPayer(r, shardOf(i))
			s.SetQuantum(i, tenants[i].quantum)
		}
		admit := func(who func(i int) bool) {
			for i, p := range tenants {
				for _, cost := range p.costs {
					if who(i) {
						enqueue(t, s, i, 1, cost)
					}
				}
			}
		}
		late := len(tenants) - int(seed%4)
		admit(func(i int) bool { return i < late })
		took := r.IntN(60)
		log := deliveries(t, s, took)
		admit(func(i int) bool { return i >= late })
		checkPairs(t, seed, tenants[:late], append(log, deliveries(t, s, s.Len())...))
		if t.Failed() {
			return
		}
	}
}

// payer is a tenant with costs and a quantum of some magnitude.
type payer struct {
	shard     int
	quantum   int64
	expensive int64
	costs     []int64
}

func newPayer(r *rand.Rand, shard int) payer {
	p := payer{shard: shard, quantum: 1 + r.Int64N(1<<r.IntN(40))}
	bits := 1 + r.IntN(63)
	for range 40 {
		cost := 1 + r.Int64N(1<<bits-1)
		if r.IntN(8) == 0 {
			cost = math.MaxInt64
		}
		cost = min(cost, math.MaxInt64-p.quantum) // a deficit is one quantum more than a cost at most
		p.costs = append(p.costs, cost)
		p.expensive = max(p.expensive, cost)
	}
	return p
}

func deliveries(t *testing.T, s sched, n int) (who []int) {
	t.Helper()
	for range n {
		it, ok := s.TryDequeue()
		if !ok {
			t.Fatal("nothing is delivered")
		}
		who = append(who, it.Tenant)
	}
	return who
}

// checkPairs holds every pair against its bound, over all intervals in which both were
// backlogged, in whole numbers of any size.
func checkPairs(t *testing.T, seed uint64, tenants []payer, log []int) {
	t.Helper()
	for i, a := range tenants {
		for j, b := range tenants[:i] {
			qa, qb := big.NewInt(a.quantum), big.NewInt(b.quantum)
			d, low, high := new(big.Int), new(big.Int), new(big.Int)
			next := [2]int{}
			for _, who := range log {
				p, k, sign := a, 0, qb
				if who == j {
					p, k, sign = b, 1, new(big.Int).Neg(qa)
				} else if who != i {
					continue
				}
				d.Add(d, new(big.Int).Mul(big.NewInt(p.costs[next[k]]), sign))
				if d.Cmp(low) < 0 {
					low.Set(d)
				}
				if d.Cmp(high) > 0 {
					high.Set(d)
				}
				if next[k]++; next[k] == len(p.costs) {
					break // not backlogged any more
				}
			}
			turns := int64(1)
			if a.shard != b.shard {
				turns = 3
			}
			bound := new(big.Int).Mul(big.NewInt(turns), new(big.Int).Mul(qa, qb))
			bound.Add(bound, new(big.Int).Mul(big.NewInt(a.expensive-1), qb))
			bound.Add(bound, new(big.Int).Mul(big.NewInt(b.expensive-1), qa))
			if gap := new(big.Int).Sub(high, low); gap.Cmp(bound) > 0 {
				t.Errorf("seed %d: tenants %d and %d (shards %d, %d; quanta %d, %d) are %v apart, times their quanta; the bound is %v",
					seed, i, j, a.shard, b.shard, a.quantum, b.quantum, gap, bound)
			}
		}
	}
}

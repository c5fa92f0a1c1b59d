package schedtest

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The share of a tenant that reaches its limit again and again.

// inFlightTurn: a turn has as many tasks as without the limit. A tenant that Done unblocks
// goes first, and the turn that it interrupts goes on afterwards.
func inFlightTurn(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxInFlightPerTenant: 1, QuantumFor: func(name string) int64 {
		return map[string]int64{"a": 3, "b": 2, "c": 1}[name]
	}})
	for _, name := range []string{"a", "b", "c"} {
		load(t, s, name, 12)
	}
	var got []string
	for range 12 {
		it := take(t, s)
		it.Done()
		got = append(got, show(it))
	}
	same(t, "each Done before the next", strings.Join(got, " "), "a1 a2 a3 b1 b2 c1 a4 a5 a6 b3 b4 c2")
	a := take(t, s)
	b := take(t, s)
	a.Done()
	same(t, "a's turn has begun", show(a), "a7")
	same(t, "b's turn", show(b), "b5")
	same(t, "a goes before b, whose turn it is", next(t, s, 1), "a8")
	b.Done()
	same(t, "b's turn goes on", next(t, s, 1), "b6")
}

// inFlightEarns: the rounds that pass while a tenant is at its limit earn it at most two
// quanta, or one quantum more than its next task costs.
func inFlightEarns(t *testing.T, newSched maker) {
	for _, x := range []struct {
		quantum, cost int64
		rounds, first int // how many of its tasks go before the next of the other
	}{{3, 1, 0, 5 + 3}, {3, 1, 1, 6 + 3}, {3, 1, 9, 6 + 3}, {2, 7, 0, 0}, {2, 7, 1, 1}, {2, 7, 99, 1}} { // in a separate turn
		s := open(t, newSched, config{Shards: 1, MaxInFlightFor: func(name string) int {
			return map[string]int{"a": 1}[name]
		}, QuantumFor: func(name string) int64 { return map[string]int64{"a": x.quantum}[name] }})
		admit(t, s, "a", task{Cost: 1})
		a := take(t, s)
		for range 30 {
			admit(t, s, "a", task{Cost: x.cost})
		}
		load(t, s, "b", 200)
		for range x.rounds + 1 {
			take(t, s)
		}
		first := 0
		for a.Done(); ; first++ {
			it := take(t, s)
			if it.Tenant != "a" {
				break
			}
			it.Done()
		}
		if first != x.first {
			t.Errorf("quantum %d, costs of %d, %d rounds: %d go first, want %d", x.quantum, x.cost, x.rounds, first, x.first)
		}
	}
}

// inFlightShares simulates a server of 64 slots, in which tasks take random times. Tenants
// get cost in proportion to their quanta, however many tasks a turn has; where a limit
// binds, the others share the rest equally.
func inFlightShares(t *testing.T, newSched maker) {
	const slots, others, limit = 64, 10, 32
	quanta := []int64{1, 8, 16, 100}
	if testing.Short() {
		quanta = quanta[1:2]
	}
	for _, quantum := range quanta {
		for _, x := range []struct {
			name         string
			weight, cost int64
			limit        int
			want         float64
		}{{"weight 4", 4, 1, limit, 4}, {"cost 50", 1, 50, limit, 1}, {"weight 10, 16 in flight", 10, 1, 16, 16.0 / (slots - 16) * others}} {
			for _, shards := range []int{1, 8} {
				if shards > 1 && quantum > 8 {
					continue // tenants on different shards may be rounds apart, and a round is long
				}
				s := open(t, newSched, config{Shards: shards, MaxInFlightFor: func(name string) int {
					if name == "gold" {
						return x.limit
					}
					return limit
				}, QuantumFor: func(name string) int64 {
					if name == "gold" {
						return x.weight * quantum
					}
					return quantum
				}})
				add := func(name string) {
					if name == "gold" {
						admit(t, s, name, task{Cost: x.cost})
					} else {
						admit(t, s, name, task{})
					}
				}
				names := append([]string{"gold"}, tenants(others)...)
				for _, name := range names {
					add(name)
					add(name)
				}
				served := serveRandomly(t, s, slots, 20_000+600*int(quantum), add)
				low, most, sum := served[names[1]], served[names[1]], 0.0
				for _, name := range names[1:] {
					low, most, sum = min(low, served[name]), max(most, served[name]), sum+served[name]
				}
				mean := sum / others
				got, apart := served["gold"]/mean, (most-low)/mean
				t.Logf("quantum %d, %s, %d shards: %.3f, others %.1f %% apart", quantum, x.name, shards, got, 100*apart)
				least := 0.95 * x.want
				if shards > 1 && x.limit < limit {
					least /= 2 // another shard, whose turn it is, may take the slot that Done frees
				}
				if got < least || got > 1.05*x.want || apart > 0.05 {
					t.Errorf("quantum %d, %s, %d shards: %.3f of what the others get, want %.3f; these are %.1f %% apart",
						quantum, x.name, shards, got, x.want, 100*apart)
				}
			}
		}
	}
}

// serveRandomly keeps that many slots busy with tasks that take random times, and adds one
// for each that is taken. It returns the cost that each tenant was served.
func serveRandomly(t *testing.T, s sched, slots, n int, add func(string)) map[string]float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 5))
	served, busy, ends := map[string]float64{}, make([]item, 0, slots), make([]float64, 0, slots)
	for now := 0.0; n > 0; {
		for len(busy) < slots {
			it, ok := s.TryDequeue()
			if !ok {
				break
			}
			served[it.Tenant] += float64(it.Cost)
			add(it.Tenant)
			busy, ends = append(busy, it), append(ends, now+r.ExpFloat64())
			n--
		}
		first := 0
		for i, end := range ends {
			if end < ends[first] {
				first = i
			}
		}
		now = ends[first]
		busy[first].Done()
		last := len(busy) - 1
		busy[first], ends[first] = busy[last], ends[last]
		busy, ends = busy[:last], ends[:last]
	}
	return served
}

package fairness

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// naive looks at every interval of a log that is in order, for one pair.
func naive(tenants []Tenant, log []Delivery, i, j int) *big.Rat {
	most := new(big.Rat)
	for from := range log {
		left := make([]int, len(tenants))
		for k, t := range tenants {
			left[k] = t.Tasks
		}
		d := new(big.Rat)
		for at, x := range log {
			if left[x.Tenant]--; left[i] == 0 || left[j] == 0 {
				break
			}
			if at < from || x.Tenant != i && x.Tenant != j {
				continue
			}
			step := big.NewRat(x.Cost, tenants[x.Tenant].Quantum)
			if x.Tenant == j {
				step.Neg(step)
			}
			if d.Add(d, step); new(big.Rat).Abs(d).Cmp(most) > 0 {
				most.Abs(d)
			}
		}
	}
	return most
}

// draw makes a random log, fair or not, in which no tenant has more tasks than it says.
func draw(r *rand.Rand) ([]Tenant, []Delivery) {
	tenants := make([]Tenant, 2+r.IntN(4))
	for i := range tenants {
		tenants[i] = Tenant{Quantum: 1 + r.Int64N(9), Costliest: 9, Tasks: 1 + r.IntN(20)}
	}
	served := make([]int, len(tenants))
	var log []Delivery
	for at := range 60 {
		i := r.IntN(len(tenants))
		if served[i] < tenants[i].Tasks {
			served[i]++
			log = append(log, Delivery{i, 1 + r.Int64N(9), at, at})
		}
	}
	return tenants, log
}

func rounds(g *Gaps, i, j int) *big.Rat {
	return big.NewRat(g.Gap(i, j), g.tenants[i].Quantum*g.tenants[j].Quantum)
}

func TestMeasureAllIntervals(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		tenants, log := draw(r)
		inOrder := append([]Delivery(nil), log...)
		r.Shuffle(len(log), func(a, b int) { log[a], log[b] = log[b], log[a] })
		g := Measure(tenants, log)
		for i := range tenants {
			for j := range i {
				if got, want := rounds(g, i, j), naive(tenants, inOrder, i, j); got.Cmp(want) != 0 {
					t.Fatalf("seed %d: tenants %d and %d are %v apart, want %v", seed, i, j, got, want)
				}
			}
		}
	}
}

// Whenever within the calls the tasks were served, the gap was at least what is
// measured.
func TestMeasureCalls(t *testing.T) {
	sharp := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		tenants, log := draw(r)
		exact := Measure(tenants, log)
		for k := range log {
			log[k].Began = max(log[k].Began-r.IntN(3), 0)
			log[k].Ended += r.IntN(3)
		}
		g := Measure(tenants, log)
		for i := range tenants {
			for j := range i {
				switch got, was := rounds(g, i, j), rounds(exact, i, j); {
				case got.Cmp(was) > 0:
					t.Fatalf("seed %d: tenants %d and %d were %v apart, measured %v", seed, i, j, was, got)
				case got.Sign() > 0 && got.Cmp(was) == 0:
					sharp++
				}
			}
		}
	}
	if sharp == 0 {
		t.Error("never as much as there was: nothing is measured")
	}
}

// turns makes the log of turns, as in "aab".
func turns(order string) (log []Delivery) {
	for at, who := range order {
		log = append(log, Delivery{int(who - 'a'), 1, at, at})
	}
	return log
}

// TestJudge: costs of 1 leave nothing but turns. Quantum 2 pays for two tasks.
func TestJudge(t *testing.T) {
	for _, x := range []struct {
		order          string
		shardOfB       int
		newcomer       bool
		proved, stated int // pairs beyond
	}{
		{"aabaabaab", 0, false, 0, 0},
		{"aabbaaaab", 0, false, 1, 0},    // 2 turns; 2.5 are stated
		{"aaaaaab", 0, false, 1, 1},      // 3
		{"aaaaaab", 1, false, 0, 0},      // 3 on two shards; 4.5
		{"aaaaaaaab", 1, false, 1, 0},    // 4
		{"aaaaaaaab", 1, true, 0, 0},     // 4; 5.5
		{"aaaaaaaaaab", 1, false, 1, 1},  // 5
		{"aaaaaaaaaaaab", 1, true, 1, 1}, // 6
		{"bbbaaaaaabbb", 1, false, 0, 0}, // 3, and back
	} {
		tenants := []Tenant{{2, 1, 99, 0, false}, {1, 1, 99, x.shardOfB, x.newcomer}}
		within, across := Measure(tenants, turns(x.order)).Judge(Proved(1))
		v := within
		if x.shardOfB != 0 {
			v, across = across, within
		}
		if v.Proved.Over != x.proved || v.Stated.Over != x.stated || v.Pairs != 1 || across.Pairs != 0 {
			t.Errorf("%s: %+v", x.order, v)
		}
		if (v.Check() != nil) != (x.proved > 0) {
			t.Errorf("%s: Check: %v", x.order, v.Check())
		}
	}
}

// A tenant that has been served its last task is not compared any more.
func TestMeasureEnds(t *testing.T) {
	tenants := []Tenant{{1, 1, 99, 0, false}, {1, 1, 2, 0, false}}
	if g := Measure(tenants, turns("abab"+"aaaaaaa")); g.Gap(0, 1) != 1 || g.Turns() != 1 {
		t.Errorf("gap %d, %d turns", g.Gap(0, 1), g.Turns())
	}
}

package schedtest

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Where a tenant's quantum comes from, and when it takes effect.
var quantumChecks = []check{
	{name: "SetQuantum works before the first task", run: quantumUnknown},
	{name: "SetQuantum takes effect at the next turn", run: quantumNextTurn},
	{name: "ResetQuantum gives back what Config says", run: quantumReset},
	{name: "below 1 counts as 1", run: quantumBelow},
	{name: "QuantumFor is asked on each activation", run: quantumFor},
	{name: "QuantumFor and a tenant that refills at once", run: quantumRefill},
	{name: "QuantumFor's answer holds while the tenant is active", run: quantumHolds},
	{name: "SetQuantum outlives a forgotten tenant", run: quantumForgotten},
}

func quantumUnknown(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	s.SetQuantum("a", 3)
	load(t, s, "a", 5)
	load(t, s, "b", 2)
	same(t, "quanta 3 and 1", drain(t, s), "a1 a2 a3 b1 a4 a5 b2")
}

func quantumNextTurn(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 3})
	load(t, s, "a", 8)
	load(t, s, "b", 8)
	same(t, "a's turn begins", next(t, s, 1), "a1")
	s.SetQuantum("a", 1)
	s.SetQuantum("b", 4)
	same(t, "the turn goes on with the old one", drain(t, s),
		"a2 a3 b1 b2 b3 b4 a4 b5 b6 b7 b8 a5 a6 a7 a8")
}

func quantumReset(t *testing.T, newSched maker) {
	plan := func(string) int64 { return 2 }
	for what, cfg := range map[string]config{
		"Quantum":    {Shards: 1, Quantum: 2},
		"QuantumFor": {Shards: 1, QuantumFor: plan},
	} {
		s := open(t, newSched, cfg)
		s.SetQuantum("a", 4)
		load(t, s, "a", 8)
		load(t, s, "b", 6)
		same(t, what+", 4 for a", next(t, s, 6), "a1 a2 a3 a4 b1 b2")
		s.ResetQuantum("a")
		s.ResetQuantum("nobody")
		same(t, what+", 2 for everybody", drain(t, s), "a5 a6 b3 b4 a7 a8 b5 b6")
	}
}

func quantumBelow(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 2, QuantumFor: func(tenant string) int64 {
		return map[string]int64{"a": 0, "b": -1 << 63, "c": 1}[tenant]
	}})
	s.SetQuantum("d", -5)
	s.SetQuantum("e", 0)
	for _, tenant := range []string{"a", "b", "c", "d", "e"} {
		load(t, s, tenant, 2)
	}
	same(t, "quantum 1 for everybody", drain(t, s), "a1 b1 c1 d1 e1 a2 b2 c2 d2 e2")
}

// planOfA returns a QuantumFor that answers plan for tenant a, and 1 for others.
func planOfA(plan *atomic.Int64) func(string) int64 {
	return func(tenant string) int64 {
		if tenant == "a" {
			return plan.Load()
		}
		return 1
	}
}

func quantumFor(t *testing.T, newSched maker) {
	var plan atomic.Int64
	s := open(t, newSched, config{Shards: 1, QuantumFor: planOfA(&plan)})
	plan.Store(2)
	load(t, s, "a", 4)
	load(t, s, "b", 3)
	same(t, "plan 2", drain(t, s), "a1 a2 b1 a3 a4 b2 b3")
	plan.Store(3)
	load(t, s, "a", 4)
	load(t, s, "b", 3)
	same(t, "plan 3, active again", drain(t, s), "a1 a2 a3 b1 a4 b2 b3")
}

// quantumRefill: a tenant whose queue ran empty and was refilled before the next dequeue is
// still in the list, and yet has become active again: QuantumFor is asked.
func quantumRefill(t *testing.T, newSched maker) {
	var plan atomic.Int64
	plan.Store(1)
	s := open(t, newSched, config{Shards: 1, QuantumFor: planOfA(&plan)})
	load(t, s, "b", 300)
	load(t, s, "a", 1)
	served := map[string]int{}
	for range 220 {
		it := take(t, s)
		if served[it.Tenant]++; it.Tenant == "a" {
			plan.Store(10)
			load(t, s, "a", 1)
		}
	}
	if a := served["a"]; a < 190 {
		t.Errorf("a got %d of 220, and has a quantum of 10 to 1", a)
	}
}

// quantumHolds: while the tenant is active, a new answer of QuantumFor does not count.
func quantumHolds(t *testing.T, newSched maker) {
	var plan atomic.Int64
	s := open(t, newSched, config{Shards: 1, QuantumFor: planOfA(&plan)})
	for _, quantum := range []int64{2, 3} {
		plan.Store(quantum)
		load(t, s, "a", 1)
		plan.Store(7)
		load(t, s, "a", 3)
		admitBatch(t, s, "a", make([]task, 2), 2, nil)
		load(t, s, "b", 3)
		var got strings.Builder
		for range 9 {
			got.WriteString(take(t, s).Tenant)
		}
		same(t, "the answer of its activation", got.String(), map[int64]string{2: "aabaabaab", 3: "aaabaaabb"}[quantum])
		idle(t, s)
	}
}

func quantumForgotten(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, TenantIdle: time.Millisecond})
	s.SetQuantum("a", 2)
	load(t, s, "a", 1)
	same(t, "once", drain(t, s), "a1")
	forgotten(t, s)
	load(t, s, "a", 4)
	load(t, s, "b", 3)
	same(t, "still quantum 2", drain(t, s), "a1 a2 b1 a3 a4 b2 b3")
}

// forgotten waits until the scheduler knows no tenant any more.
func forgotten(t *testing.T, s sched) {
	t.Helper()
	await(t, "every tenant to be forgotten after TenantIdle", func() bool {
		idle(t, s)
		return s.Stats().Tenants == 0
	})
}

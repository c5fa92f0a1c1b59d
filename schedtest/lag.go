package schedtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/fairness"
)

// In a fair scheduler no tenant lags behind. That the figure grows in an unfair one is
// tested in package shardtest, which can make a core unfair.
var lagChecks = []check{
	{name: "fair", run: sharded(lagFair)},
	{name: "a crowd", run: lagCrowd},
	{name: "no consumer dequeues", run: lagAtRest},
	{name: "blocked and idle tenants have none", run: sharded(lagBlocked, 1, 4)},
	{name: "Stats changes nothing", run: lagLooks},
	{name: "one snapshot says one thing", run: lagOfRefund},
}

// lagOf checks that the lags in Stats make sense and agree, and returns the largest one.
func lagOf(t *testing.T, s sched) float64 {
	t.Helper()
	st := s.Stats()
	if m := st.Lag.Max; m < 0 || math.IsNaN(m) || math.IsInf(m, 0) || m == 0 && st.Lag.Tenant != "" {
		t.Errorf("Lag is %+v", st.Lag)
	}
	for _, row := range st.TopTenants {
		if row.Lag < 0 || math.IsNaN(row.Lag) {
			t.Errorf("TopTenants has %+v", row)
		}
		if row.Tenant == st.Lag.Tenant && row.Lag != st.Lag.Max {
			t.Errorf("TopTenants has %+v, and Lag is %+v", row, st.Lag)
		}
	}
	return st.Lag.Max
}

// While one consumer takes task by task, no tenant lags by more than FairnessSlack,
// whatever tasks cost, and whatever the scheduler has served before.
func lagFair(t *testing.T, newSched maker, shards int) {
	for i, mix := range []fairness.Mix{fairness.Random, fairness.Cheap, fairness.Costly} {
		mix.Rounds /= 4
		for _, slack := range []int{1, 4}[:min(shards, 2)] {
			names := tenants(20)
			load := mix.Draw(rand.New(rand.NewPCG(uint64(shards), uint64(slack))), len(names))
			s := open(t, newSched, config{Shards: shards, FairnessSlack: slack, TopTenants: 30})
			h := fairness.Histories[(shards+slack+i)%len(fairness.Histories)]
			if err := fairness.Live(s, h, func(tenant int) string { return fmt.Sprint("history ", tenant) }); err != nil {
				t.Fatal(err)
			}
			n, err := fairness.Admit(s, load, names, fairness.Everybody)
			if err != nil {
				t.Fatal(err)
			}
			most := 0.0
			for i := range n {
				if _, ok := s.TryDequeue(); !ok {
					t.Fatalf("nothing after %d of %d", i, n)
				}
				if i%13 == 0 {
					most = max(most, lagOf(t, s))
				}
			}
			limit := float64(slack)
			if shards == 1 {
				limit = 0
			}
			if most > limit {
				t.Errorf("%s, %d shards, slack %d, history %q: a tenant was behind by %v rounds", mix.Name, shards, slack, h.Name, most)
			}
			if got := lagOf(t, s); got != 0 {
				t.Errorf("empty, and a tenant is behind by %v", got)
			}
		}
	}
}

// With several consumers a tenant may lag further, by the tasks that they hold when
// another tenant joins. Here none joins.
func lagCrowd(t *testing.T, newSched maker) {
	const consumers, each = 4, 300
	s := open(t, newSched, config{Shards: 4, TopTenants: 30})
	for _, tenant := range tenants(16) {
		for range each {
			admit(t, s, tenant, task{})
		}
	}
	done := make(chan struct{}, consumers)
	for range consumers {
		go func() {
			dst := make([]item, 8)
			for s.Len() > 0 {
				_, _ = s.DequeueBatch(t.Context(), dst[:1])
			}
			done <- struct{}{}
		}()
	}
	most := 0.0
	for s.Len() > 16*each/10 { // until then all have something
		most = max(most, s.Stats().Lag.Max)
	}
	_ = s.Close() // ends consumers that wait
	for range consumers {
		<-done
	}
	// One round for FairnessSlack, and one that may pass between two looks.
	if most > 3 {
		t.Errorf("a tenant was behind by %v rounds", most)
	}
}

func lagAtRest(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 4})
	for i, tenant := range tenants(100) {
		for range 1 + i {
			admit(t, s, tenant, task{Cost: int64(1 + i)})
		}
	}
	if got := lagOf(t, s); got != 0 {
		t.Errorf("a tenant is behind by %v, though none is served", got)
	}
}

// A tenant at its limit in flight waits for its own Done, and one without a task for
// nothing: neither lags.
func lagBlocked(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 1, TopTenants: 30})
	for range 2 {
		admit(t, s, "blocked", task{Payload: -1})
	}
	held := take(t, s)
	others := tenants(8)
	for range 100 {
		for _, tenant := range others {
			admit(t, s, tenant, task{})
		}
		for range others {
			it := take(t, s)
			it.Done()
		}
	}
	if st := s.Stats(); st.Lag != (firq.Lag[string]{}) {
		t.Errorf("%d shards: %+v, with one tenant blocked and the others idle", shards, st.Lag)
	}
	held.Done()
	if got := lagOf(t, s); got > 1 {
		t.Errorf("%d shards: behind by %v as soon as it may be served again", shards, got)
	}
	if it, ok := s.TryDequeue(); !ok || it.Payload != -1 {
		t.Errorf("got %+v, %v", it, ok)
	}
}

// lagLooks: two schedulers get the same calls, and one of them Stats after each. They deliver
// in the same order, with flows and costs.
func lagLooks(t *testing.T, newSched maker) {
	for seed := range uint64(reps(60)) {
		r := rand.New(rand.NewPCG(seed, 21))
		cfg := config{Shards: 1, Quantum: 1 + r.Int64N(6), MaxFlows: 8, NewTenantsFirst: seed%3 == 1}
		if seed%4 == 3 {
			cfg.MaxInFlightPerTenant = 2
		}
		s, looked := open(t, newSched, cfg), open(t, newSched, cfg)
		names := tenants(3)
		for i := range 200 {
			if r.IntN(2) == 0 {
				name, tk := names[r.IntN(3)], task{Payload: i, Cost: 1 + r.Int64N(12), Flow: r.Uint64N(4)}
				if r.IntN(5) == 0 {
					tk.Priority = firq.PriorityHigh
				}
				admit(t, s, name, tk)
				admit(t, looked, name, tk)
			} else {
				it, ok := s.TryDequeue()
				other, sees := looked.TryDequeue()
				if ok != sees || show(it) != show(other) {
					t.Fatalf("seed %d, call %d: %s %t, and with Stats between the calls %s %t", seed, i, show(it), ok, show(other), sees)
				}
				if r.IntN(3) > 0 {
					it.Done()
					other.Done()
				}
			}
			looked.Stats()
		}
	}
}

// lagOfRefund: in one snapshot, Lag and the rows of TopTenants are of the same instant.
func lagOfRefund(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	for _, name := range []string{"a", "b"} {
		for range 60 {
			admit(t, s, name, task{Cost: 3})
		}
	}
	for range 4 {
		it := take(t, s)
		if it.Tenant == "a" {
			it.Charge(-40)
		}
		admit(t, s, "a", task{Cost: 1, Priority: firq.PriorityCritical})
		if st := s.Stats(); st.Lag.Max == 0 && slices.ContainsFunc(st.TopTenants, func(row firq.TenantCount[string]) bool { return row.Lag > 0 }) {
			t.Errorf("Lag is %+v, TopTenants %+v", st.Lag, st.TopTenants)
		}
		lagOf(t, s)
	}
}

package schedtest

import (
	"testing"

	"github.com/firq-go/firq"
)

// What happens at a limit.
var policyChecks = []check{
	{name: "DropOldest", run: policyOldest},
	{name: "DropNewest", run: policyNewest},
	{name: "the lowest priority goes first", run: policyPriority},
	{name: "nothing to evict is a rejection", run: policyNothing},
	{name: "only the same tenant's tasks are evicted", run: policyOwn},
	{name: "one is evicted for each of a batch", run: policyBatch},
	{name: "BackpressureFor overrides", run: policyFor},
	{name: "an evicted tenant keeps its place and its share", run: policyShare},
	{name: "of a blocked tenant", run: policyBlocked},
	{name: "too many tenants is not for evicting", run: policyTenants},
}

// dropping opens a scheduler with MaxPerTenant 3 and the policy.
func dropping(t *testing.T, newSched maker, p firq.Policy, log *dropLog) sched {
	t.Helper()
	return open(t, newSched, config{Shards: 1, MaxPerTenant: 3, Backpressure: policy(p), OnDrop: log.onDrop})
}

func policyOldest(t *testing.T, newSched maker) {
	var log dropLog
	s := dropping(t, newSched, firq.DropOldest, &log)
	load(t, s, "a", 5)
	same(t, "drops", log.all(), "a1 evicted, a2 evicted")
	length(t, s, 3)
	st := s.Stats()
	if st.Enqueued != 5 || st.DroppedPolicy != 2 || st.Dropped != 2 || st.RejectedTenant != 0 {
		t.Errorf("Enqueued %d, DroppedPolicy %d, Dropped %d, RejectedTenant %d, want 5, 2, 2, 0",
			st.Enqueued, st.DroppedPolicy, st.Dropped, st.RejectedTenant)
	}
	same(t, "the rest", drain(t, s), "a3 a4 a5")
}

func policyNewest(t *testing.T, newSched maker) {
	var log dropLog
	s := dropping(t, newSched, firq.DropNewest, &log)
	load(t, s, "a", 5)
	same(t, "drops", log.all(), "a3 evicted, a4 evicted")
	same(t, "the rest", drain(t, s), "a1 a2 a5")
}

func policyPriority(t *testing.T, newSched maker) {
	for p, want := range map[firq.Policy]string{
		firq.DropOldest: "a2 evicted, a3 evicted, a1 evicted, a4 evicted",
		firq.DropNewest: "a3 evicted, a2 evicted, a6 evicted, a7 evicted",
	} {
		for _, scope := range []firq.PriorityScope{firq.PriorityWithinTenant, firq.PriorityAcrossTenants} {
			var log dropLog
			s := open(t, newSched, config{Shards: 1, MaxPerTenant: 4, PriorityScope: scope, Backpressure: policy(p), OnDrop: log.onDrop})
			loadPriorities(t, s, "a", 4, 2, 2, 4)
			for i, priority := range []firq.Priority{5, 4, 4, 6} {
				admit(t, s, "a", task{Payload: 5 + i, Priority: priority})
			}
			same(t, "drops", log.all(), want)
		}
	}
}

func policyNothing(t *testing.T, newSched maker) {
	for _, p := range []firq.Policy{firq.DropOldest, firq.DropNewest} {
		var log dropLog
		s := dropping(t, newSched, p, &log)
		loadPriorities(t, s, "a", 4, 5, 4)
		refuse(t, s, "a", task{Priority: 3}, firq.ErrTenantFull)
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		rejections(t, s, 0, 2, 0)
		same(t, "drops", log.all(), "")
		same(t, "all still there", drain(t, s), "a2 a1 a3")
	}
}

func policyOwn(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{Shards: 1, MaxGlobal: 4, Backpressure: policy(firq.DropOldest), OnDrop: log.onDrop})
	load(t, s, "a", 3)
	load(t, s, "b", 1)
	refuse(t, s, "c", task{}, firq.ErrGlobalFull)
	rejections(t, s, 1, 0, 0)
	admit(t, s, "b", task{Payload: 2, Priority: firq.PriorityNormal})
	same(t, "drops", log.all(), "b1 evicted")
	refuse(t, s, "b", task{Payload: 3, Priority: firq.PriorityLow}, firq.ErrGlobalFull)
	length(t, s, 4)
	admit(t, s, "a", task{Payload: 4})
	same(t, "drops", log.all(), "b1 evicted, a1 evicted")
}

func policyBatch(t *testing.T, newSched maker) {
	var log dropLog
	s := dropping(t, newSched, firq.DropOldest, &log)
	load(t, s, "a", 2)
	admitBatch(t, s, "a", []task{{Payload: 3}, {Payload: 4}, {Payload: 5}}, 3, nil)
	same(t, "drops", log.all(), "a1 evicted, a2 evicted")
	admitBatch(t, s, "a", []task{{Payload: 6}, {Payload: 7}, {Payload: 8}, {Payload: 9}}, 4, nil)
	same(t, "the rest", drain(t, s), "a7 a8 a9")
}

func policyFor(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{
		Shards: 1, MaxPerTenant: 2, OnDrop: log.onDrop, Backpressure: policy(firq.DropNewest),
		BackpressureFor: func(tenant string) firq.Backpressure {
			switch tenant {
			case "old":
				return policy(firq.DropOldest)
			case "wait":
				return firq.Backpressure{Policy: firq.Wait, Wait: 1}
			}
			return policy(firq.Reject)
		},
	})
	for _, tenant := range []string{"old", "wait", "reject"} {
		load(t, s, tenant, 2)
	}
	admit(t, s, "old", task{Payload: 3})
	refuse(t, s, "wait", task{Payload: 3}, firq.ErrTimeout)
	refuse(t, s, "reject", task{Payload: 3}, firq.ErrTenantFull)
	same(t, "drops", log.all(), "old1 evicted")
	rejections(t, s, 0, 1, 1)
	same(t, "the rest", drain(t, s), "old2 wait1 reject1 old3 wait2 reject2")
}

func policyShare(t *testing.T, newSched maker) {
	for _, p := range []firq.Policy{firq.DropOldest, firq.DropNewest} {
		s := open(t, newSched, config{Shards: 1, MaxPerTenant: 5, Backpressure: policy(p)})
		for _, tenant := range []string{"a", "b", "c"} {
			load(t, s, tenant, 5)
		}
		work := map[string]int64{}
		for range 3000 {
			for range 3 {
				admit(t, s, "a", task{})
			}
			it := take(t, s)
			work[it.Tenant]++
			if it.Tenant != "a" {
				admit(t, s, it.Tenant, task{})
			}
		}
		within(t, work["a"], work["b"], 1, 0.03)
		within(t, work["a"], work["c"], 1, 0.03)
	}
}

func policyBlocked(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{Shards: 1, MaxPerTenant: 2, MaxInFlightPerTenant: 1, Backpressure: policy(firq.DropOldest), OnDrop: log.onDrop})
	load(t, s, "a", 1)
	it := take(t, s)
	for i := 2; i <= 5; i++ {
		admit(t, s, "a", task{Payload: i})
	}
	same(t, "drops", log.all(), "a2 evicted, a3 evicted")
	idle(t, s)
	it.Done()
	it = take(t, s)
	same(t, "after Done", show(it), "a4")
	it.Done()
	same(t, "after Done", drain(t, s), "a5")
}

func policyTenants(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxTenants: 1, Backpressure: policy(firq.DropOldest)})
	load(t, s, "a", 1)
	refuse(t, s, "b", task{}, firq.ErrTooManyTenants)
	length(t, s, 1)
}

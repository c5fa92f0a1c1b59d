package schedtest

import (
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Priorities within a tenant, across tenants, and ageing.
var priorityChecks = []check{
	{name: "within a tenant the highest goes first", run: golden(config{},
		"a!1,2,3,4,5,6,6,5,4,3,2,1 | a6 a7 a5 a8 a4 a9 a3 a10 a2 a11 a1 a12")},
	{name: "within a tenant it does not buy share", run: golden(config{}, "a!1,1,1 b!6,6,6 | a1 b1 a2 b2 a3 b3")},
	{name: "zero is normal", run: priorityZero},
	{name: "across tenants the highest goes first", run: golden(across(config{}),
		"a!3,1,0 b!6,2,3 c!1,6 | b1 c2 a1 b3 a3 b2 a2 c1")},
	{name: "across tenants a turn is interrupted and goes on", run: priorityInterrupt},
	{name: "across tenants each level is a round robin", run: priorityLevels},
	{name: "across tenants is one order, whatever Shards says", run: priorityOneOrder},
	{name: "ageing within a tenant", run: priorityAgeing},
	{name: "ageing across tenants", run: priorityAgeingAcross},
	{name: "ageing ends starvation", run: priorityStarvation},
	{name: "without ageing a long wait counts for nothing", run: priorityStrict},
}

// across makes priorities count across tenants, in one exact order.
func across(cfg config) config {
	cfg.Shards, cfg.PriorityScope = 1, firq.PriorityAcrossTenants
	return cfg
}

// loadPriorities enqueues tasks of the given priorities, with payloads from 1.
func loadPriorities(t *testing.T, s sched, tenant string, ps ...firq.Priority) {
	t.Helper()
	for i, p := range ps {
		admit(t, s, tenant, task{Payload: i + 1, Priority: p})
	}
}

func priorityZero(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	loadPriorities(t, s, "a", firq.PriorityLow, 0, firq.PriorityNormal, 0, firq.PriorityHigh)
	it := take(t, s)
	if it.Priority != firq.PriorityHigh {
		t.Fatalf("first item %+v, want the one with high priority", it)
	}
	it = take(t, s)
	if it.Payload != 2 || it.Priority != firq.PriorityNormal {
		t.Fatalf("second item %+v, want payload 2 with priority normal", it)
	}
	same(t, "the rest", drain(t, s), "a3 a4 a1")
}

func priorityInterrupt(t *testing.T, newSched maker) {
	s := open(t, newSched, across(config{Quantum: 3}))
	loadPriorities(t, s, "a", 3, 3, 3, 3)
	loadPriorities(t, s, "b", 3, 3)
	same(t, "a's turn", next(t, s, 1), "a1")
	admit(t, s, "b", task{Payload: 9, Priority: 4})
	same(t, "b9 comes between", drain(t, s), "b9 a2 a3 b1 b2 a4")
}

func priorityLevels(t *testing.T, newSched maker) {
	s := open(t, newSched, across(config{Quantum: 2}))
	for _, tenant := range []string{"a", "b"} {
		loadPriorities(t, s, tenant, 5, 2, 5, 2, 5, 2)
	}
	same(t, "two round robins", drain(t, s), "a1 a3 b1 b3 a5 b5 a2 a4 b2 b4 a6 b6")
}

func priorityOneOrder(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 8, PriorityScope: firq.PriorityAcrossTenants})
	names := tenants(30)
	for p := firq.PriorityVeryLow; p <= firq.PriorityCritical; p++ {
		for i, name := range names {
			admit(t, s, name, task{Payload: i, Priority: p})
		}
	}
	for p := firq.PriorityCritical; p >= firq.PriorityVeryLow; p-- {
		for i, name := range names {
			if it := take(t, s); it.Tenant != name || it.Priority != p {
				t.Fatalf("priority %d, place %d: %s with priority %d", p, i, show(it), it.Priority)
			}
		}
	}
}

// ageingUnit and older are far enough apart that no delay of the machine
// between two calls matters to the order, and near enough to wait for.
const (
	ageingUnit = time.Millisecond
	older      = 20 * ageingUnit
)

func priorityAgeing(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, PriorityAging: ageingUnit})
	loadPriorities(t, s, "a", firq.PriorityVeryLow)
	elapse(older)
	admit(t, s, "a", task{Payload: 2, Priority: firq.PriorityCritical})
	same(t, "the very low task has risen", drain(t, s), "a1 a2")
}

func priorityAgeingAcross(t *testing.T, newSched maker) {
	s := open(t, newSched, across(config{PriorityAging: ageingUnit}))
	loadPriorities(t, s, "a", firq.PriorityVeryLow)
	elapse(older)
	admit(t, s, "b", task{Payload: 2, Priority: firq.PriorityCritical})
	same(t, "the very low task has risen", drain(t, s), "a1 b2")
}

func priorityStarvation(t *testing.T, newSched maker) {
	for _, cfg := range []config{{Shards: 1}, across(config{})} {
		cfg.PriorityAging = ageingUnit
		s := open(t, newSched, cfg)
		admit(t, s, "a", task{Payload: 1, Priority: firq.PriorityVeryLow})
		admit(t, s, "a", task{Payload: 2, Priority: firq.PriorityCritical})
		await(t, "the very low task to be delivered", func() bool {
			admit(t, s, "a", task{Payload: 2, Priority: firq.PriorityCritical})
			return take(t, s).Payload == 1
		})
	}
}

func priorityStrict(t *testing.T, newSched maker) {
	for _, cfg := range []config{{Shards: 1}, across(config{}), {Shards: 1, PriorityAging: time.Hour}} {
		s := open(t, newSched, cfg)
		loadPriorities(t, s, "a", firq.PriorityVeryLow)
		elapse(older)
		admit(t, s, "a", task{Payload: 2, Priority: 2})
		admit(t, s, "a", task{Payload: 3, Priority: 3})
		same(t, "by priority", drain(t, s), "a3 a2 a1")
	}
}

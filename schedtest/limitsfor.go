package schedtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// MaxPerTenantFor and MaxInFlightFor.
var limitsForChecks = []check{
	{name: "MaxPerTenantFor", run: sharded(perTenantFor)},
	{name: "MaxPerTenantFor is asked on each activation", run: perTenantAsked},
	{name: "SetLimit before MaxPerTenantFor before MaxPerTenant", run: perTenantPrecedence},
	{name: "MaxPerTenantFor says more: all waiting producers are woken", run: perTenantWakes},
	{name: "MaxInFlightFor", run: sharded(inFlightFor)},
	{name: "a tenant without an in-flight limit beside one that has", run: inFlightForSome},
	{name: "an in-flight limit rises", run: inFlightRises},
	{name: "an in-flight limit falls", run: inFlightFalls},
	{name: "an in-flight limit comes and goes", run: inFlightComesAndGoes},
}

func perTenantFor(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 50, MaxPerTenant: 3, MaxPerTenantFor: func(tenant string) int {
		return map[string]int{"two": 2, "five": 5, "none": 0, "wrong": -7, "all": 99}[tenant]
	}})
	for tenant, n := range map[string]int{"two": 2, "five": 5, "none": 3, "wrong": 1, "another": 3} {
		load(t, s, tenant, n)
		refuse(t, s, tenant, task{}, firq.ErrTenantFull)
		admitBatch(t, s, tenant, make([]task, 2), 0, firq.ErrTenantFull)
	}
	load(t, s, "all", 50-s.Len())
	refuse(t, s, "all", task{}, firq.ErrGlobalFull)
}

func perTenantAsked(t *testing.T, newSched maker) {
	limit := 2
	s := open(t, newSched, config{MaxPerTenantFor: func(string) int { return limit }, TenantIdle: time.Millisecond})
	load(t, s, "a", 1)
	limit = 4 // it is active: the answer of then holds
	load(t, s, "a", 1)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	take(t, s)
	load(t, s, "a", 1)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	drain(t, s)
	for _, limit = range []int{4, 1, 3} {
		load(t, s, "a", limit)
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		drain(t, s)
	}
	forgotten(t, s)
	limit = 5
	admitBatch(t, s, "a", make([]task, 9), 5, firq.ErrTenantFull)
	drain(t, s)
	limit = 7
	admitBatch(t, s, "a", make([]task, 9), 7, firq.ErrTenantFull)
}

func perTenantPrecedence(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxPerTenant: 9, MaxPerTenantFor: func(string) int { return 3 }})
	load(t, s, "a", 3)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	s.SetLimit("a", 5)
	load(t, s, "a", 2)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	drain(t, s)
	load(t, s, "a", 5) // active again, and MaxPerTenantFor does not override it
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	s.SetLimit("a", 0)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	drain(t, s)
	load(t, s, "a", 3)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
}

// perTenantWakes: one place comes free, and one of three calls that wait is woken. To it the
// config says that there are more places.
func perTenantWakes(t *testing.T, newSched maker) {
	var limit atomic.Int64
	limit.Store(1)
	s := open(t, newSched, config{MaxPerTenantFor: func(string) int { return int(limit.Load()) }})
	load(t, s, "a", 1)
	answers := waiters(t, s, context.Background(), "a", 3)
	linger(1)
	limit.Store(3)
	take(t, s)
	for range 3 {
		gets(t, answers, "EnqueueWait", nil)
	}
	length(t, s, 3)
}

// flying takes n items, after which nothing can be delivered.
func flying(t *testing.T, s sched, n int) (items []item) {
	t.Helper()
	for range n {
		items = append(items, take(t, s))
	}
	idle(t, s)
	return items
}

func done(items ...item) {
	for i := range items {
		items[i].Done()
	}
}

func inFlightFor(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 2, MaxInFlightFor: func(tenant string) int {
		return map[string]int{"one": 1, "three": 3, "wrong": -3}[tenant]
	}})
	for tenant, n := range map[string]int{"one": 1, "three": 3, "none": 2, "wrong": 1} {
		load(t, s, tenant, 5)
		items := flying(t, s, n)
		inFlight(t, s, n)
		items[0].Done()
		items[0] = take(t, s)
		idle(t, s)
		for i := 5 - n - 1; ; i -= n {
			done(items...)
			if i <= 0 {
				break
			}
			items = flying(t, s, min(n, i))
		}
		inFlight(t, s, 0)
		length(t, s, 0)
	}
}

// inFlightForSome: for a tenant without a limit, Done need not be called, and nothing is counted.
func inFlightForSome(t *testing.T, newSched maker) {
	s := open(t, newSched, config{TenantIdle: time.Millisecond, MaxInFlightFor: func(tenant string) int {
		if tenant == "limited" {
			return 1
		}
		return 0
	}})
	load(t, s, "free", 5)
	free := flying(t, s, 5)
	inFlight(t, s, 0)
	load(t, s, "limited", 2)
	one := flying(t, s, 1)
	inFlight(t, s, 1)
	done(free...)
	inFlight(t, s, 1)
	idle(t, s)
	done(one...)
	done(one...)
	done(take(t, s))
	inFlight(t, s, 0)
	load(t, s, "free", 1)
	take(t, s)
	forgotten(t, s) // it has an item that is not Done
}

func inFlightRises(t *testing.T, newSched maker) {
	limit := 1
	s := open(t, newSched, config{Shards: 1, MaxInFlightFor: func(string) int { return limit }})
	load(t, s, "a", 2)
	items := flying(t, s, 1)
	limit = 3 // it is active: the answer of then holds
	load(t, s, "a", 1)
	idle(t, s)
	done(items...)
	items = flying(t, s, 1)
	done(items...)
	items = flying(t, s, 1) // blocked, and without a task
	load(t, s, "a", 5)
	items = append(items, flying(t, s, 2)...)
	inFlight(t, s, 3)
	done(items...)
	done(flying(t, s, 3)...)
	length(t, s, 0)
}

func inFlightFalls(t *testing.T, newSched maker) {
	limit := 3
	s := open(t, newSched, config{Shards: 1, MaxInFlightFor: func(string) int { return limit }})
	load(t, s, "a", 2)
	items := flying(t, s, 2)
	limit = 1
	load(t, s, "a", 3)
	load(t, s, "b", 1)
	if it := take(t, s); it.Tenant != "b" {
		t.Errorf("got %s, and a has two of one in flight", show(it))
	}
	idle(t, s)
	items[0].Done()
	idle(t, s)
	items[1].Done()
	done(flying(t, s, 1)...)
	done(flying(t, s, 1)...)
	inFlight(t, s, 1)
	length(t, s, 1)
}

// inFlightComesAndGoes: what was delivered while there was no limit does not count, and
// what was delivered while there was one does until it is Done.
func inFlightComesAndGoes(t *testing.T, newSched maker) {
	limit := 0
	s := open(t, newSched, config{Shards: 1, MaxInFlightFor: func(string) int { return limit }})
	load(t, s, "a", 3)
	free := flying(t, s, 3)
	limit = 1
	load(t, s, "a", 2)
	one := flying(t, s, 1)
	done(free...)
	idle(t, s)
	inFlight(t, s, 1)
	done(one...)
	one = flying(t, s, 1)
	limit = 0
	load(t, s, "a", 3)
	flying(t, s, 3)
	inFlight(t, s, 1)
	done(one...)
	inFlight(t, s, 0)
	limit = 2
	load(t, s, "a", 3)
	flying(t, s, 2)
	inFlight(t, s, 2)
}

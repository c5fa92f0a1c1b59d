package schedtest

import (
	"fmt"
	"testing"
)

// NewTenantsFirst: one quantum ahead of the backlogged, but only once per trip
// through the list.
var newTenantChecks = []check{
	{name: "a quiet tenant does not wait for the backlogged", run: newTenantAhead},
	// b goes first for two tasks, then to the tail of the list that a heads.
	{name: "one quantum only", run: golden(config{NewTenantsFirst: true, Quantum: 2},
		"a*6 | a1 a2 a3 b*5 | b1 b2 a4 b3 b4 a5 a6 b5")},
	{name: "new tenants go in order of arrival", run: newTenantOrder},
	{name: "going idle and active again does not starve others", run: newTenantAttack},
	{name: "nor with an in-flight limit", run: newTenantAttackInFlight},
	{name: "the backlogged keep equal shares", run: newTenantShares},
	// a is still at the head: whether its turn goes on is decided now.
	{name: "off by default", run: golden(config{}, "a*4 b*4 | a1 b1 a2 c*1 | b2 c1 a3 ...")},
}

func newTenantAhead(t *testing.T, newSched maker) {
	for _, backlogged := range []int{1, 10, 300} {
		s := open(t, newSched, config{Shards: 1, NewTenantsFirst: true})
		for _, name := range tenants(backlogged) {
			load(t, s, name, 20)
		}
		for range 3 * backlogged {
			take(t, s) // until each of them has been through its first turn
		}
		for i := range 5 {
			quiet := fmt.Sprint("quiet", i)
			admit(t, s, quiet, task{})
			if it := take(t, s); it.Tenant != quiet {
				t.Fatalf("%d backlogged tenants: the next item is %s's, want the quiet tenant's", backlogged, it.Tenant)
			}
		}
	}
}

func newTenantOrder(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, NewTenantsFirst: true})
	load(t, s, "a", 9)
	load(t, s, "x", 9)
	same(t, "a and x are backlogged", next(t, s, 4), "a1 x1 a2 x2")
	for _, tenant := range []string{"b", "c", "d"} {
		load(t, s, tenant, 2)
	}
	same(t, "b, c, d, then a's turn", next(t, s, 4), "b1 c1 d1 a3")
}

// newTenantAttack: tenants enqueue one task at a time, the next one as soon as the last
// was delivered, or a few dequeues later.
func newTenantAttack(t *testing.T, newSched maker) {
	for _, lag := range []int{0, 1, 2, 5} {
		s := open(t, newSched, config{Shards: 1, NewTenantsFirst: true})
		attack(t, s, lag, 3)
	}
}

func newTenantAttackInFlight(t *testing.T, newSched maker) {
	for _, lag := range []int{0, 1, 2, 5} {
		s := open(t, newSched, config{Shards: 1, NewTenantsFirst: true, MaxInFlightPerTenant: 1})
		attack(t, s, lag, 3)
	}
}

// attack plays n attackers against one backlogged tenant. Each may be served
// twice per trip through the list, once ahead of it and once in it.
func attack(t *testing.T, s sched, lag, n int) {
	t.Helper()
	load(t, s, "victim", 500)
	type due struct {
		tenant string
		at     int
	}
	var waiting []due
	for _, name := range tenants(n) {
		waiting = append(waiting, due{name, 0})
	}
	got, total := 0, 400
	for i := range total {
		for len(waiting) > 0 && waiting[0].at <= i {
			admit(t, s, waiting[0].tenant, task{})
			waiting = waiting[1:]
		}
		it := take(t, s)
		it.Done()
		if it.Tenant == "victim" {
			got++
		} else {
			waiting = append(waiting, due{it.Tenant, i + 1 + lag})
		}
	}
	if least := total / (2*n + 1); got < least*9/10 {
		t.Fatalf("%d attackers, lag %d: the backlogged tenant got %d of %d, want at least %d", n, lag, got, total, least)
	}
}

func newTenantShares(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, NewTenantsFirst: true, Quantum: 10})
	for i, name := range tenants(4) {
		for range 100 {
			admit(t, s, name, task{Cost: int64(1 + 5*i)})
		}
	}
	work := serve(t, s, 10_000)
	for _, name := range tenants(4) {
		within(t, work[name], work["tenant-0"], 1, 0.03)
	}
}

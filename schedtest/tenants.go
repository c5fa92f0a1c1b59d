package schedtest

import (
	"strconv"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Tenants come and go.
var tenantChecks = []check{
	{name: "forgotten after TenantIdle", run: sharded(tenantForgotten)},
	{name: "remembered until then", run: tenantRemembered},
	{name: "forgotten and created again and again", run: sharded(tenantAgain)},
	{name: "not forgotten while in flight", run: tenantInFlight},
	{name: "not forgotten while queued", run: tenantQueued},
	{name: "a late charge reaches a tenant that was forgotten and is back", run: bubbled(tenantChargedLate)},
	{name: "forgotten while others are used", run: bubbled(tenantForgottenBeside)},
	{name: "idle from the end of its last task", run: bubbled(tenantIdleSince)},
	{name: "forgotten when rejected, expired or cancelled", run: tenantNothingDelivered},
	{name: "limits hold across forgetting", run: sharded(tenantLimits)},
	{name: "a flood of one-shot tenants", run: tenantFlood, alone: true},
	{name: "a flood of one-shot tenants beside a backlog", run: tenantFloodQueued, alone: true},
}

func tenantForgotten(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, TenantIdle: time.Millisecond})
	for _, name := range tenants(50) {
		load(t, s, name, 2)
	}
	if n := s.Stats().Tenants; n != 50 {
		t.Errorf("Stats().Tenants is %d, want 50", n)
	}
	drain(t, s)
	forgotten(t, s)
}

func tenantRemembered(t *testing.T, newSched maker) {
	s := open(t, newSched, config{TenantIdle: time.Hour})
	for _, name := range tenants(50) {
		load(t, s, name, 2)
	}
	drain(t, s)
	if n := s.Stats().Tenants; n != 50 {
		t.Errorf("Stats().Tenants is %d, want 50", n)
	}
}

func tenantAgain(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, TenantIdle: 1, MaxPerTenant: 2})
	names := tenants(7)
	for i := range reps(3000) {
		name := names[i%7]
		load(t, s, name, 2)
		refuse(t, s, name, task{}, firq.ErrTenantFull)
		for k := range 2 {
			if it := take(t, s); it.Tenant != name || it.Payload != k+1 {
				t.Fatalf("delivered %s, want %s%d", show(it), name, k+1)
			}
		}
		idle(t, s)
	}
}

func tenantInFlight(t *testing.T, newSched maker) {
	s := open(t, newSched, config{TenantIdle: time.Millisecond, MaxInFlightPerTenant: 1})
	load(t, s, "a", 1)
	it := take(t, s)
	elapse(5 * time.Millisecond)
	load(t, s, "other", 1) // something for the scheduler to do
	other := take(t, s)
	other.Done()
	elapse(5 * time.Millisecond)
	if n := s.Stats().Tenants; n < 1 {
		t.Errorf("Stats().Tenants is %d with a task in flight", n)
	}
	load(t, s, "a", 1)
	idle(t, s)
	inFlight(t, s, 1)
	it.Done()
	it = take(t, s)
	it.Done()
	forgotten(t, s)
}

// tenantForgottenBeside: one tenant has all the traffic, and Stats, which forgets idle
// tenants, is not called. The others are forgotten all the same: their debts are gone.
func tenantForgottenBeside(t *testing.T, newSched maker) {
	const idleFor, n = time.Minute, 16
	for name, use := range map[string]func(sched){
		"delivered": func(s sched) {
			load(t, s, "busy", 1)
			it := take(t, s)
			it.Done()
		},
		"cancelled": func(s sched) {
			var tk firq.Ticket
			admit(t, s, "busy", task{Ticket: &tk})
			tk.Cancel()
		},
	} {
		for _, shards := range []int{1, 8} {
			for _, late := range []bool{false, true} {
				s := open(t, newSched, config{Shards: shards, TenantIdle: idleFor})
				debtors := tenants(n)
				for _, tenant := range debtors {
					owing(t, s, tenant, 0, 1000)
				}
				spell := 2 * idleFor
				if !late {
					spell = idleFor - idleFor/50
				}
				for start := time.Now(); time.Since(start) < spell; {
					use(s)
					time.Sleep(idleFor / 100)
				}
				for _, tenant := range debtors {
					load(t, s, tenant, 1)
				}
				for i := range 8 * shards { // some on each shard, nearly for sure
					load(t, s, "new"+strconv.Itoa(i), 9)
				}
				served := 0 // of the debtors, while the others have tasks left
				for range 8 * shards * 6 {
					if it := take(t, s); it.Tenant[:3] != "new" {
						served++
					}
				}
				if late && served != n || !late && served > n/4 {
					t.Errorf("%s, shards %d, after %v: %d of %d that owed something were served soon", name, shards, spell, served, n)
				}
			}
		}
	}
}

// tenantChargedLate: without a limit in flight, a delivery does not keep its tenant from
// being forgotten. What it cost is still charged, if the tenant is known again.
func tenantChargedLate(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, TenantIdle: time.Minute})
	load(t, s, "a", 1)
	it := take(t, s)
	idle(t, s)
	time.Sleep(2 * time.Minute)
	if n := s.Stats().Tenants; n != 0 {
		t.Fatalf("%d tenants are known, want 0", n)
	}
	it.Charge(50) // its tenant is forgotten
	if n := s.Stats().Tenants; n != 0 {
		t.Errorf("a charge makes a tenant known")
	}
	load(t, s, "a", 3)
	load(t, s, "rival", 3)
	it.Charge(50)
	same(t, "a pays first", drain(t, s), "rival1 rival2 rival3 a1 a2 a3")
}

// tenantIdleSince: TenantIdle counts from when the tenant last had a task queued or in
// flight, however that ended; until it is over, the tenant's debt is kept.
func tenantIdleSince(t *testing.T, newSched maker) {
	const idleFor = time.Minute
	for name, end := range map[string]func(s sched){
		"cancelled": func(s sched) {
			var tk firq.Ticket
			admit(t, s, "a", task{Ticket: &tk})
			time.Sleep(2 * idleFor)
			tk.Cancel()
		},
		"expired": func(s sched) {
			admit(t, s, "a", task{Deadline: time.Now().Add(idleFor)})
			time.Sleep(2 * idleFor)
			_, _ = s.TryDequeue()
		},
		"cancelled soon": func(s sched) {
			var tk firq.Ticket
			admit(t, s, "a", task{Ticket: &tk})
			tk.Cancel()
		},
		"delivered": func(s sched) {
			load(t, s, "a", 1)
			time.Sleep(2 * idleFor)
			it := take(t, s) // being alone it has paid by then
			it.Charge(10)
			it.Done()
		},
		"in flight for long": func(s sched) {
			load(t, s, "a", 1)
			it := take(t, s)
			it.Charge(10)
			time.Sleep(2 * idleFor)
			it.Done()
		},
	} {
		s := open(t, newSched, config{Shards: 1, TenantIdle: idleFor, MaxInFlightPerTenant: 1})
		it := owing(t, s, "a", 0, 10)
		it.Done()
		time.Sleep(idleFor - 1)
		end(s)
		idle(t, s)
		time.Sleep(idleFor - 1)
		if n := s.Stats().Tenants; n != 1 {
			t.Errorf("%s: after less than TenantIdle %d tenants are known, want 1", name, n)
		}
		load(t, s, "a", 1)
		load(t, s, "rival", 1)
		if it := take(t, s); it.Tenant != "rival" {
			t.Errorf("%s: what a owes was forgotten", name)
		}
		first := take(t, s)
		first.Done()
		time.Sleep(2*idleFor + 1)
		if n := s.Stats().Tenants; n > 1 { // rival's delivery is in flight
			t.Errorf("%s: after more than TenantIdle %d tenants are known, want 1", name, n)
		}
	}
}

func tenantQueued(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, TenantIdle: time.Millisecond, MaxPerTenant: 2})
	load(t, s, "a", 2)
	elapse(5 * time.Millisecond)
	load(t, s, "other", 1)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	same(t, "nothing was lost", drain(t, s), "a1 other1 a2")
	forgotten(t, s)
}

func tenantNothingDelivered(t *testing.T, newSched maker) {
	s := open(t, newSched, config{TenantIdle: time.Millisecond, MaxGlobal: 10})
	for i := range 10 {
		admit(t, s, "expired"+strconv.Itoa(i), expired(i))
	}
	for i := range 100 {
		_ = s.Enqueue("rejected"+strconv.Itoa(i), task{Deadline: longPast})
	}
	idle(t, s)
	await(t, "the expired tasks to be worked off", func() bool { idle(t, s); return s.Len() == 0 })
	for i := range 100 {
		var tk firq.Ticket
		admit(t, s, "cancelled"+strconv.Itoa(i), task{Ticket: &tk})
		tk.Cancel()
	}
	forgotten(t, s)
}

// tenantLimits: a tenant that is forgotten while producers race to use it must not exist
// twice, with separate limits.
func tenantLimits(t *testing.T, newSched maker, shards int) {
	book := newLedger(4 * reps(3000))
	s := open(t, newSched, config{Shards: shards, TenantIdle: 1, MaxPerTenant: 1, MaxInFlightPerTenant: 1, OnDrop: book.onDrop})
	held := 0 // guarded by the in-flight limit of 1
	together(4, func(g int) {
		for i := range reps(3000) {
			id := g*reps(3000) + i
			if s.Enqueue("a", task{Payload: id}) == nil {
				book.note(id, accepted)
			}
			if it, ok := s.TryDequeue(); ok {
				if held++; held != 1 {
					t.Errorf("%d of the tenant in flight, the limit is 1", held)
				}
				book.note(it.Payload, delivered)
				held--
				it.Done()
			}
		}
	})
	for s.Len() > 0 {
		it := take(t, s)
		book.note(it.Payload, delivered)
		it.Done()
	}
	book.settle(t, s.Stats())
}

func tenantFlood(t *testing.T, newSched maker) {
	s := open(t, newSched, config{TenantIdle: time.Millisecond})
	bounded(t, 8<<20, func() {
		for i := range reps(100_000) {
			admit(t, s, "one-shot-"+strconv.Itoa(i), task{Payload: i})
			if it := take(t, s); it.Payload != i {
				t.Fatalf("delivered %s, want %d", show(it), i)
			}
		}
		forgotten(t, s)
	})
}

// tenantFloodQueued: a tenant that is always backlogged must not keep the idle
// ones from being forgotten.
func tenantFloodQueued(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, TenantIdle: time.Millisecond})
	load(t, s, "backlogged", 10)
	bounded(t, 8<<20, func() {
		for i := range reps(100_000) {
			admit(t, s, "one-shot-"+strconv.Itoa(i), task{Payload: i})
			if it := take(t, s); it.Tenant == "backlogged" {
				admit(t, s, it.Tenant, task{Payload: it.Payload})
				take(t, s)
			}
		}
	})
	await(t, "all but the backlogged tenant to be forgotten", func() bool {
		it := take(t, s)
		admit(t, s, it.Tenant, task{Payload: it.Payload})
		return s.Stats().Tenants <= 1
	})
}

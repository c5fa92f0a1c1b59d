package schedtest

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// MaxTenants keeps a new tenant out only while that many others are in use. A tenant with
// nothing queued, nothing in flight and no debt makes room.
var crowdChecks = []check{
	{name: "an idle tenant makes room", run: sharded(crowdIdle)},
	{name: "names that came and went keep no tenant out", run: sharded(crowdInvented)},
	{name: "a tenant with a task queued stays", run: sharded(crowdQueued)},
	{name: "a tenant with a task in flight stays", run: sharded(crowdInFlight)},
	{name: "a tenant in debt stays", run: sharded(crowdDebt)},
	{name: "a tenant in debt at one priority stays", run: crowdDebtAcross},
	{name: "a tenant whose debt is paid makes room when its quantum is set", run: crowdDebtPaid},
	{name: "a tenant with expired tasks only makes room", run: sharded(crowdExpired)},
	{name: "whatever the policy", run: crowdPolicies},
	{name: "a tenant that comes back is like any other", run: crowdBack},
	{name: "one that is refused takes no place", run: crowdRefused},
	{name: "no tenant is refused while there are few at a time", run: sharded(crowdFew)},
	{name: "nor while others are refused", run: sharded(crowdFewRefused)},
}

func crowdIdle(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxTenants: 3, TenantIdle: time.Hour})
	for _, tenant := range tenants(reps(500)) {
		load(t, s, tenant, 2)
		take(t, s)
		take(t, s)
		if n := s.Stats().Tenants; n > 3 {
			t.Fatalf("Stats().Tenants is %d, want at most 3", n)
		}
	}
	rejections(t, s, 0, 0, 0)
}

// crowdInvented: an attacker sends a burst of names and takes everything back.
func crowdInvented(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxTenants: 100, TenantIdle: time.Hour})
	tickets := make([]firq.Ticket, 100)
	for i := range tickets {
		admit(t, s, "invented"+strconv.Itoa(i), task{Ticket: &tickets[i]})
	}
	refuse(t, s, "honest", task{}, firq.ErrTooManyTenants)
	for i := range tickets {
		tickets[i].Cancel()
	}
	admit(t, s, "honest", task{})
	rejections(t, s, 0, 1, 0)
}

func crowdQueued(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxTenants: 3, TenantIdle: 1})
	for _, tenant := range []string{"a", "b", "c"} {
		load(t, s, tenant, 1)
	}
	for range 10 {
		refuse(t, s, "g", task{}, firq.ErrTooManyTenants)
	}
	for _, tenant := range []string{"d", "e", "f"} {
		take(t, s)
		load(t, s, tenant, 1)
		refuse(t, s, "g", task{}, firq.ErrTooManyTenants)
	}
}

func crowdInFlight(t *testing.T, newSched maker, shards int) {
	for _, flights := range []int{1, 2} {
		s := open(t, newSched, config{Shards: shards, MaxTenants: 2, MaxInFlightPerTenant: flights, TenantIdle: time.Hour})
		load(t, s, "a", 1)
		a := take(t, s)
		load(t, s, "b", 1)
		b := take(t, s)
		refuse(t, s, "c", task{}, firq.ErrTooManyTenants)
		b.Done()
		load(t, s, "c", 1)
		c := take(t, s)
		load(t, s, "a", 1) // whose delivery is still in flight
		refuse(t, s, "b", task{}, firq.ErrTooManyTenants)
		if inFlight(t, s, 2); flights == 1 {
			idle(t, s)
		}
		a.Done()
		c.Done()
		drain(t, s)
	}
}

// owing charges a tenant, which has nothing queued, that much.
func owing(t *testing.T, s sched, tenant string, p firq.Priority, much int64) item {
	t.Helper()
	admit(t, s, tenant, task{Priority: p})
	it := take(t, s)
	it.Charge(much)
	idle(t, s)
	return it
}

func crowdDebt(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxTenants: 2, Quantum: 1, TenantIdle: time.Hour})
	a, b := owing(t, s, "a", 0, 100), owing(t, s, "b", 0, 100)
	refuse(t, s, "c", task{}, firq.ErrTooManyTenants)
	b.Charge(-99)
	refuse(t, s, "c", task{}, firq.ErrTooManyTenants)
	b.Charge(-1)
	load(t, s, "c", 1)
	take(t, s)
	for _, tenant := range tenants(20) { // a stays, and what it owes
		load(t, s, tenant, 1)
		take(t, s)
	}
	if shards == 1 {
		load(t, s, "a", 1)
		load(t, s, "rival", 50)
		same(t, "a pays first", show(take(t, s)), "rival1")
	}
	a.Charge(-100)
	drain(t, s)
}

// crowdDebtAcross: a tenant has a separate account at each priority.
func crowdDebtAcross(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxTenants: 1, PriorityScope: firq.PriorityAcrossTenants, TenantIdle: time.Hour})
	a := owing(t, s, "a", firq.PriorityLow, 5)
	refuse(t, s, "b", task{}, firq.ErrTooManyTenants)
	a.Charge(-5)
	load(t, s, "b", 1)
}

// crowdDebtPaid: rounds have paid a's debt off, which shows once SetQuantum settles its
// account; a quantum that stays the same settles it too.
func crowdDebtPaid(t *testing.T, newSched maker) {
	for _, quantum := range []int64{1, 2} {
		s := open(t, newSched, config{Shards: 1, MaxTenants: 2, Quantum: 1, TenantIdle: time.Hour})
		owing(t, s, "a", 0, 2)
		load(t, s, "b", 5)
		for range 4 {
			take(t, s)
		}
		s.SetQuantum("a", quantum)
		load(t, s, "c", 1)
	}
}

func crowdExpired(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxTenants: 3, TenantIdle: time.Hour})
	for _, tenant := range []string{"a", "b", "c"} {
		admit(t, s, tenant, expired(1))
		admit(t, s, tenant, expired(2))
	}
	load(t, s, "d", 1)
	rejections(t, s, 0, 0, 0)
}

func crowdPolicies(t *testing.T, newSched maker) {
	for _, p := range []firq.Backpressure{
		policy(firq.Reject), policy(firq.DropOldest), policy(firq.DropNewest), {Policy: firq.Wait, Wait: time.Hour},
	} {
		s := open(t, newSched, config{MaxTenants: 1, Backpressure: p, TenantIdle: time.Hour})
		load(t, s, "a", 1)
		refuse(t, s, "b", task{}, firq.ErrTooManyTenants) // is not waited for
		take(t, s)
		load(t, s, "b", 1)
		take(t, s)
		admitBatch(t, s, "c", make([]task, 40), 40, nil)
		drain(t, s)
		if err := s.EnqueueWait(patient(t), "d", task{}); err != nil {
			t.Errorf("EnqueueWait of a new tenant: %v", err)
		}
		rejections(t, s, 0, 1, 0)
	}
}

// crowdBack: a tenant that comes back has the limits and the order of a new one, and the
// quantum that SetQuantum gave it.
func crowdBack(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxTenants: 2, MaxPerTenant: 3, TenantIdle: time.Hour})
	s.SetQuantum("a", 2)
	for range 10 {
		load(t, s, "a", 3)
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		load(t, s, "b", 3)
		same(t, "two of a's in a turn", drain(t, s), "a1 a2 b1 a3 b2 b3")
		load(t, s, "c", 1)
		load(t, s, "d", 1)
		same(t, "others", drain(t, s), "c1 d1")
	}
}

func crowdRefused(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxTenants: 2, MaxPerTenant: 1, TenantIdle: time.Hour})
	var tk firq.Ticket
	admit(t, s, "a", task{Ticket: &tk})
	for i := range 10 {
		refuse(t, s, "invalid"+strconv.Itoa(i), task{Ticket: &tk}, firq.ErrInvalidTask)
	}
	load(t, s, "b", 1)
	refuse(t, s, "c", task{}, firq.ErrTooManyTenants)
	drain(t, s)
}

// crowdFew: each of four goroutines uses one tenant at a time, each time another one, and
// there is room for four. So no newcomer ever has to be refused.
func crowdFew(t *testing.T, newSched maker, shards int) {
	const most = 4
	for _, flights := range []int{0, 1} {
		s := open(t, newSched, config{Shards: shards, MaxTenants: most, MaxInFlightPerTenant: flights, TenantIdle: time.Hour})
		together(most, func(g int) {
			for i := range reps(1500) {
				name := "t" + strconv.Itoa((g+i*most)%64) // of which some come back
				var tk firq.Ticket
				if err := s.Enqueue(name, task{Ticket: &tk}); err != nil {
					t.Errorf("shards %d: round %d of %s: %v", shards, i, name, err)
					return
				}
				if g%2 == 0 || !tk.Cancel() {
					tk.Cancel()
				}
				if g == 0 && i%8 == 0 {
					if it, ok := s.TryDequeue(); ok {
						it.Done()
					}
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}

// crowdFewRefused: the same, and half of the calls are refused for another reason.
func crowdFewRefused(t *testing.T, newSched maker, shards int) {
	const most = 2
	s := open(t, newSched, config{Shards: shards, MaxTenants: 1 + most, TenantIdle: time.Hour})
	var used firq.Ticket
	admit(t, s, "holder", task{Ticket: &used})
	var n atomic.Int64
	together(2*most, func(g int) {
		for i := range reps(1500) {
			name := "t" + strconv.Itoa(g+2*most*(i%16))
			if g >= most {
				_ = s.Enqueue(name, task{Ticket: &used}) // is refused, or finds no place
				continue
			}
			var tk firq.Ticket
			if err := s.Enqueue(name, task{Ticket: &tk}); err != nil {
				t.Errorf("shards %d: round %d of %s: %v", shards, i, name, err)
				return
			}
			n.Add(1)
			tk.Cancel()
		}
	})
	if t.Failed() {
		return
	}
	drain(t, s)
}

package schedtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// limitsAll are the methods of both cores that change a limit for all tenants. They are not
// part of firq.Scheduler; a scheduler without them skips these checks.
type limitsAll interface {
	SetMaxPerTenant(n int)
	SetMaxInFlightPerTenant(n int)
}

var limitsAllChecks = []check{
	{name: "SetMaxPerTenant, lower and higher", run: sharded(maxPerTenant)},
	{name: "SetMaxPerTenant does not change limits of single tenants", run: maxPerTenantOwn},
	{name: "SetMaxPerTenant wakes producers", run: maxPerTenantWakes},
	{name: "SetMaxPerTenant is strict for later calls", run: func(t *testing.T, m maker) {
		all(t, m, config{})
		strictlyLater(t, m, firq.ErrTenantFull, func(s sched, n int) { s.(limitsAll).SetMaxPerTenant(n) })
	}},
	{name: "SetMaxPerTenant holds for tenants that come at the same time", run: maxPerTenantCome},
	{name: "SetMaxInFlightPerTenant, lower and higher", run: sharded(maxInFlight)},
	{name: "SetMaxInFlightPerTenant wakes consumers", run: maxInFlightWakes},
	{name: "SetMaxInFlightPerTenant under load", run: maxInFlightLoad},
	{name: "what makes no sense panics", run: limitsAllPanics},
}

// all opens a scheduler that has these methods, or skips the test.
func all(t *testing.T, newSched maker, cfg config) (sched, limitsAll) {
	t.Helper()
	s := open(t, newSched, cfg)
	set, ok := s.(limitsAll)
	if !ok {
		t.Skip("it cannot change the limits of all tenants")
	}
	return s, set
}

func maxPerTenant(t *testing.T, newSched maker, shards int) {
	s, set := all(t, newSched, config{Shards: shards, MaxPerTenant: 3, MaxGlobal: 100})
	names := tenants(4)
	for _, name := range names {
		load(t, s, name, 3)
		refuse(t, s, name, task{}, firq.ErrTenantFull)
	}
	set.SetMaxPerTenant(5)
	for _, name := range append(names, "new") {
		n := 2
		if name == "new" {
			n = 5
		}
		load(t, s, name, n)
		refuse(t, s, name, task{}, firq.ErrTenantFull)
	}
	set.SetMaxPerTenant(2)
	drain(t, s)
	for _, name := range append(names, "newer") {
		load(t, s, name, 2)
		refuse(t, s, name, task{}, firq.ErrTenantFull)
	}
	set.SetMaxPerTenant(0)
	load(t, s, names[0], 100-10)
	refuse(t, s, names[0], task{}, firq.ErrGlobalFull)
}

func maxPerTenantOwn(t *testing.T, newSched maker) {
	s, set := all(t, newSched, config{MaxPerTenant: 3, MaxPerTenantFor: func(tenant string) int {
		return map[string]int{"big": 6}[tenant]
	}})
	s.SetLimit("set", 4)
	for tenant, n := range map[string]int{"big": 6, "set": 4, "plain": 3} {
		load(t, s, tenant, n)
	}
	set.SetMaxPerTenant(5)
	load(t, s, "plain", 2)
	for _, tenant := range []string{"big", "set", "plain"} {
		refuse(t, s, tenant, task{}, firq.ErrTenantFull)
	}
	s.SetLimit("set", 0)
	load(t, s, "set", 1)
	refuse(t, s, "set", task{}, firq.ErrTenantFull)
}

func maxPerTenantWakes(t *testing.T, newSched maker) {
	s, set := all(t, newSched, config{MaxPerTenant: 1})
	load(t, s, "a", 1)
	answers := waiters(t, s, context.Background(), "a", 3)
	linger(1)
	set.SetMaxPerTenant(4)
	for range 3 {
		gets(t, answers, "EnqueueWait", nil)
	}
	length(t, s, 4)
}

// maxPerTenantCome: tenants come for the first time while the limit falls, with and without
// MaxPerTenantFor. In the end none has more room than the limit.
func maxPerTenantCome(t *testing.T, newSched maker) {
	const crowd, high, low = 8, 9, 2
	for _, asks := range []bool{false, true} {
		cfg := config{Shards: 4}
		if asks {
			cfg.MaxPerTenantFor = func(string) int { return 0 }
		}
		s, set := all(t, newSched, cfg)
		for round := range reps(300) {
			set.SetMaxPerTenant(high)
			name := func(i int) string { return fmt.Sprint(round, "/", i) }
			together(crowd+1, func(i int) {
				if i == crowd {
					set.SetMaxPerTenant(low)
					return
				}
				_ = s.Enqueue(name(i), task{})
			})
			for i := range crowd {
				load(t, s, name(i), low-1)
				refuse(t, s, name(i), task{}, firq.ErrTenantFull)
			}
			drain(t, s)
		}
	}
}

func maxInFlight(t *testing.T, newSched maker, shards int) {
	s, set := all(t, newSched, config{Shards: shards, MaxInFlightPerTenant: 2, MaxInFlightFor: func(tenant string) int {
		return map[string]int{"own": 3}[tenant]
	}})
	load(t, s, "own", 9)
	own := flying(t, s, 3)
	load(t, s, "a", 9)
	items := flying(t, s, 2)
	set.SetMaxInFlightPerTenant(5)
	items = append(items, flying(t, s, 3)...)
	set.SetMaxInFlightPerTenant(1)
	for i := range items {
		idle(t, s)
		done(items[i])
	}
	items = flying(t, s, 1)
	load(t, s, "b", 2) // a new tenant
	items = append(items, flying(t, s, 1)...)
	set.SetMaxInFlightPerTenant(0)
	for range 3 + 1 { // what is left of a and b
		take(t, s)
	}
	idle(t, s)
	done(own...)
	done(items...)
	flying(t, s, 3)
}

func maxInFlightWakes(t *testing.T, newSched maker) {
	s, set := all(t, newSched, config{MaxInFlightPerTenant: 1})
	load(t, s, "a", 3)
	flying(t, s, 1)
	taken := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := s.Dequeue(context.Background())
			taken <- err
		}()
	}
	linger(1)
	set.SetMaxInFlightPerTenant(3)
	for range 2 {
		gets(t, taken, "Dequeue", nil)
	}
}

// maxInFlightLoad: while the limit changes all the time no task is lost, and in the end the
// last limit holds.
func maxInFlightLoad(t *testing.T, newSched maker) {
	s, set := all(t, newSched, config{Shards: 2, MaxInFlightPerTenant: 1})
	names, each := tenants(5), reps(2000)
	var taken atomic.Int64
	together(4, func(i int) {
		switch i {
		case 0:
			for n := range each {
				set.SetMaxInFlightPerTenant(1 + n%4)
			}
		case 1:
			for n := range each {
				_ = s.Enqueue(names[n%5], task{})
			}
		default:
			for taken.Load() < int64(each) {
				if it, ok := s.TryDequeue(); ok {
					taken.Add(1)
					it.Done()
				}
			}
		}
	})
	set.SetMaxInFlightPerTenant(2)
	for _, name := range names {
		load(t, s, name, 4)
	}
	flying(t, s, 2*len(names))
}

func limitsAllPanics(t *testing.T, newSched maker) {
	_, set := all(t, newSched, config{MaxInFlightPerTenant: 1})
	_, none := all(t, newSched, config{})
	for name, call := range map[string]func(){
		"per tenant, negative":   func() { set.SetMaxPerTenant(-1) },
		"per tenant, too large":  func() { set.SetMaxPerTenant(firq.MaxTasks + 1) },
		"in flight, negative":    func() { set.SetMaxInFlightPerTenant(-1) },
		"in flight, too large":   func() { set.SetMaxInFlightPerTenant(firq.MaxTasks + 1) },
		"in flight, not counted": func() { none.SetMaxInFlightPerTenant(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

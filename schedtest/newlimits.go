package schedtest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// SetMaxGlobal and SetLimit.
var newLimitChecks = []check{
	{name: "SetMaxGlobal, lower and higher", run: sharded(newGlobal, 1, 2, 8)},
	{name: "SetLimit, lower and higher", run: sharded(newTenantLimit)},
	{name: "without MaxPerTenant a tenant goes up with MaxGlobal", run: newGlobalShared},
	{name: "SetLimit of 0 is what Config says", run: newLimitZero},
	{name: "SetLimit works before the first task, and outlives a forgotten tenant", run: newLimitKept},
	{name: "SetLimit above MaxGlobal", run: newLimitAbove},
	{name: "numbers that make no sense panic", run: newLimitPanics},
	{name: "a batch is admitted up to the new limit", run: newLimitBatch},
	{name: "what expires or is cancelled above a limit makes no room", run: newLimitLeft},
	{name: "a policy that evicts puts one in the place of one", run: newLimitEvict},
	{name: "a threshold is of the present MaxGlobal", run: newLimitThreshold},
	{name: "a higher MaxGlobal wakes producers", run: newGlobalWakes},
	{name: "a higher limit wakes producers", run: newLimitWakes},
	{name: "a limit that rises too little", run: newLimitWakesFew},
	{name: "Shutdown and Close", run: newLimitEnds},
	{name: "against a count", run: newLimitRandom},
}

// global checks the fields of Stats that depend on MaxGlobal.
func global(t *testing.T, s sched, queued, most int) {
	t.Helper()
	length(t, s, queued)
	if st := s.Stats(); st.QueueLen != queued || st.MaxGlobal != most || st.QueueSaturation != float64(queued)/float64(most) {
		t.Errorf("QueueLen %d, MaxGlobal %d, QueueSaturation %v; want %d of %d", st.QueueLen, st.MaxGlobal, st.QueueSaturation, queued, most)
	}
}

func newGlobal(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 6})
	names := tenants(6)
	for i, name := range names {
		admit(t, s, name, task{Payload: i})
	}
	s.SetMaxGlobal(3)
	global(t, s, 6, 3)
	for queued := 6; queued > 2; queued-- {
		refuse(t, s, "x", task{}, firq.ErrGlobalFull)
		refuse(t, s, names[0], task{}, firq.ErrGlobalFull)
		take(t, s)
	}
	global(t, s, 2, 3)
	admit(t, s, "x", task{})
	refuse(t, s, "y", task{}, firq.ErrGlobalFull)
	s.SetMaxGlobal(3)
	refuse(t, s, "y", task{}, firq.ErrGlobalFull)
	s.SetMaxGlobal(100)
	for i := 3; i < 100; i++ {
		admit(t, s, names[i%6], task{Payload: i})
	}
	refuse(t, s, "y", task{}, firq.ErrGlobalFull)
	s.SetMaxGlobal(1)
	s.SetMaxGlobal(50) // still below what is queued
	refuse(t, s, "y", task{}, firq.ErrGlobalFull)
	s.SetMaxGlobal(101)
	admit(t, s, "y", task{})
	refuse(t, s, "y", task{}, firq.ErrGlobalFull)
	global(t, s, 101, 101)
	for range 101 {
		take(t, s)
	}
	idle(t, s)
	rejections(t, s, 8+1+1+1+1+1, 0, 0)
}

func newTenantLimit(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, MaxPerTenant: 5})
	load(t, s, "a", 5)
	load(t, s, "b", 5)
	s.SetLimit("a", 2)
	length(t, s, 10)
	for queued := 5; queued > 1; {
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		refuse(t, s, "b", task{}, firq.ErrTenantFull)
		if it := take(t, s); it.Tenant == "a" {
			queued--
		} else {
			admit(t, s, "b", task{})
		}
	}
	admit(t, s, "a", task{})
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	s.SetLimit("a", 40) // more than Config.MaxPerTenant
	for range 38 {
		admit(t, s, "a", task{})
	}
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	refuse(t, s, "b", task{}, firq.ErrTenantFull)
	drain(t, s)
	load(t, s, "a", 40)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
}

func newGlobalShared(t *testing.T, newSched maker) {
	for _, per := range []int{0, 7} {
		s := open(t, newSched, config{MaxGlobal: 3, MaxPerTenant: per})
		load(t, s, "a", 3)
		s.SetMaxGlobal(6)
		load(t, s, "a", 3)
		refuse(t, s, "a", task{}, firq.ErrGlobalFull)
		s.SetMaxGlobal(10)
		load(t, s, "a", 1)
		want := firq.ErrTenantFull
		if per == 0 {
			load(t, s, "a", 3)
			want = firq.ErrGlobalFull
		}
		refuse(t, s, "a", task{}, want)
	}
}

func newLimitZero(t *testing.T, newSched maker) {
	limit := 3
	for what, cfg := range map[string]config{
		"MaxPerTenant": {MaxPerTenant: 3}, "MaxPerTenantFor": {MaxPerTenantFor: func(string) int { return limit }},
		"MaxGlobal": {MaxGlobal: 3},
	} {
		s := open(t, newSched, cfg)
		s.SetLimit("a", 1)
		load(t, s, "a", 1)
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		s.SetLimit("a", 0)
		s.SetLimit("nobody", 0)
		load(t, s, "a", 2)
		if err := s.Enqueue("a", task{}); err == nil {
			t.Errorf("%s: a fourth of three", what)
		}
	}
}

func newLimitKept(t *testing.T, newSched maker) {
	s := open(t, newSched, config{TenantIdle: time.Millisecond, MaxPerTenant: 9})
	s.SetLimit("a", 2)
	for range 2 {
		load(t, s, "a", 2)
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		drain(t, s)
		forgotten(t, s)
	}
	s.SetLimit("a", 3)
	load(t, s, "a", 3)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
}

func newLimitAbove(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 3, MaxPerTenant: 1})
	s.SetLimit("a", math.MaxInt)
	load(t, s, "a", 3)
	refuse(t, s, "a", task{}, firq.ErrGlobalFull)
	s.SetMaxGlobal(firq.MaxTasks)
	load(t, s, "a", 5)
	s.SetLimit("a", 9)
	load(t, s, "a", 1)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	s.SetMaxGlobal(2)
	refuse(t, s, "a", task{}, firq.ErrGlobalFull)
	refuse(t, s, "b", task{}, firq.ErrGlobalFull)
}

func newLimitPanics(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 2, MaxPerTenant: 1})
	for what, f := range map[string]func(){
		"SetMaxGlobal: n is 0": func() { s.SetMaxGlobal(0) }, "SetMaxGlobal: n is -1": func() { s.SetMaxGlobal(-1) },
		fmt.Sprint("SetMaxGlobal: n is ", firq.MaxTasks+1): func() { s.SetMaxGlobal(firq.MaxTasks + 1) },
		"SetLimit: n is -1": func() { s.SetLimit("a", -1) },
	} {
		if o := outcomeOf(f); o.returned || !strings.Contains(fmt.Sprint(o.panicked), what) {
			t.Errorf("%s: %+v", what, o)
		}
	}
	load(t, s, "a", 1)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	load(t, s, "b", 1)
	global(t, s, 2, 2)
}

func newLimitBatch(t *testing.T, newSched maker) {
	for _, x := range []struct {
		set  func(s sched, n int)
		want error
	}{{sched.SetMaxGlobal, firq.ErrGlobalFull}, {func(s sched, n int) { s.SetLimit("a", n) }, firq.ErrTenantFull}} {
		s := open(t, newSched, config{Shards: 1})
		load(t, s, "a", 5)
		x.set(s, 2)
		for _, want := range []int{0, 0, 0, 0, 1, 1} {
			admitBatch(t, s, "a", make([]task, 4), want, x.want)
			take(t, s)
		}
		x.set(s, 40)
		admitBatch(t, s, "a", make([]task, 64), 39, x.want)
	}
}

func newLimitLeft(t *testing.T, newSched maker) {
	for _, x := range []struct {
		set  func(s sched, n int)
		want error
	}{{sched.SetMaxGlobal, firq.ErrGlobalFull}, {func(s sched, n int) { s.SetLimit("a", n) }, firq.ErrTenantFull}} {
		var log dropLog
		s := open(t, newSched, config{Shards: 1, OnDrop: log.onDrop})
		var tk firq.Ticket
		admit(t, s, "a", task{Payload: 1, Ticket: &tk})
		admit(t, s, "a", expired(2))
		load(t, s, "a", 3)
		x.set(s, 2)
		refuse(t, s, "a", task{}, x.want) // 2 is dropped for it, and that is not enough
		if !tk.Cancel() {
			t.Error("Cancel failed")
		}
		length(t, s, 3)
		refuse(t, s, "a", task{}, x.want)
		take(t, s)
		refuse(t, s, "a", task{}, x.want)
		take(t, s)
		admit(t, s, "a", task{})
		refuse(t, s, "a", task{}, x.want)
		same(t, "drops", log.all(), "a2 expired, a1 cancelled")
	}
}

func newLimitEvict(t *testing.T, newSched maker) {
	for _, set := range []func(s sched, n int){sched.SetMaxGlobal, func(s sched, n int) { s.SetLimit("a", n) }} {
		s := open(t, newSched, config{Shards: 1, Backpressure: policy(firq.DropOldest)})
		load(t, s, "a", 4)
		set(s, 2)
		admit(t, s, "a", task{Payload: 5})
		admit(t, s, "a", task{Payload: 6})
		length(t, s, 4)
		same(t, "two less", next(t, s, 2), "a3 a4")
		admit(t, s, "a", task{Payload: 7}) // evicts 5
		length(t, s, 2)
		take(t, s)
		admit(t, s, "a", task{Payload: 8})
		same(t, "the rest", drain(t, s), "a7 a8")
	}
}

func newLimitThreshold(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxGlobal: 4, DynamicThreshold: 1})
	load(t, s, "a", 2)
	refuse(t, s, "a", task{}, firq.ErrTenantThreshold)
	s.SetMaxGlobal(8)
	load(t, s, "a", 2)
	refuse(t, s, "a", task{}, firq.ErrTenantThreshold)
	s.SetMaxGlobal(5)
	refuse(t, s, "a", task{}, firq.ErrTenantThreshold)
	load(t, s, "b", 1)
	refuse(t, s, "b", task{}, firq.ErrGlobalFull)
	s.SetLimit("a", 2) // 4 are queued
	s.SetMaxGlobal(100)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	drain(t, s)
	load(t, s, "a", 2)
}

package schedtest

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Which limit answers with what, and when capacity is free again.
var limitChecks = []check{
	{name: "MaxGlobal", run: sharded(limitGlobal, 1, 2, 8)},
	{name: "MaxPerTenant", run: limitTenant},
	{name: "both full is ErrGlobalFull", run: limitBoth},
	{name: "MaxPerTenant above MaxGlobal", run: limitAbove},
	{name: "MaxTenants", run: limitTenants},
	{name: "every rejection matches ErrRejected only as it should", run: limitErrors},
	{name: "a batch is admitted up to the limit", run: limitBatch},
	{name: "all of the capacity can be used from any tenant", run: sharded(limitAllUsable, 1, 2, 8, 64)},
	{name: "a rejected task leaves nothing behind", run: limitNoTrace},
}

// rejections checks the counters of rejections.
func rejections(t *testing.T, s sched, global, tenant, timeout uint64) {
	t.Helper()
	st := s.Stats()
	if st.RejectedGlobal != global || st.RejectedTenant != tenant || st.TimeoutRejected != timeout {
		t.Errorf("RejectedGlobal %d, RejectedTenant %d, TimeoutRejected %d, want %d, %d, %d",
			st.RejectedGlobal, st.RejectedTenant, st.TimeoutRejected, global, tenant, timeout)
	}
	balanced(t, st)
}

func limitGlobal(t *testing.T, newSched maker, shards int) {
	for _, most := range []int{1, 2, 3, 10, 1000} {
		s := open(t, newSched, config{Shards: shards, MaxGlobal: most})
		for i := range most {
			admit(t, s, "t"+strconv.Itoa(i), task{Payload: i})
		}
		refuse(t, s, "t0", task{}, firq.ErrGlobalFull)
		refuse(t, s, "another", task{}, firq.ErrGlobalFull)
		length(t, s, most)
		take(t, s)
		length(t, s, most-1)
		admit(t, s, "yet another", task{})
		refuse(t, s, "t0", task{}, firq.ErrGlobalFull)
		rejections(t, s, 3, 0, 0)
		if st := s.Stats(); st.QueueLen != most || st.MaxGlobal != most || st.QueueSaturation != 1 {
			t.Errorf("QueueLen %d, MaxGlobal %d, QueueSaturation %v when full", st.QueueLen, st.MaxGlobal, st.QueueSaturation)
		}
	}
}

func limitTenant(t *testing.T, newSched maker) {
	for _, most := range []int{1, 2, 3, 100} {
		s := open(t, newSched, config{MaxPerTenant: most})
		load(t, s, "a", most)
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		load(t, s, "b", most)
		refuse(t, s, "b", task{}, firq.ErrTenantFull)
		it := take(t, s)
		admit(t, s, it.Tenant, task{})
		refuse(t, s, it.Tenant, task{}, firq.ErrTenantFull)
		rejections(t, s, 0, 3, 0)
	}
}

func limitBoth(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 2, MaxPerTenant: 1})
	load(t, s, "a", 1)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
	load(t, s, "b", 1)
	refuse(t, s, "a", task{}, firq.ErrGlobalFull)
	rejections(t, s, 1, 1, 0)
}

func limitAbove(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxGlobal: 3, MaxPerTenant: 5})
	load(t, s, "a", 3)
	refuse(t, s, "a", task{}, firq.ErrGlobalFull)
}

func limitTenants(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxTenants: 3, TenantIdle: time.Millisecond})
	for _, tenant := range []string{"a", "b", "c"} {
		load(t, s, tenant, 2)
	}
	refuse(t, s, "d", task{}, firq.ErrTooManyTenants)
	load(t, s, "a", 1) // known ones are not affected
	rejections(t, s, 0, 1, 0)
	drain(t, s)
	await(t, "a place for a new tenant once the others are idle", func() bool {
		return s.Enqueue("d", task{}) == nil
	})
}

func limitErrors(t *testing.T, newSched maker) {
	reasons := []error{firq.ErrGlobalFull, firq.ErrTenantFull, firq.ErrTenantThreshold, firq.ErrTooManyTenants, firq.ErrTimeout}
	for want, cfg := range map[error]config{
		firq.ErrGlobalFull:      {MaxGlobal: 2},
		firq.ErrTenantFull:      {MaxPerTenant: 2},
		firq.ErrTenantThreshold: {MaxGlobal: 4, DynamicThreshold: 1},
		firq.ErrTooManyTenants:  {MaxTenants: 1},
		firq.ErrTimeout:         {MaxGlobal: 2, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Millisecond}},
	} {
		s := open(t, newSched, cfg)
		load(t, s, "a", 2)
		tenant := "a"
		if want == firq.ErrTooManyTenants {
			tenant = "b"
		}
		err := s.Enqueue(tenant, task{})
		n, batch := s.EnqueueBatch(tenant, []task{{}, {}})
		if err != want || batch != want || n != 0 {
			t.Errorf("%v: Enqueue answers %v, EnqueueBatch %d, %v", want, err, n, batch)
		}
		if !errors.Is(err, firq.ErrRejected) || errors.Is(err, firq.ErrClosed) {
			t.Errorf("%v does not match ErrRejected, or matches ErrClosed", err)
		}
		for _, other := range reasons {
			if errors.Is(err, other) != (other == want) {
				t.Errorf("%v matches %v", err, other)
			}
		}
	}
}

func limitBatch(t *testing.T, newSched maker) {
	batch := []task{{Payload: 1}, {Payload: 2}, {Payload: 3}, {Payload: 4}, {Payload: 5}}
	for want, cfg := range map[error]config{
		firq.ErrGlobalFull:      {Shards: 1, MaxGlobal: 3},
		firq.ErrTenantFull:      {Shards: 1, MaxPerTenant: 3},
		firq.ErrTenantThreshold: {Shards: 1, MaxGlobal: 6, DynamicThreshold: 1},
	} {
		s := open(t, newSched, cfg)
		admitBatch(t, s, "a", batch, 3, want)
		same(t, "the prefix", drain(t, s), "a1 a2 a3")
		admitBatch(t, s, "a", batch[:3], 3, nil)
	}
}

// limitAllUsable moves the capacity around among tenants, one call after another: while
// one place is left, no tenant may be rejected.
func limitAllUsable(t *testing.T, newSched maker, shards int) {
	const most = 100
	names := tenants(64)
	s := open(t, newSched, config{Shards: shards, MaxGlobal: most})
	for i := range most - 1 {
		admit(t, s, names[i%3], task{})
	}
	for i := range reps(2000) {
		admit(t, s, names[i*7%64], task{})
		refuse(t, s, names[i*5%64], task{}, firq.ErrGlobalFull)
		take(t, s)
	}
	for range most - 1 {
		take(t, s)
	}
	idle(t, s)
	for i := range most {
		admit(t, s, names[63-i%2], task{})
	}
	length(t, s, most)
}

func limitNoTrace(t *testing.T, newSched maker) {
	var log dropLog
	s := open(t, newSched, config{Shards: 1, MaxPerTenant: 2, OnDrop: log.onDrop})
	load(t, s, "a", 2)
	var tk firq.Ticket
	for range 100 {
		refuse(t, s, "a", task{Payload: 9, Ticket: &tk}, firq.ErrTenantFull)
	}
	if tk.Cancel() {
		t.Error("the ticket of a rejected task can be cancelled")
	}
	same(t, "what was accepted", drain(t, s), "a1 a2")
	admit(t, s, "b", task{Payload: 3, Ticket: &tk})
	if !tk.Cancel() {
		t.Error("the ticket of a rejected task does not serve again")
	}
	same(t, "drops", log.all(), "b3 cancelled")

	s = open(t, newSched, config{MaxGlobal: 1, MaxTenants: 2})
	load(t, s, "a", 1)
	for i := range 10 {
		refuse(t, s, "new"+strconv.Itoa(i), task{}, firq.ErrRejected)
	}
	take(t, s)
	load(t, s, "z", 1) // the ten that were rejected are not known
}

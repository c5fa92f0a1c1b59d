package schedtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func flowCharge(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	flowLoad(t, s, "a", 1, 3, 1)
	flowLoad(t, s, "a", 2, 8, 1)
	it := take(t, s)
	it.Charge(3)
	same(t, "flow 1 was costlier", show(it)+" "+drain(t, s), "a101 a201 a202 a203 a204 a102 a205 a103 a206 a207 a208")

	s = open(t, newSched, config{Shards: 1, Quantum: 10})
	work := map[uint64]int64{}
	actual := []int64{3, 30}
	for flow := range 2 {
		flowLoad(t, s, "a", flow, 20, 10)
	}
	for range reps(4000) {
		it := take(t, s)
		work[it.Flow] += actual[it.Flow]
		it.Charge(actual[it.Flow] - it.Cost)
		admit(t, s, "a", task{Flow: it.Flow, Cost: it.Cost})
	}
	within(t, work[0], work[1], 1, 0.05)
}

// flowDebt: a flow that sends one task at a time pays what it is charged, also if the
// charge comes while the flow, or all of its tenant, has nothing queued.
func flowDebt(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	flowLoad(t, s, "a", 1, 1, 1)
	it := take(t, s)
	idle(t, s)
	it.Charge(3)
	flowLoad(t, s, "a", 2, 8, 1)
	flowLoad(t, s, "a", 1, 1, 1)
	same(t, "charged while the tenant is idle", drain(t, s), "a201 a202 a203 a204 a101 a205 a206 a207 a208")

	s = open(t, newSched, config{Shards: 1})
	flowLoad(t, s, "a", 2, 9, 1)
	flowLoad(t, s, "a", 1, 1, 1)
	same(t, "first", next(t, s, 1), "a201")
	it = take(t, s)
	it.Charge(4)
	same(t, "while it is in debt", next(t, s, 2), "a202 a203")
	flowLoad(t, s, "a", 1, 1, 1)
	got := drain(t, s)
	if at := slices.Index(strings.Fields(got), "a101"); at < 2 || at > 4 {
		t.Errorf("after a charge of 4, of which two rounds have paid: %s", got)
	}
	// A flow alone is served whatever it owes.
	flowLoad(t, s, "a", 1, 2, 1)
	it = take(t, s)
	it.Charge(1 << 40)
	same(t, "alone", drain(t, s), "a102")
}

// flowEvict: a flow that fills up its tenant evicts its own tasks, not those of others.
func flowEvict(t *testing.T, newSched maker) {
	for policy, want := range map[firq.Policy]string{
		firq.DropOldest: "a103 a201 a104 a105 a106",
		firq.DropNewest: "a101 a201 a102 a103 a106",
	} {
		s := open(t, newSched, config{Shards: 1, MaxPerTenant: 5, Backpressure: firq.Backpressure{Policy: policy}})
		flowLoad(t, s, "a", 1, 2, 1)
		flowLoad(t, s, "a", 2, 1, 1)
		for i := 3; i <= 6; i++ {
			admit(t, s, "a", task{Payload: 100 + i, Flow: 1})
		}
		same(t, fmt.Sprint("policy ", policy), drain(t, s), want)
	}
}

func flowGone(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 2})
	var first, middle firq.Ticket
	admit(t, s, "a", task{Payload: 101, Flow: 1, Ticket: &first})
	admit(t, s, "a", task{Payload: 102, Flow: 1, Deadline: time.Now().Add(-time.Hour)})
	flowLoad(t, s, "a", 2, 2, 1)
	admit(t, s, "a", task{Payload: 103, Flow: 1, Ticket: &middle})
	admit(t, s, "a", task{Payload: 104, Flow: 1})
	if !first.Cancel() || !middle.Cancel() {
		t.Fatal("Cancel reports false for a queued task")
	}
	same(t, "what is left", drain(t, s), "a104 a201 a202")
	if st := s.Stats(); st.Expired != 1 || st.Cancelled != 2 {
		t.Errorf("%d expired, %d cancelled; want 1 and 2", st.Expired, st.Cancelled)
	}
}

func flowInFlight(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxInFlightPerTenant: 1})
	flowLoad(t, s, "a", 1, 3, 1)
	flowLoad(t, s, "a", 2, 2, 2)
	flowLoad(t, s, "b", 0, 2, 1)
	var got []string
	for s.Len() > 0 {
		it := take(t, s)
		got = append(got, show(it))
		it.Done()
	}
	var as []string
	for _, name := range got {
		if name[0] == 'a' {
			as = append(as, name)
		}
	}
	same(t, "the flows of a", strings.Join(as, " "), "a101 a102 a201 a103 a202")
}

func flowAcross(t *testing.T, newSched maker) {
	s := open(t, newSched, across(config{}))
	for i := range 2 {
		for _, p := range []firq.Priority{firq.PriorityLow, firq.PriorityHigh} {
			for flow := range 2 {
				admit(t, s, "a", task{Payload: int(p)*100 + flow*10 + i, Flow: uint64(flow), Priority: p})
			}
			admit(t, s, "b", task{Payload: int(p)*100 + i, Priority: p})
		}
	}
	same(t, "levels, tenants, flows", drain(t, s), "a400 b400 a410 b401 a401 a411 a200 b200 a210 b201 a201 a211")
}

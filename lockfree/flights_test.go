package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
)

// In the middle of a hold, a tenant that was served its last task comes to a lower in-flight
// limit, which it has reached already. So what has come in of it is not delivered.
func TestLowerInFlightLimitInHold(t *testing.T) {
	for _, cfg := range []config{{}, {Order: firq.LIFO}, {TargetWait: far().Sub(past())}} {
		limit := 3
		cfg.MaxInFlightFor = func(string) int { return limit }
		s := build(t, cfg)
		admit(t, s, "a", task{Payload: 1})
		tn, _ := s.tenants.Load("a")
		sh, now := tn.shard, s.shared.Clock.Now()
		var first, none item
		sh.lock()
		if !serveOne(sh, &first, now, sh.Limit()) {
			t.Fatal("nothing is delivered")
		}
		limit = 1
		admit(t, s, "a", task{Payload: 2}, task{Payload: 2})
		if serveOne(sh, &none, now, sh.Limit()) {
			t.Errorf("%v: a tenant at its in-flight limit was served", cfg.Order)
		}
		s.credit.Give(1)
		sh.unlock()
		nothing(t, s)
		for it := first; s.Len() > 0; {
			it.Done()
			it = take(t, s, 2)
			nothing(t, s)
		}
	}
}

// A task that waits in the inbox when its tenant comes to its in-flight limit keeps the tenant's place:
// the round that begins then brings it a quantum, as one that waits in the queue has.
func TestBlockedWithTaskInInbox(t *testing.T) {
	s := build(t, config{MaxInFlightPerTenant: 1, Quantum: 1, MaxGlobal: 4, MaxPerTenant: 2})
	polled(t, s, "a", 2, 3)
	admit(t, s, "b", task{Payload: 5})
	two := take(t, s, 2)
	admit(t, s, "a", task{Payload: 7})
	five := take(t, s, 5)
	nothing(t, s)
	admit(t, s, "b", task{Payload: 1})
	nothing(t, s)
	refuse(t, s, "a", firq.ErrTenantFull)
	nothing(t, s)
	admit(t, s, "b", task{Payload: 8})
	nothing(t, s)
	five.Done() // b comes first, but has not the deficit for a task
	two.Done()
	for _, next := range []int{3, 7, 1, 8} { // 7 is paid for with what the round has brought that b's turn is in
		it := take(t, s, next)
		it.Done()
	}
}

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

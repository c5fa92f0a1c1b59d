package queuetest

import (
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
)

func testAckTwiceInOneCall(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, job{}, job{})
	its := now(t, q, 2)
	want(t, q.Ack(ctx, its[0], its[0]), queue.ErrLeaseLost)
	st := books(t, q)
	same(t, "Acked", st.Acked, 1)
	same(t, "LeaseLost", st.LeaseLost, 1)
}

// A tenant pays for work that fails: Nack sends what Charge says.
func testNackCharges(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{})
	put(t, q, many("fails", 60)...)
	put(t, q, many("works", 60)...)
	n := map[string]int{}
	for range 60 {
		its := now(t, q, 1)
		same(t, "delivered", len(its), 1)
		n[its[0].Tenant]++
		if its[0].Tenant == "works" {
			ok(t, q.Ack(bounded(t), its[0]))
			continue
		}
		its[0].Charge(4)
		ok(t, q.Nack(bounded(t), its[0], queue.Retry{After: time.Hour}))
	}
	if n["fails"] < 9 || n["fails"] > 11 { // of 60, with costs of 5 and 1
		t.Errorf("delivered: %v", n)
	}
}

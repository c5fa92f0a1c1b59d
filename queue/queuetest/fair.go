package queuetest

import (
	"fmt"
	"testing"

	"github.com/firq-go/firq/queue"
)

func testIdleSavesNothing(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, many("busy", 200)...)
	put(t, q, job{Tenant: "late"})
	ok(t, q.Ack(ctx, now(t, q, 100)...))
	put(t, q, many("late", 50)...)
	n := 0
	for _, it := range now(t, q, 20) {
		if it.Tenant == "late" {
			n++
		}
	}
	if n < 9 || n > 11 {
		t.Errorf("%d of 20 are the late one's", n)
	}
}

// A tenant that queues one task at a time gains nothing over one with a backlog.
func testComingAndGoingGainsNothing(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, many("backlog", 200)...)
	n := map[string]int{}
	for range 20 {
		put(t, q, job{Tenant: "one", Cost: 3})
		for {
			its := now(t, q, 1)
			ok(t, q.Ack(ctx, its...))
			n[its[0].Tenant] += int(its[0].Cost)
			if its[0].Tenant == "one" {
				break
			}
		}
	}
	if d := n["one"] - n["backlog"]; d > 4 || d < -4 {
		t.Errorf("served: %v", n)
	}
}

// What a task has cost is known only after it: Charge corrects its tenant's share.
func testCharge(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, append(many("expensive", 100), many("cheap", 100)...)...)
	n := map[string]int{}
	for range 80 {
		it := now(t, q, 1)[0]
		n[it.Tenant]++
		if it.Tenant == "expensive" {
			it.Charge(3)
		}
		ok(t, q.Ack(ctx, it))
	}
	if n["expensive"] < 15 || n["expensive"] > 17 {
		t.Errorf("costs of 4 and 1, served: %v", n)
	}
}

// A paused tenant, and one at its limit, cost others nothing, and save nothing up.
func testPausedSavesNothing(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	for _, name := range []string{"a", "b", "paused", "limited"} {
		put(t, q, many(name, 100)...)
	}
	ok(t, q.Pause(ctx, "paused"))
	ok(t, q.SetTenant(ctx, "limited", queue.TenantSettings{MaxInFlight: 1}))
	its := now(t, q, 81)
	n := map[string]int{}
	for _, it := range its {
		n[it.Tenant]++
	}
	if n["a"] != 40 || n["b"] != 40 || n["limited"] != 1 {
		t.Fatalf("served: %v", n)
	}
	ok(t, q.Resume(ctx, "paused"))
	ok(t, q.SetTenant(ctx, "limited", queue.TenantSettings{}))
	n = map[string]int{}
	for _, it := range now(t, q, 80) {
		n[it.Tenant]++
	}
	for name, k := range n {
		if k < 19 || k > 21 {
			t.Errorf("%s was served %d of 80", name, k)
		}
	}
}

// Round costs are numbers, too: servers write 1e+8.
func testRoundCosts(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	for k := range 19 {
		cost := int64(1)
		for range k {
			cost *= 10
		}
		put(t, q, job{Cost: cost, Tenant: fmt.Sprint(k)}, job{Cost: cost, Tenant: fmt.Sprint(k)})
	}
	c := q.From([]string{"9"}, []string{"*"})
	for range 19 {
		it, err := c.Dequeue(ctx)
		ok(t, err)
		ok(t, q.Ack(ctx, it))
	}
	same(t, "the others", len(now(t, q, 99)), 19)
}

package queuetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

func testTenantStats(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	st, err := q.TenantStats(ctx, "unknown")
	ok(t, err)
	same(t, "unknown", st, queue.TenantStats{Tenant: "unknown"})
	put(t, q, append(many("a", 3), job{Tenant: "a", Delay: time.Hour}, job{Tenant: "a", Priority: 6}, job{Tenant: "b"})...)
	its := now(t, q, 99)
	for _, it := range its {
		switch {
		case it.Tenant == "a" && it.Priority == 6:
			ok(t, q.Nack(ctx, it, queue.Retry{Dead: true}))
		case it.Tenant == "b":
		default:
			ok(t, q.Release(ctx, it))
		}
	}
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{Weight: 2.5, MaxQueued: -1, MaxInFlight: 7}))
	ok(t, q.Pause(ctx, "a"))
	st, err = q.TenantStats(ctx, "a")
	ok(t, err)
	if st.Oldest <= 0 || st.Oldest > patience {
		t.Errorf("Oldest: %v", st.Oldest)
	}
	st.Oldest = 0
	same(t, "a", st, queue.TenantStats{
		Tenant: "a", Queued: 3, Delayed: 1, DeadLetters: 1, Enqueued: 5, Delivered: 4, Weight: 2.5, Paused: true,
		Settings: queue.TenantSettings{Weight: 2.5, MaxQueued: -1, MaxInFlight: 7},
	})
	put(t, q, many("c", 5)...)
	for by, w := range map[queue.By]string{queue.ByQueued: "c a b", queue.ByInFlight: "b a c", queue.ByOldest: "a c b"} {
		top, err := q.TopTenants(ctx, 9, by)
		ok(t, err)
		var names []string
		for _, x := range top {
			names = append(names, x.Tenant)
		}
		same(t, fmt.Sprint("TopTenants by ", by), strings.Join(names, " "), w)
	}
	top, err := q.TopTenants(ctx, 1, queue.ByQueued)
	ok(t, err)
	if len(top) != 1 || top[0].Tenant != "c" || top[0].Queued != 5 {
		t.Errorf("%+v", top)
	}
	for _, bad := range []func() error{
		func() error { _, err := q.TopTenants(ctx, 0, queue.ByQueued); return err },
		func() error { _, err := q.TopTenants(ctx, 1, 3); return err },
		func() error { _, err := q.TenantStats(ctx, "{"); return err },
	} {
		want(t, bad(), firq.ErrInvalidArgument)
	}
	all := books(t, q)
	same(t, "Tenants", all.Tenants, 3)
}

// A delay is not a wait.
func testQueueTimesOfDelayed(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	const delay = 300 * time.Millisecond
	put(t, q, job{Delay: delay})
	it := take(t, q)
	_, sum, err := q.QueueTimes(ctx)
	ok(t, err)
	if d := sum - it.Wait; d.Abs() > time.Millisecond {
		t.Errorf("%v: counted as %v", it.Wait, sum)
	}
	ok(t, q.Ack(ctx, it))
}

// The oldest one is found behind all that has a higher priority.
func testOldestIsLow(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	const pause = 50 * time.Millisecond
	for _, priority := range []firq.Priority{firq.PriorityVeryLow, firq.PriorityNormal, firq.PriorityHigh} {
		put(t, q, job{Tenant: "a", Priority: priority})
		time.Sleep(pause)
	}
	put(t, q, job{Tenant: "a", Priority: firq.PriorityCritical})
	all, err := q.TopTenants(ctx, 1, queue.ByOldest)
	ok(t, err)
	for what, oldest := range map[string]time.Duration{"Stats": books(t, q).Oldest, "TopTenants": all[0].Oldest} {
		if oldest < 3*pause {
			t.Errorf("%s: Oldest %v, at least %v", what, oldest, 3*pause)
		}
	}
}

package firqpg

import (
	"testing"
	"time"

	"github.com/firq-go/firq/rate"
)

// TestRatePaidOff: a tenant that owes something is remembered until it does not, and not longer.
func TestRatePaidOff(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	q, ctx := open(t, Config[string]{DB: db, TenantIdle: time.Millisecond, RatePerTenant: rate.Limit{PerSecond: 5, Burst: 10}}), bounded(t)
	must[string](t)(q.Enqueue(ctx, Task[string]{Tenant: "a", Cost: 10}))
	if err := q.Ack(ctx, must[*Item[string]](t)(q.Dequeue(ctx))); err != nil {
		t.Fatal(err)
	}
	var is bool
	for was := float64(10); ; time.Sleep(10 * time.Millisecond) {
		if _, err := db.Exec(ctx, "update firq.state set swept = 0, nd = 0"); err != nil { // a second has passed
			t.Fatal(err)
		}
		if err := q.Maintain(ctx); err != nil {
			t.Fatal(err)
		}
		var owes float64
		if err := db.QueryRow(ctx, `select count(*) > 0, coalesce(max(firq.used_at(used, usedat, usedrate, firq.now_us())), 0) from firq.tenant where tenant = 'a'`).Scan(&is, &owes); err != nil {
			t.Fatal(err)
		}
		if !is {
			if was > 1 {
				t.Fatalf("it is forgotten while it owes %v", was)
			}
			return
		}
		was = owes
	}
}

package queue

import (
	"context"
	"time"

	"github.com/firq-go/firq"
)

// Stats are the counters of a queue since it was made, and its state. At rest:
//
//	Enqueued + Requeued = Acked + Cancelled + Expired + Dead + Queued + Delayed + InFlight
//	Delivered = Acked + Nacked + Released + LeaseExpired + InFlight
//	DeadLetters = Dead - Requeued - Purged
type Stats struct {
	Enqueued, Requeued, Acked, Cancelled, Expired uint64        // tasks
	Dead                                          uint64        // moved to the dead letters
	Purged                                        uint64        // from there, by Purge or by Retention
	Delivered, Nacked, Released, LeaseExpired     uint64        // deliveries, and how else than by Ack they ended
	LeaseLost, Duplicates, Rejected               uint64        // calls that were refused, by task
	Queued, Delayed, InFlight, DeadLetters        int           // now
	Tenants                                       int           // that have tasks queued, delayed or in flight
	Oldest                                        time.Duration // how long the oldest queued task has been due
	Paused                                        bool
	Held                                          int // tenants that wait for their rate
}

// tenantsAtOnce is how many tenants a page has.
const tenantsAtOnce = 200

// Stats takes a look at each tenant that has tasks, 200 of them at a time, for Oldest: see Survey for a program that looks often.
func (q *Queue[T]) Stats(ctx context.Context) (s Stats, err error) {
	if err := q.call(ctx, "Stats"); err != nil {
		return s, err
	}
	if s, err = q.engine.Stats(ctx); err != nil {
		return Stats{}, err
	}
	if err := q.eachTenant(ctx, func(t *TenantStats) { s.Oldest = max(s.Oldest, t.Oldest) }); err != nil {
		return Stats{}, err
	}
	return s, nil
}

// QueueTimes returns how long tasks had been due when they were delivered, and the sum of these times (or the largest Duration if it
// is more), since the queue was made. Retries are not counted; what was released counts again.
func (q *Queue[T]) QueueTimes(ctx context.Context) (buckets []firq.Bucket, sum time.Duration, err error) {
	if err := q.call(ctx, "QueueTimes"); err != nil {
		return nil, 0, err
	}
	return q.engine.QueueTimes(ctx)
}

// TenantStats are the numbers of one tenant.
type TenantStats struct {
	Tenant                                 string
	Queued, Delayed, InFlight, DeadLetters int
	Enqueued, Delivered                    uint64 // while it is remembered: see Config.TenantIdle
	Oldest                                 time.Duration
	Weight                                 float64 // in force
	Paused                                 bool
	Settings                               TenantSettings
	Held                                   time.Duration // until its rate lets its next task go; 0: it does not hold it back
}

// TenantStats returns the numbers of a tenant; for an unknown one, its name alone.
func (q *Queue[T]) TenantStats(ctx context.Context, tenant string) (t TenantStats, err error) {
	if err := q.named(ctx, "TenantStats", "tenant", tenant); err != nil {
		return t, err
	}
	all, err := q.engine.TenantStats(ctx, []string{tenant})
	if err != nil {
		return t, err
	}
	return all[0], nil
}

// eachTenant calls f for each tenant that has tasks.
func (q *Queue[T]) eachTenant(ctx context.Context, f func(*TenantStats)) error {
	for cursor := ""; ; {
		some, next, err := q.engine.Tenants(ctx, cursor, tenantsAtOnce)
		if err != nil {
			return err
		}
		for i := range some {
			f(&some[i])
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// By is an order of tenants.
type By uint8

// The orders of TopTenants.
const (
	ByQueued By = iota
	ByInFlight
	ByOldest
)

// TopTenants returns the n tenants with the most tasks, or the oldest one, the greatest first. It looks at
// all tenants that have tasks: see Survey for a program that looks often.
func (q *Queue[T]) TopTenants(ctx context.Context, n int, by By) ([]TenantStats, error) {
	if err := topArgs(n, by); err != nil {
		return nil, err
	}
	if err := q.call(ctx, "TopTenants"); err != nil {
		return nil, err
	}
	all := ranking{} // a scan may return one twice
	if err := q.eachTenant(ctx, all.add); err != nil {
		return nil, err
	}
	return all.top(n, by), nil
}

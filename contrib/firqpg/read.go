package firqpg

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// page is how many tasks are read at a time.
const page = 200

func (e *engine) DeadLetters(ctx context.Context, f queue.Filter) iter.Seq2[queue.DeadLetter[[]byte], error] {
	return func(yield func(queue.DeadLetter[[]byte], error) bool) {
		if unstorable(f.Tenant) || unstorable(f.Reason) {
			return // it matches none
		}
		from, to := int64(math.MinInt64), int64(math.MaxInt64)
		if !f.After.IsZero() {
			from = f.After.Add(time.Microsecond - 1).UnixMicro()
		}
		if !f.Before.IsZero() {
			to = f.Before.Add(time.Microsecond - 1).UnixMicro()
		}
		var ids []string
		if f.IDs != nil {
			ids = slices.DeleteFunc(slices.Clone(f.IDs), unstorable)
			if len(ids) == 0 {
				return
			}
		}
		for last := ""; ; {
			var all []queue.DeadLetter[[]byte]
			err := e.run(ctx, "DeadLetters", func(db querier) error {
				rows, err := db.Query(ctx, e.sql(`select id, tenant, priority::int, cost, attempt, most, until, ukey, meta, payload, coalesce(reason, '') from @.task
					where queue = $1 and state = 3 and (until, id) > ($2, $3) and until < $4 and ($5 = '' or tenant = $5) and ($6::text[] is null or id = any ($6))
						and ($7 = '' or position($7 in reason) > 0)
					order by until, id limit $8`), e.id, from, last, to, f.Tenant, ids, f.Reason, page)
				if err != nil {
					return err
				}
				all, err = pgx.CollectRows(rows, func(cr pgx.CollectableRow) (d queue.DeadLetter[[]byte], err error) {
					var r row
					var reason string
					if err := cr.Scan(&r.id, &r.tenant, &r.priority, &r.cost, &r.attempt, &r.most, &r.until, &r.key, &r.meta, &r.payload, &reason); err != nil {
						return d, err
					}
					d.Task, err = r.task()
					d.Payload, d.Raw, d.Attempts, d.Reason, d.DiedAt = nil, r.payload, int(*r.attempt), reason, time.UnixMicro(*r.until)
					return d, err
				})
				return err
			})
			if err != nil {
				yield(queue.DeadLetter[[]byte]{}, err)
				return
			}
			for _, d := range all {
				if !yield(d, nil) {
					return
				}
			}
			if len(all) < page {
				return
			}
			from, last = all[page-1].DiedAt.UnixMicro(), all[page-1].ID
		}
	}
}

// unstorable reports whether the server cannot have s: then nothing there is like it.
func unstorable(s string) bool { return !utf8.ValidString(s) || strings.Contains(s, "\x00") }

func (e *engine) InFlight(ctx context.Context, tenant string) iter.Seq2[queue.Delivery, error] {
	return func(yield func(queue.Delivery, error) bool) {
		for from, last := int64(math.MinInt64), ""; ; {
			var all []queue.Delivery
			err := e.run(ctx, "InFlight", func(db querier) error {
				rows, err := db.Query(ctx, e.sql(`select id, token, tenant, priority::int, cost, attempt, most, first, until, ukey, meta, payload, @.now_us() from @.task
					where queue = $1 and state = 1 and (until, id) > ($2, $3) and ($4 = '' or tenant = $4) order by until, id limit $5`), e.id, from, last, tenant, page)
				if err != nil {
					return err
				}
				all, err = pgx.CollectRows(rows, func(cr pgx.CollectableRow) (d queue.Delivery, err error) {
					var r row
					var now int64
					if err := cr.Scan(&r.id, &r.token, &r.tenant, &r.priority, &r.cost, &r.attempt, &r.most, &r.first, &r.until, &r.key, &r.meta, &r.payload, &now); err != nil {
						return d, err
					}
					return r.delivery(now), nil
				})
				return err
			})
			if err != nil {
				yield(queue.Delivery{}, err)
				return
			}
			for _, d := range all {
				if !yield(d, nil) {
					return
				}
			}
			if len(all) < page {
				return
			}
			from, last = all[page-1].LeaseUntil.UnixMicro(), all[page-1].ID
		}
	}
}

func (e *engine) Stats(ctx context.Context) (s queue.Stats, err error) {
	if err := e.upkeep(ctx, "Stats", false); err != nil {
		return s, err
	}
	err = e.run(ctx, "Stats", func(db querier) error {
		return db.QueryRow(ctx, e.sql(`select enqueued, requeued, acked, cancelled, expired, dead, purged, delivered, nacked, released, leaseexpired, leaselost, duplicates, rejected,
			queued, delayed, inflight, deadnow, paused, (select count(*) from @.tenant where queue = $1 and n + z + i > 0),
			(select count(*) from @.tenant where queue = $1 and held is not null) from @.state where queue = $1 order by seq desc limit 1`), e.id).Scan(
			&s.Enqueued, &s.Requeued, &s.Acked, &s.Cancelled, &s.Expired, &s.Dead, &s.Purged, &s.Delivered, &s.Nacked, &s.Released, &s.LeaseExpired, &s.LeaseLost, &s.Duplicates,
			&s.Rejected, &s.Queued, &s.Delayed, &s.InFlight, &s.DeadLetters, &s.Paused, &s.Tenants, &s.Held)
	})
	return s, err
}

func (e *engine) QueueTimes(ctx context.Context) ([]firq.Bucket, time.Duration, error) {
	var counts []int64
	var us int64
	if err := e.run(ctx, "QueueTimes", func(db querier) error {
		return db.QueryRow(ctx, e.sql("select waits, waited from @.state where queue = $1 order by seq desc limit 1"), e.id).Scan(&counts, &us)
	}); err != nil {
		return nil, 0, err
	}
	buckets := make([]firq.Bucket, len(counts))
	for b, n := range counts {
		buckets[b] = firq.Bucket{UpperBound: time.Millisecond << b, Count: uint64(n)}
	}
	buckets[len(buckets)-1].UpperBound = math.MaxInt64
	if us > math.MaxInt64/1000 {
		return buckets, math.MaxInt64, nil
	}
	return buckets, time.Duration(us) * time.Microsecond, nil
}

func (e *engine) TenantStats(ctx context.Context, names []string) ([]queue.TenantStats, error) {
	some, err := e.tenants(ctx, "TenantStats", names, "", len(names))
	if err != nil {
		return nil, err
	}
	known := make(map[string]queue.TenantStats, len(some))
	for _, t := range some {
		known[t.Tenant] = t
	}
	all := make([]queue.TenantStats, len(names))
	for i, name := range names {
		if t, ok := known[name]; ok {
			all[i] = t
		} else {
			all[i].Tenant = name
		}
	}
	return all, nil
}

func (e *engine) Tenants(ctx context.Context, cursor string, n int) (some []queue.TenantStats, next string, err error) {
	some, err = e.tenants(ctx, "TopTenants", nil, cursor, n)
	if err == nil && len(some) == n {
		next = some[n-1].Tenant
	}
	return some, next, err
}

func (e *engine) tenants(ctx context.Context, call string, names []string, after string, n int) (all []queue.TenantStats, err error) {
	if err := e.upkeep(ctx, call, false); err != nil {
		return nil, err
	}
	err = e.run(ctx, call, func(db querier) error {
		rows, err := db.Query(ctx, e.sql(`select x.*, t.* from @.tenants($1, $2, $3, $4) x, lateral (select coalesce(rate, 0), coalesce(burst, 0), greatest(0, held - @.now_us())
			from @.tenant where queue = $1 and tenant = x.tenant order by seq desc limit 1) t`), e.id, names, after, n)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (t queue.TenantStats, err error) {
			var oldest *int64
			var held int64
			err = r.Scan(&t.Tenant, &t.Queued, &t.Delayed, &t.InFlight, &t.DeadLetters, &t.Enqueued, &t.Delivered, &oldest, &t.Weight, &t.Paused,
				&t.Settings.Weight, &t.Settings.MaxQueued, &t.Settings.MaxInFlight, &t.Settings.Rate.PerSecond, &t.Settings.Rate.Burst, &held)
			t.Held = time.Duration(held) * time.Microsecond
			if oldest != nil {
				t.Oldest = time.Duration(*oldest) * time.Microsecond
			}
			return t, err
		})
		return err
	})
	return all, err
}

// ReadyTenants returns how many tenants have tasks that can be delivered now.
func (e *engine) ReadyTenants(ctx context.Context) (n int64, err error) {
	err = e.run(ctx, "ReadyTenants", func(db querier) error {
		return db.QueryRow(ctx, e.sql(`select count(*) from (select v, vpos from @.state where queue = $1 order by seq desc limit 1) s, @.tenant t
			where t.queue = $1 and t.ready and (t.f, t.pos) >= (s.v, s.vpos)`), e.id).Scan(&n)
	})
	return n, err
}

package firqpg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// head is what pop says besides its deliveries.
type head struct {
	next       time.Duration // until something is due; below 0: nothing is
	left       bool          // more can be delivered
	again      bool          // it was behind tasks that had expired, and may come next
	xmin, xmax int64         // the first transaction that was not over, and the one after the last
}

// row is a task as it is read.
type row struct {
	id, tenant, key                          *string
	token, cost, first, deadline, until, pos *int64
	priority, attempt, most                  *int32
	cancelled, ends                          *bool
	meta, payload                            []byte
}

func (r *row) task() (t queue.Task[[]byte], err error) {
	t = queue.Task[[]byte]{
		Payload: r.payload, Tenant: *r.tenant, ID: *r.id, Cost: *r.cost, Priority: firq.Priority(*r.priority), MaxAttempts: int(*r.most),
	}
	if r.key != nil {
		t.UniqueKey = *r.key
	}
	return t, fill(&t, r.meta)
}

// delivery returns it with Wait as when it was first due, which the caller corrects.
func (r *row) delivery(now int64) (d queue.Delivery) {
	d.Task, d.Err = r.task()
	d.Token, d.Attempt, d.LeaseUntil = uint64(*r.token), int(*r.attempt)+1, time.UnixMicro(*r.until)
	d.Wait = max(0, time.Duration(now-*r.first)*time.Microsecond)
	return d
}

const popText = "select * from @.pop($1, $2, $3, $4, $5, $6, $7)"

// pop takes up to n tasks: of all tenants, of named ones, or of those that match a pattern.
func (e *engine) pop(ctx context.Context, db querier, n int, names, patterns []string) (ds []queue.Delivery, h head, err error) {
	rows, err := db.Query(ctx, e.sql(popText), e.id, n, e.opts.Lease.Microseconds(),
		min(e.opts.TenantIdle, forEver).Microseconds(), queue.MaxBytes, names, patterns)
	if err != nil {
		return nil, h, err
	}
	defer rows.Close()
	all := make([]row, 0, n+1)
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.token, &r.tenant, &r.priority, &r.cost, &r.attempt, &r.most, &r.first, &r.deadline, &r.until, &r.cancelled, &r.ends, &r.key,
			&r.meta, &r.payload, &r.pos); err != nil {
			return nil, h, err
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, h, err
	}
	if len(all) == 0 || all[len(all)-1].id != nil {
		return nil, h, pgx.ErrNoRows
	}
	last := all[len(all)-1]
	h = head{next: time.Duration(*last.pos) * time.Microsecond, left: *last.cost > 0, again: *last.cost > 1, xmin: *last.token, xmax: *last.deadline}
	if *last.pos < 0 {
		h.next = -1
	}
	ds = make([]queue.Delivery, len(all)-1)
	for i := range ds {
		ds[i] = all[i].delivery(*last.first)
	}
	return ds, h, nil
}

package firqpg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/firq-go/firq/queue"
)

func (e *engine) Cancel(ctx context.Context, id string) (bool, error) {
	var what int
	err := e.holding(ctx, "Cancel", func(db querier) error {
		return db.QueryRow(ctx, e.sql("select @.cancel($1, $2)"), e.id, id).Scan(&what)
	})
	return what > 0, err
}

func (e *engine) Pause(ctx context.Context, tenant string, paused bool) error {
	return e.holding(ctx, "Pause", func(db querier) error {
		_, err := db.Exec(ctx, e.sql("select @.pause($1, $2, $3)"), e.id, tenant, paused)
		return err
	})
}

func (e *engine) ChangeTenant(ctx context.Context, tenant string, c queue.TenantChange) error {
	limit := func(n *int) *int64 {
		if n == nil {
			return nil
		}
		v := int64(max(*n, -1))
		return &v
	}
	return e.holding(ctx, "ChangeTenant", func(db querier) error {
		sql, args := "select @.settle($1, $2, $3, $4, $5)", []any{e.id, tenant, c.Weight, limit(c.MaxQueued), limit(c.MaxInFlight)}
		if c.Rate != nil {
			sql, args = sql+", @.throttle($1, $2, $6, $7)", append(args, c.Rate.PerSecond, c.Rate.Burst)
		}
		_, err := db.Exec(ctx, e.sql(sql), args...)
		return err
	})
}

func (e *engine) Requeue(ctx context.Context, ids []string) ([]bool, error) {
	return e.among(ctx, "Requeue", "select @.requeue($1, $2)", ids)
}

func (e *engine) Purge(ctx context.Context, _ int, ids []string) (n int, err error) {
	err = e.holding(ctx, "Purge", func(db querier) error {
		return db.QueryRow(ctx, e.sql("select @.purge($1, $2)"), e.id, ids).Scan(&n)
	})
	return n, err
}

// upkeep brings in what was appended; with due, what is due, too. Each call holds the lock for a part of it only.
func (e *engine) upkeep(ctx context.Context, call string, due bool) error {
	for more := true; more; {
		if err := e.holding(ctx, call, func(db querier) error {
			return db.QueryRow(ctx, e.sql("select more from @.upkeep($1, $2, $3)"), e.id, min(e.opts.TenantIdle, forEver).Microseconds(), due).Scan(&more)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) Maintain(ctx context.Context) error { return e.upkeep(ctx, "Maintain", true) }

func (e *engine) PutSchedule(ctx context.Context, _ string, p queue.Plan) error {
	return e.run(ctx, "Put", func(db querier) error {
		_, err := db.Exec(ctx, e.sql(`insert into @.schedule (queue, id, plan, spec, due) values ($1, $2, $3, $4, $5)
			on conflict (queue, id) do update set plan = excluded.plan, spec = excluded.spec,
				due = case when schedule.spec = excluded.spec then schedule.due else excluded.due end`), e.id, p.ID, p.Text, p.Spec, p.Due.UnixMicro())
		return err
	})
}

func (e *engine) DeleteSchedule(ctx context.Context, id string) (found bool, err error) {
	err = e.run(ctx, "Delete", func(db querier) error {
		tag, err := db.Exec(ctx, e.sql("delete from @.schedule where queue = $1 and id = $2"), e.id, id)
		found = tag.RowsAffected() > 0
		return err
	})
	return found, err
}

func (e *engine) Schedules(ctx context.Context) ([]queue.Plan, error) {
	return e.plans(ctx, "List", "order by id limit $2", 1<<31-1)
}

func (e *engine) DueSchedules(ctx context.Context, _, n int) ([]queue.Plan, error) {
	return e.plans(ctx, "Schedules.Run", "order by due limit $2", n)
}

func (e *engine) plans(ctx context.Context, call, order string, n int) (all []queue.Plan, err error) {
	err = e.run(ctx, call, func(db querier) error {
		rows, err := db.Query(ctx, e.sql("select id, spec, plan, due, last from @.schedule where queue = $1 "+order), e.id, n)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (p queue.Plan, err error) {
			var due, last int64
			err = r.Scan(&p.ID, &p.Spec, &p.Text, &due, &last)
			p.Due = time.UnixMicro(due).UTC()
			if last > 0 {
				p.Last = time.UnixMicro(last).UTC()
			}
			return p, err
		})
		return err
	})
	return all, err
}

func (e *engine) Fire(ctx context.Context, _ int, f queue.Firing) (fired bool, err error) {
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, e.sql("update @.schedule set due = $4, last = greatest(last, $5) where queue = $1 and id = $2 and due = $3"),
			e.id, f.ID, f.Due.UnixMicro(), f.Next.UnixMicro(), micros(f.Last))
		if fired = err == nil && tag.RowsAffected() > 0; !fired || len(f.Tasks) == 0 {
			return err
		}
		raws := make([]*queue.Raw, len(f.Tasks))
		for i := range f.Tasks {
			raws[i] = &f.Tasks[i]
		}
		_, err = e.push(ctx, tx, unlimited, raws)
		return err
	})
	return fired && err == nil, wrap("Schedules.Run", err)
}

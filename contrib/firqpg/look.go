package firqpg

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/firq-go/firq/queue"
)

// looked are the columns of an Info.
const looked = `select id, tenant, state, priority::int, cost, attempt, most, first, due, until, score, ukey, meta, payload, coalesce(reason, ''), null::bytea from @.task where queue = $1 `

// kept are the same of what is kept of completed tasks.
const kept = `select id, tenant, 4::smallint, priority::int, cost, attempt, most, first, acked, until, until, ukey, meta, payload, '', result from @.result
	where queue = $1 and until > @.now_us() `

// info reads them, and returns the task's score, too.
func info(cr pgx.CollectableRow) (i queue.Info[[]byte], score int64, err error) {
	var r row
	var state int16
	var due int64
	if err := cr.Scan(&r.id, &r.tenant, &state, &r.priority, &r.cost, &r.attempt, &r.most, &r.first, &due, &r.until, &score, &r.key, &r.meta, &r.payload, &i.Reason, &i.Result); err != nil {
		return i, 0, err
	}
	if i.Task, err = r.task(); err != nil {
		return i, 0, err
	}
	i.Payload, i.Raw, i.Attempts, i.Due = nil, r.payload, int(*r.attempt), time.UnixMicro(*r.first)
	i.State = [...]queue.State{queue.StateQueued, queue.StateInFlight, queue.StateDelayed, queue.StateDead, queue.StateCompleted}[state]
	if i.State != queue.StateDead {
		i.Reason = "" // of a delivery before
	}
	switch until := time.UnixMicro(*r.until); i.State {
	case queue.StateDelayed:
		i.Due = time.UnixMicro(due)
	case queue.StateInFlight:
		i.LeaseUntil = until
	case queue.StateDead:
		i.DiedAt = until
	case queue.StateCompleted:
		i.CompletedAt, i.KeptUntil = time.UnixMicro(due), until
	}
	return i, score, nil
}

func (e *engine) Get(ctx context.Context, id string) (found *queue.Info[[]byte], err error) {
	if unstorable(id) {
		return nil, nil
	}
	for _, text := range []string{looked, kept} { // in this order, as it may be acked in between
		err = e.run(ctx, "Get", func(db querier) error {
			rows, err := db.Query(ctx, e.sql(text+"and id = $2"), e.id, id)
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, func(cr pgx.CollectableRow) (struct{}, error) {
				i, _, err := info(cr)
				found = &i
				return struct{}{}, err
			})
			return err
		})
		if found != nil || err != nil {
			break
		}
	}
	return found, err
}

func (e *engine) Forget(ctx context.Context, ids []string) ([]bool, error) {
	return e.among(ctx, "Forget", "delete from @.result where queue = $1 and id = any ($2) and until > @.now_us() returning id", ids)
}

// among calls a statement that returns those of the ids that it has found.
func (e *engine) among(ctx context.Context, call, text string, ids []string) ([]bool, error) {
	storable := slices.DeleteFunc(slices.Clone(ids), unstorable)
	var some []string
	if err := e.holding(ctx, call, func(db querier) error {
		rows, err := db.Query(ctx, e.sql(text), e.id, storable)
		if err == nil {
			some, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	}); err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(some))
	for _, id := range some {
		there[id] = true
	}
	found := make([]bool, len(ids))
	for i, id := range ids {
		found[i] = there[id]
	}
	return found, nil
}

// orders are those of the states, each that of an index: its condition, its key, and what is behind a place.
var orders = map[queue.State]string{
	queue.StateQueued:    "and state = 0 and ($2 = '' or tenant = $2) and (tenant, score, id) > ($3, $4, $5) order by tenant, score, id limit $6",
	queue.StateDelayed:   "and state = 2 and ($2 = '' or tenant = $2) and $3 = '' and (due, id) > ($4, $5) order by due, id limit $6",
	queue.StateInFlight:  "and state = 1 and ($2 = '' or tenant = $2) and $3 = '' and (until, id) > ($4, $5) order by until, id limit $6",
	queue.StateCompleted: "and ($2 = '' or tenant = $2) and $3 = '' and (until, id) > ($4, $5) order by until, id limit $6",
	queue.StateDead:      "and state = 3 and ($2 = '' or tenant = $2) and $3 = '' and (until, id) > ($4, $5) order by until, id limit $6",
}

func (e *engine) List(ctx context.Context, l queue.Listing, from queue.Place) (some []queue.Info[[]byte], next *queue.Place, err error) {
	if from.Last == "" {
		from.At = math.MinInt64
	}
	if l.State != queue.StateQueued {
		from.Tenant = ""
	}
	if unstorable(from.Last) || unstorable(from.Tenant) {
		return nil, nil, nil // not a cursor of ours
	}
	text := looked
	if l.State == queue.StateCompleted {
		text = kept
	}
	err = e.run(ctx, "List", func(db querier) error {
		rows, err := db.Query(ctx, e.sql(text+orders[l.State]), e.id, l.Tenant, from.Tenant, from.At, from.Last, l.Limit)
		if err != nil {
			return err
		}
		some, err = pgx.CollectRows(rows, func(cr pgx.CollectableRow) (queue.Info[[]byte], error) {
			i, score, err := info(cr)
			next = &queue.Place{Tenant: i.Tenant, At: score, Last: i.ID}
			switch i.State {
			case queue.StateDelayed:
				next.At = i.Due.UnixMicro()
			case queue.StateInFlight:
				next.At = i.LeaseUntil.UnixMicro()
			case queue.StateDead:
				next.At = i.DiedAt.UnixMicro()
			case queue.StateCompleted:
				next.At = i.KeptUntil.UnixMicro()
			}
			return i, err
		})
		return err
	})
	if len(some) < l.Limit {
		next = nil
	}
	return some, next, err
}

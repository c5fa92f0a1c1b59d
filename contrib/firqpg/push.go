package firqpg

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// How strictly push keeps to the limits of queued tasks.
const (
	strict    = 1  // it is a transaction by itself
	briefly   = 2  // the same, and it gives up after 100 ms of waiting for a lock, not after a second
	leniently = 0  // by what is committed, as it must hold no lock
	unlimited = -1 // tasks of schedules
)

// EnqueueTx queues tasks in the caller's transaction: they exist if and when it commits. It takes no lock that others wait for, but for the IDs and UniqueKeys of its
// tasks. Errors of single tasks (a sentinel of package queue, joined as TaskErrors) leave the transaction usable; with an error of the server it
// has failed, as with any statement. MaxQueued and MaxQueuedPerTenant are checked by what is committed, and by the tasks of the call.
func EnqueueTx[T any](ctx context.Context, q *Queue[T], tx pgx.Tx, ts ...Task[T]) ([]Result, error) {
	if tx == nil {
		return nil, fmt.Errorf("%w: firqpg: EnqueueTx: tx is nil", firq.ErrInvalidArgument)
	}
	return enqueueOn(ctx, "EnqueueTx", q, tx, ts)
}

// EnqueueSQLTx is EnqueueTx for database/sql with pgx as its driver (stdlib): it takes part in the transaction that is open on conn.
func EnqueueSQLTx[T any](ctx context.Context, q *Queue[T], conn *sql.Conn, ts ...Task[T]) (rs []Result, err error) {
	if conn == nil {
		return nil, fmt.Errorf("%w: firqpg: EnqueueSQLTx: conn is nil", firq.ErrInvalidArgument)
	}
	err = conn.Raw(func(c any) (err error) {
		own, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%w: firqpg: EnqueueSQLTx: the driver is %T, and not pgx", firq.ErrInvalidArgument, c)
		}
		if own.Conn().PgConn().TxStatus() == 'I' {
			return fmt.Errorf("%w: firqpg: EnqueueSQLTx: no transaction is open on conn", firq.ErrInvalidArgument)
		}
		rs, err = enqueueOn(ctx, "EnqueueSQLTx", q, own.Conn(), ts)
		return err
	})
	return rs, err
}

func enqueueOn[T any](ctx context.Context, call string, q *Queue[T], db querier, ts []Task[T]) ([]Result, error) {
	e, err := engineOf(q, call)
	if err != nil {
		return nil, err
	}
	if err := queue.Begin(ctx, q, call); err != nil {
		return nil, err
	}
	rs := make([]Result, len(ts))
	raws := make([]*queue.Raw, 0, len(ts))
	at := make([]int, 0, len(ts))
	for i, t := range ts {
		raw, err := queue.RawOf(q, t)
		if rs[i] = (Result{ID: raw.ID, Err: err}); err == nil {
			raws, at = append(raws, &raw), append(at, i)
		}
	}
	for len(raws) > 0 {
		n, size := 0, 0
		for n < len(raws) && n < queue.MaxBatch && (n == 0 || size < queue.MaxBytes) {
			size += len(raws[n].Payload)
			n++
		}
		some, err := e.push(ctx, db, leniently, raws[:n])
		if err != nil {
			return rs, wrap(call, err)
		}
		for k, r := range some {
			rs[at[k]] = r
		}
		raws, at = raws[n:], at[n:]
	}
	return rs, queue.Failed(rs)
}

// engineOf returns the engine of a queue of this package.
func engineOf[T any](q *Queue[T], call string) (*engine, error) {
	if q != nil {
		if e, ok := q.Engine().(*engine); ok {
			return e, nil
		}
	}
	return nil, fmt.Errorf("%w: firqpg: %s: the queue was not made by firqpg.New", firq.ErrInvalidArgument, call)
}

func (e *engine) Push(ctx context.Context, _ int, ps []*queue.Push) ([]Result, error) {
	ctx, cancel := e.closing(ctx)
	defer cancel()
	raws := make([]*queue.Raw, len(ps))
	for i := range ps {
		raws[i] = &ps[i].Raw
	}
	rs, err := e.pushAlone(ctx, briefly, raws)
	if !locked(err) {
		return rs, err
	}
	// An open transaction has the ID, or the UniqueKey, of one of them. Nothing was queued: each goes on for itself, so that it alone waits and
	// fails, while the next calls are served.
	for _, p := range ps {
		p.Later()
	}
	own := slices.Clone(ps) // ps is the caller's
	e.work.Go(func() { e.pushApart(own) })
	return nil, nil
}

// pushApart pushes each for itself: first those that need not wait, then the others, one at a time, as each waits on a connection.
func (e *engine) pushApart(ps []*queue.Push) {
	ctx, cancel := e.closing(context.Background())
	defer cancel()
	for _, how := range []int{briefly, strict} {
		ps = slices.DeleteFunc(ps, func(p *queue.Push) bool {
			if !p.Wanted() {
				p.Answer(Result{ID: p.ID, Err: context.Canceled})
				return true
			}
			rs, err := e.pushAlone(ctx, how, []*queue.Raw{&p.Raw})
			if how == briefly && locked(err) {
				return false
			}
			if err != nil {
				rs = []Result{{ID: p.ID, Err: err}}
			}
			p.Answer(rs[0])
			return true
		})
	}
}

func (e *engine) pushAlone(ctx context.Context, how int, raws []*queue.Raw) (rs []Result, err error) {
	err = e.run(ctx, "Enqueue", func(db querier) error {
		rs, err = e.push(ctx, db, how, raws)
		return err
	})
	return rs, err
}

// columns are the arguments of push, by task.
type columns struct {
	ids, tenants, keys               []string
	prios                            []int16
	costs, ats, delays, lines, keeps []int64
	weights                          []*float64
	mosts                            []int32
	metas, loads                     [][]byte
}

// forEver is longer than a key is ever asked for.
const forEver = 100 * 365 * 24 * time.Hour

func (c *columns) add(r *queue.Raw) error {
	m, err := metaOf(&r.Task)
	if err != nil {
		return err
	}
	at := r.Due
	if at.IsZero() {
		at = r.At
	}
	var weight *float64
	if r.Weight > 0 {
		weight = &r.Weight
	}
	delay := r.Delay
	if !r.Due.IsZero() {
		delay = 0
	}
	load := r.Payload
	if load == nil {
		load = []byte{}
	}
	c.ids, c.tenants, c.keys = append(c.ids, r.ID), append(c.tenants, r.Tenant), append(c.keys, r.UniqueKey)
	c.prios, c.costs, c.weights = append(c.prios, int16(r.Priority)), append(c.costs, r.Cost), append(c.weights, weight)
	c.ats, c.delays, c.lines = append(c.ats, micros(at)), append(c.delays, ceil(delay)), append(c.lines, micros(r.Deadline))
	c.mosts, c.keeps = append(c.mosts, int32(min(r.MaxAttempts, 1<<31-2))), append(c.keeps, ceil(min(r.UniqueFor, forEver)))
	c.metas, c.loads = append(c.metas, m), append(c.loads, load)
	return nil
}

// micros returns a time as it is stored; 0: none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.UnixMicro(), 1)
}

// ceil returns d in microseconds, rounded up.
func ceil(d time.Duration) int64 {
	n := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		n++
	}
	return n
}

// push queues tasks by one statement.
func (e *engine) push(ctx context.Context, db querier, how int, raws []*queue.Raw) ([]Result, error) {
	var c columns
	for _, r := range raws {
		if err := c.add(r); err != nil {
			return nil, err
		}
	}
	text := "select * from @.push($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
	switch how {
	case strict:
		text = strings.Replace(text, "@.push(", "@.push_alone(", 1)
	case briefly: // push depends on what set_config returns, so it comes after it; the setting lasts for the statement
		text, how = "select p.* from (select set_config('lock_timeout', '100ms', true) s) c cross join lateral "+strings.NewReplacer("select * from ", "",
			"$2", "(case when c.s <> '' then $2::int end)").Replace(text)+" p", strict
	}
	rows, err := db.Query(ctx, e.sql(text), e.id, how,
		c.ids, c.tenants, c.prios, c.costs, c.weights, c.ats, c.delays, c.lines, c.mosts, c.keys, c.keeps, c.metas, c.loads)
	if err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(raws))
	var res int32
	var owner *string
	var known []int
	refused := map[string]bool{}
	if _, err := pgx.ForEachRow(rows, []any{&res, &owner}, func() error {
		if len(out) == len(raws) {
			return fmt.Errorf("more than %d replies", len(raws))
		}
		r := Result{ID: raws[len(out)].ID}
		switch res {
		case -1:
			r.Err = ErrTenantFull
		case -2:
			r.Err = ErrFull
		case 2:
			r.Err = ErrDuplicate
			if owner != nil {
				r.ID = *owner
			}
		case 0:
			known = append(known, len(out))
		}
		if r.Err != nil {
			refused[raws[len(out)].ID] = true
		}
		out = append(out, r)
		return nil
	}); err != nil {
		return nil, err
	}
	if len(out) != len(raws) {
		return nil, fmt.Errorf("%d replies for %d tasks", len(out), len(raws))
	}
	// What has the ID of one that was refused in this call is not known: its turn comes now.
	known = slices.DeleteFunc(known, func(i int) bool { return !refused[raws[i].ID] })
	if len(known) == 0 {
		return out, nil
	}
	again := make([]*queue.Raw, len(known))
	for k, i := range known {
		again[k] = raws[i]
	}
	more, err := e.push(ctx, db, how, again)
	for k := range more {
		out[known[k]] = more[k]
	}
	return out, err
}

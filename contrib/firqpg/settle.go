package firqpg

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// AckTx settles tasks as done in the caller's transaction, together with the work that was done for them: both, or neither. With ErrLeaseLost the task is
// another worker's by now: roll back. A handler of Run that returns nil after AckTx has its task left alone.
func AckTx[T any](ctx context.Context, q *Queue[T], tx pgx.Tx, its ...*Item[T]) error {
	return ackOn(ctx, "AckTx", q, tx, its)
}

// AckMessageTx is AckTx for the handlers of a queue.Mux: what they get are items of their kind, and not of the queue's type.
func AckMessageTx[T any](ctx context.Context, q *Queue[queue.Message], tx pgx.Tx, its ...*Item[T]) error {
	return ackOn(ctx, "AckMessageTx", q, tx, its)
}

func ackOn[Q, T any](ctx context.Context, call string, q *Queue[Q], tx pgx.Tx, its []*Item[T]) error {
	e, err := engineOf(q, call)
	if err != nil {
		return err
	}
	if err := queue.Begin(ctx, q, call); err != nil || len(its) == 0 {
		return err
	}
	if tx == nil {
		return fmt.Errorf("%w: firqpg: %s: tx is nil", firq.ErrInvalidArgument, call)
	}
	ls := make([]queue.Lease, len(its))
	for i, it := range its {
		if it == nil {
			return fmt.Errorf("%w: firqpg: %s: item %d is nil", firq.ErrInvalidArgument, call, i)
		}
		ls[i] = queue.LeaseOf(it)
	}
	errs, err := e.ack(ctx, tx, ls)
	if err != nil {
		return wrap(call, err)
	}
	failed := make([]Result, len(its))
	for i, it := range its {
		if failed[i] = (Result{ID: it.ID, Err: errs[i]}); errs[i] == nil {
			queue.Settled(it)
		}
	}
	return queue.Failed(failed)
}

// leases are the arguments of functions that settle: in the order of the ids, so that two calls lock in the same order.
type leases struct {
	order   []int // the place of each in the call
	ids     []string
	tokens  []int64
	charges []int64
}

func sorted(ls []queue.Lease) (a leases) {
	a.order = make([]int, len(ls))
	for i := range ls {
		a.order[i] = i
	}
	slices.SortFunc(a.order, func(x, y int) int { return strings.Compare(ls[x].ID, ls[y].ID) })
	for _, i := range a.order {
		a.ids, a.tokens, a.charges = append(a.ids, ls[i].ID), append(a.tokens, int64(ls[i].Token)), append(a.charges, ls[i].Charge)
	}
	return a
}

// lost returns ErrLeaseLost for each.
func lost(n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = ErrLeaseLost
	}
	return errs
}

func (e *engine) ack(ctx context.Context, db querier, ls []queue.Lease) ([]error, error) {
	a, errs := sorted(ls), lost(len(ls))
	text, args := "select * from @.ack($1, $2, $3, $4)", []any{e.id, a.ids, a.tokens, a.charges}
	if slices.ContainsFunc(ls, func(l queue.Lease) bool { return l.Keep > 0 }) {
		keeps, results := make([]int64, len(ls)), make([][]byte, len(ls))
		for k, i := range a.order {
			keeps[k], results[k] = ceil(ls[i].Keep), append([]byte{}, ls[i].Result...) // not null
		}
		text, args = "select * from @.ack_keep($1, $2, $3, $4, $5, $6)", append(args, keeps, results)
	}
	rows, err := db.Query(ctx, e.sql(text), args...)
	if err != nil {
		return nil, err
	}
	var at int64
	_, err = pgx.ForEachRow(rows, []any{&at}, func() error {
		errs[a.order[at-1]] = nil
		return nil
	})
	return errs, err
}

func (e *engine) Ack(ctx context.Context, _ int, ls []queue.Lease) (errs []error, err error) {
	ctx, cancel := e.closing(ctx)
	defer cancel()
	err = e.run(ctx, "Ack", func(db querier) error {
		errs, err = e.ack(ctx, db, ls)
		return err
	})
	return errs, err
}

func (e *engine) Nack(ctx context.Context, _ int, l queue.Lease, r queue.Retry) error {
	errs, err := e.leaveAll(ctx, "Nack", []queue.Lease{l}, false, ceil(min(r.After, forEver)), r.Reason, r.Dead, l.Charge)
	if err != nil {
		return err
	}
	return errs[0]
}

func (e *engine) Release(ctx context.Context, _ int, ls []queue.Lease) ([]error, error) {
	return e.leaveAll(ctx, "Release", ls, true, 0, "", false, 0)
}

func (e *engine) leaveAll(ctx context.Context, call string, ls []queue.Lease, released bool, after int64, why string, dead bool, charge int64) ([]error, error) {
	a, errs := sorted(ls), lost(len(ls))
	err := e.run(ctx, call, func(db querier) error {
		rows, err := db.Query(ctx, e.sql("select * from @.leave($1, $2, $3, $4, $5, $6, $7, $8)"), e.id, a.ids, a.tokens, released, after, text(why), dead, charge)
		if err != nil {
			return err
		}
		var at int64
		var what int
		_, err = pgx.ForEachRow(rows, []any{&at, &what}, func() error {
			errs[a.order[at-1]] = nil
			return nil
		})
		return err
	})
	return errs, err
}

func (e *engine) Extend(ctx context.Context, _ int, d time.Duration, counts bool, ls []queue.Lease) (until time.Time, errs []error, err error) {
	a := sorted(ls)
	errs = lost(len(ls))
	err = e.run(ctx, "Extend", func(db querier) error {
		rows, err := db.Query(ctx, e.sql("select * from @.extend($1, $2, $3, $4, $5)"), e.id, a.ids, a.tokens, ceil(min(d, forEver)), counts)
		if err != nil {
			return err
		}
		var at, us, latest int64
		var cancelled bool
		_, err = pgx.ForEachRow(rows, []any{&at, &us, &cancelled}, func() error {
			errs[a.order[at-1]] = nil
			if latest = max(latest, us); cancelled {
				errs[a.order[at-1]] = ErrCancelled
			}
			return nil
		})
		until = time.UnixMicro(latest)
		return err
	})
	return until, errs, err
}

// text makes s what the server can keep: UTF-8 without zero bytes, and not too long.
func text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > queue.MaxReason {
		s = s[:queue.MaxReason]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

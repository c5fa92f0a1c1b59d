package firqredis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/firq-go/firq"
)

// ack is one task of a call of Ack.
type ack struct {
	args []any
	at   int                     // its place in the call
	told func(at int, err error) // must not block
}

type acked struct {
	at  int
	err error
}

// Ack settles tasks as done, and removes them. Errors are joined TaskErrors: ErrLeaseLost if a lease
// has run out and the task was delivered again, or it was settled before. Until it is delivered again, a late Ack
// is accepted.
func (q *Queue[T]) Ack(ctx context.Context, its ...*Item[T]) error {
	if err := q.calls(ctx, "Ack", its); err != nil || len(its) == 0 {
		return err
	}
	done := make(chan acked, len(its))
	each := make([][]ack, q.cfg.Partitions)
	for i, it := range its {
		p := q.partitionOf(it.Tenant)
		each[p] = append(each[p], ackOf(it, i, func(at int, err error) { done <- acked{at, err} }))
	}
	for p := range each {
		if len(each[p]) > 0 && !q.acks[p].add(each[p]...) { // others may be on their way
			for _, a := range each[p] {
				done <- acked{a.at, firq.ErrClosed}
			}
		}
	}
	errs := make([]error, len(its))
	for range its {
		select {
		case a := <-done:
			errs[a.at] = a.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return join(its, errs)
}

func ackOf[T any](it *Item[T], at int, told func(at int, err error)) ack {
	return ack{[]any{it.ID, it.Tenant, strconv.FormatUint(it.Token, 10), it.charge, it.ends}, at, told}
}

// ackOn returns a function that sends Acks to a partition.
func (q *Queue[T]) ackOn(p int) func([]ack) {
	return func(as []ack) {
		args := make([]any, 0, 3+5*len(as))
		now := q.settings()
		args = append(args, now.MaxInFlightPerTenant, q.cfg.TenantIdle.Milliseconds(), part(now.MaxInFlight, q.cfg.Partitions, p))
		for i := range as {
			args = append(args, as[i].args...)
		}
		r, err := q.run(context.Background(), ackScript, p, args)
		ok := ints(r)
		for i := range as {
			e := err
			if e == nil && (i >= len(ok) || ok[i] == 0) {
				e = ErrLeaseLost
			}
			as[i].told(as[i].at, e)
		}
	}
}

// Retry says what happens to a task that failed.
type Retry struct {
	After  time.Duration // until it is tried again; 0: Config.Backoff; below 0: immediately
	Reason string        // kept with a dead letter
	Dead   bool          // it is not tried again
}

// maxReason bounds the part of a reason that is kept.
const maxReason = 4 << 10

// Nack settles a delivery as failed. The task is tried again, or becomes a dead letter if this was its last
// attempt. ErrLeaseLost: see Ack. If ctx ends first the outcome is open, as with Enqueue.
func (q *Queue[T]) Nack(ctx context.Context, it *Item[T], r Retry) error {
	if err := q.calls(ctx, "Nack", []*Item[T]{it}); err != nil {
		return err
	}
	after := max(r.After, 0)
	if r.After == 0 {
		after = q.cfg.Backoff.after(it.Attempt)
	}
	dead := ""
	if r.Dead {
		dead = "dead"
	}
	if len(r.Reason) > maxReason {
		r.Reason = r.Reason[:maxReason]
	}
	reply, err := q.runWithSettings(ctx, nackScript, q.partitionOf(it.Tenant), it.lease(), ceil(after, time.Microsecond), r.Reason, dead, it.charge)
	if err != nil {
		return err
	}
	if n := ints(reply); len(n) < 1 || n[0] == 0 {
		return &TaskError{it.ID, ErrLeaseLost}
	}
	return nil
}

// Release gives deliveries back immediately. They do not count as attempts, and their tenants do not pay for them.
// ErrLeaseLost: see Ack.
func (q *Queue[T]) Release(ctx context.Context, its ...*Item[T]) error {
	if err := q.calls(ctx, "Release", its); err != nil {
		return err
	}
	return q.release(ctx, its)
}

func (q *Queue[T]) release(ctx context.Context, its []*Item[T]) error {
	return join(its, q.onLeases(ctx, releaseScript, its, nil, func(_ *Item[T], n int64, _ any) error {
		if n == 0 {
			return ErrLeaseLost
		}
		return nil
	}))
}

// Extend lets leases end d from now; 0: Config.Lease. Errors are joined TaskErrors: ErrLeaseLost, see
// Ack; ErrCancelled if the task was cancelled in between, though its lease is extended.
func (q *Queue[T]) Extend(ctx context.Context, d time.Duration, its ...*Item[T]) error {
	if d < 0 {
		return fmt.Errorf("%w: firqredis: Extend: %v, must not be negative", firq.ErrInvalidArgument, d)
	}
	if err := q.calls(ctx, "Extend", its); err != nil {
		return err
	}
	return join(its, q.extend(ctx, d, true, its, func(it *Item[T], until time.Time) { it.LeaseUntil = until }))
}

// extend does the work of Extend. It can count the lost leases, and returns the new ends of the others, as items may be in
// others' hands.
func (q *Queue[T]) extend(ctx context.Context, d time.Duration, counts bool, its []*Item[T], lasts func(it *Item[T], until time.Time)) []error {
	set(&d, q.cfg.Lease)
	count := 0
	if counts {
		count = 1
	}
	return q.onLeases(ctx, extendScript, its, []any{ceil(d, time.Microsecond), count}, func(it *Item[T], n int64, until any) error {
		if n == 0 {
			return ErrLeaseLost
		}
		if s, ok := until.(string); ok {
			us, _ := strconv.ParseInt(s, 10, 64)
			lasts(it, time.UnixMicro(us))
		}
		if n == 2 {
			return ErrCancelled
		}
		return nil
	})
}

// onLeases runs a script over leases, and translates the reply for each. The reply may begin with
// something for all of them.
func (q *Queue[T]) onLeases(ctx context.Context, s *script, its []*Item[T], first []any, means func(it *Item[T], n int64, head any) error) []error {
	each := make([][]int, q.cfg.Partitions)
	for i, it := range its {
		p := q.partitionOf(it.Tenant)
		each[p] = append(each[p], i)
	}
	errs := make([]error, len(its))
	for p, all := range each {
		for len(all) > 0 {
			some := all[:min(len(all), maxBatch)]
			all = all[len(some):]
			args := append([]any(nil), first...)
			for _, i := range some {
				args = append(args, its[i].lease())
			}
			r, err := q.runWithSettings(ctx, s, p, args...)
			list, _ := r.([]any)
			var head any
			if len(first) > 0 && len(list) > 0 {
				head, list = list[0], list[1:]
			}
			n := ints(list)
			for k, i := range some {
				switch {
				case err != nil:
					errs[i] = err
				case k >= len(n):
					errs[i] = fmt.Errorf("firqredis: %s: %d replies for %d tasks", s.name, len(n), len(some))
				default:
					errs[i] = means(its[i], n[k], head)
				}
			}
		}
	}
	return errs
}

// calls is call for methods that take items.
func (q *Queue[T]) calls(ctx context.Context, name string, its []*Item[T]) error {
	if err := q.call(ctx, name); err != nil {
		return err
	}
	for i, it := range its {
		if it == nil {
			return fmt.Errorf("%w: firqredis: %s: item %d is nil", firq.ErrInvalidArgument, name, i)
		}
	}
	return nil
}

// join joins the errors of items.
func join[T any](its []*Item[T], errs []error) error {
	var all []error
	for i, err := range errs {
		if err != nil {
			all = append(all, &TaskError{its[i].ID, err})
		}
	}
	return errors.Join(all...)
}

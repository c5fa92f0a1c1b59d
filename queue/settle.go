package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firq-go/firq"
)

// ack is one task of a call of Ack.
type ack struct {
	lease Lease
	at    int                     // its place in the call
	told  func(at int, err error) // must not block
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
	each := make([][]ack, q.traits.Lanes)
	for i, it := range its {
		lane := q.engine.Lane(it.Tenant)
		each[lane] = append(each[lane], ack{LeaseOf(it), i, func(at int, err error) { done <- acked{at, err} }})
	}
	for lane := range each {
		if len(each[lane]) > 0 && !q.acks[lane].add(each[lane]...) { // others may be on their way
			for _, a := range each[lane] {
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

// bytes is how much of MaxBytes an Ack takes.
func (a *ack) bytes() int { return len(a.lease.Result) }

// ackOn returns a function that sends Acks of a lane.
func (q *Queue[T]) ackOn(lane int) func([]ack) {
	return func(as []ack) {
		ls := make([]Lease, len(as))
		for i := range as {
			ls[i] = as[i].lease
		}
		errs, err := q.engine.Ack(context.Background(), lane, ls)
		for i := range as {
			as[i].told(as[i].at, answer(errs, i, err))
		}
	}
}

// answer returns an engine's answer about the i-th of several leases.
func answer(errs []error, i int, err error) error {
	switch {
	case err != nil:
		return err
	case i >= len(errs):
		return fmt.Errorf("queue: %d replies, want at least %d", len(errs), i+1)
	}
	return errs[i]
}

// Retry says what happens to a task that failed.
type Retry struct {
	After  time.Duration // until it is tried again; 0: Config.Backoff; below 0: immediately
	Reason string        // kept with a dead letter
	Dead   bool          // it is not tried again
}

// Nack settles a delivery as failed. The task is tried again, or becomes a dead letter if this was its last
// attempt. ErrLeaseLost: see Ack. If ctx ends first the outcome is open, as with Enqueue.
func (q *Queue[T]) Nack(ctx context.Context, it *Item[T], r Retry) error {
	if err := q.calls(ctx, "Nack", []*Item[T]{it}); err != nil {
		return err
	}
	if r.After == 0 {
		r.After = q.cfg.Backoff.after(it.Attempt)
	}
	err := q.nack(ctx, LeaseOf(it), r)
	if errors.Is(err, ErrLeaseLost) {
		return &TaskError{it.ID, ErrLeaseLost}
	}
	return err
}

// nack is Nack without Backoff.
func (q *Queue[T]) nack(ctx context.Context, l Lease, r Retry) error {
	r.After = max(r.After, 0)
	if len(r.Reason) > MaxReason {
		r.Reason = r.Reason[:MaxReason]
	}
	return q.engine.Nack(ctx, q.engine.Lane(l.Tenant), l, r)
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
	errs := q.onLeases(its, func(lane int, _ []*Item[T], ls []Lease) ([]error, error) { return q.engine.Release(ctx, lane, ls) })
	return join(its, errs)
}

// giveBack releases what no caller wants any more. If that fails it comes back when its lease has run out.
func (q *Queue[T]) giveBack(its []*Item[T]) {
	_ = q.release(context.Background(), its)
}

// Extend lets leases end d from now; 0: Config.Lease. Errors are joined TaskErrors: ErrLeaseLost, see
// Ack; ErrCancelled if the task was cancelled in between, though its lease is extended.
func (q *Queue[T]) Extend(ctx context.Context, d time.Duration, its ...*Item[T]) error {
	if d < 0 {
		return invalidArgument("Extend: %v, must not be negative", d)
	}
	if err := q.calls(ctx, "Extend", its); err != nil {
		return err
	}
	return join(its, q.extend(ctx, d, true, its, func(it *Item[T], until time.Time) { it.LeaseUntil = until }))
}

// extend does the work of Extend. It can count the lost leases, and tells the new ends of the others, as items may be in
// others' hands.
func (q *Queue[T]) extend(ctx context.Context, d time.Duration, counts bool, its []*Item[T], lasts func(it *Item[T], until time.Time)) []error {
	set(&d, q.cfg.Lease)
	return q.onLeases(its, func(lane int, some []*Item[T], ls []Lease) ([]error, error) {
		until, errs, err := q.engine.Extend(ctx, lane, d, counts, ls)
		for i, it := range some {
			if err := answer(errs, i, err); err == nil || errors.Is(err, ErrCancelled) {
				lasts(it, until)
			}
		}
		return errs, err
	})
}

// onLeases calls an engine for the leases of items, by lane and at most MaxBatch at a time, and returns the answer for each.
func (q *Queue[T]) onLeases(its []*Item[T], f func(lane int, some []*Item[T], ls []Lease) ([]error, error)) []error {
	each := make([][]int, q.traits.Lanes)
	for i, it := range its {
		lane := q.engine.Lane(it.Tenant)
		each[lane] = append(each[lane], i)
	}
	all := make([]error, len(its))
	for lane, left := range each {
		for len(left) > 0 {
			now := left[:min(len(left), MaxBatch)]
			left = left[len(now):]
			some, ls := make([]*Item[T], len(now)), make([]Lease, len(now))
			for k, i := range now {
				some[k], ls[k] = its[i], its[i].name()
			}
			errs, err := f(lane, some, ls)
			for k, i := range now {
				all[i] = answer(errs, k, err)
			}
		}
	}
	return all
}

// calls is call for methods that take items.
func (q *Queue[T]) calls(ctx context.Context, name string, its []*Item[T]) error {
	if err := q.call(ctx, name); err != nil {
		return err
	}
	for i, it := range its {
		if it == nil {
			return invalidArgument("%s: item %d is nil", name, i)
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

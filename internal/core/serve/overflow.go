package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/waitq"
)

// Admitter is what a core does with one task. It acquires the task's ticket; when
// it returns an error, the ticket is free again. The task comes by value: a
// pointer through an interface would put every task on the heap.
type Admitter[K comparable, T any] interface {
	// Admit takes the task in, or returns ErrTicketInUse, ErrClosed, or one of
	// the errors of a full scheduler, uncounted. Expired tasks have made room by
	// then.
	Admit(tenant K, task drr.Task[T]) error
	// Replace evicts one task of the tenant and takes the new one in, in one
	// step. It reports false if there is nothing to evict, with the limit that
	// stands in the way.
	Replace(tenant K, task drr.Task[T], newest bool) (bool, error)
	// NextDueOf returns a time before which no task of the tenant expires; clock.Never:
	// none will.
	NextDueOf(tenant K) int64
	// NextDue is NextDueOf for the tasks of all tenants.
	NextDue() int64
}

// Overflow applies the tenant's policy to a task that Admit answered
// with full.
func (sh *Shared[K, T]) Overflow(a Admitter[K, T], tenant K, task drr.Task[T], full error) error {
	if !isLimit(full) {
		return full
	}
	bp, err := sh.Backpressure(tenant)
	if err != nil {
		return err
	}
	switch bp.Policy {
	case firq.DropOldest, firq.DropNewest:
		for full != firq.ErrTooManyTenants { // an unknown tenant has nothing to evict
			ok, err := a.Replace(tenant, task, bp.Policy == firq.DropNewest)
			if ok {
				return nil
			}
			if err != firq.ErrTooManyTenants {
				return sh.Rejected(err)
			}
			if full = a.Admit(tenant, task); !isLimit(full) { // it was forgotten in between
				return full
			}
		}
	case firq.Wait:
		timer := time.NewTimer(bp.Wait)
		defer timer.Stop()
		return sh.await(context.Background(), timer.C, a, tenant, task, full)
	}
	return sh.Rejected(full)
}

// EnqueueWait is firq.Producer's.
func (sh *Shared[K, T]) EnqueueWait(ctx context.Context, a Admitter[K, T], tenant K, t firq.Task[T]) error {
	if ctx == nil {
		return ErrNilContext
	}
	if err := sh.CheckTenant(tenant); err != nil {
		return err
	}
	var task drr.Task[T]
	err := sh.Task(&task, &t, sh.Clock.Now())
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		sh.rejects.timeout.Inc()
		return timeoutError(ctx)
	}
	if err = a.Admit(tenant, task); err != nil {
		err = sh.await(ctx, nil, a, tenant, task, err)
	}
	return err
}

// await waits in the wait queue: see there for why no wake-up is lost. A new tenant
// over MaxTenants is not a matter of capacity: it does not wait.
//
// Admit calls user code, which may panic: no producer is left in line that is not there
// any more, and a place that this producer was woken for and does not take goes to
// the next one.
func (sh *Shared[K, T]) await(ctx context.Context, timer <-chan time.Time, a Admitter[K, T], tenant K, task drr.Task[T], full error) error {
	var w waitq.Waiter[K]
	inLine, woken := false, false
	defer func() {
		if inLine {
			sh.Waiters.Leave(&w)
		} else if woken {
			sh.Waiters.Pass(&w)
		}
	}()
	for {
		cause, ok := causeOf(full)
		if !ok { // admitted, ErrClosed, ErrTooManyTenants
			return sh.Rejected(full)
		}
		sh.Waiters.Enter(&w, tenant, cause)
		inLine, woken = true, false
		again, verdict := full, waitq.Retry
		for again == full && verdict == waitq.Retry {
			sh.Restamp(&task) // waiting for admission is not queue time
			if again = a.Admit(tenant, task); again == full {
				verdict = sh.sleep(ctx, &w, timer, nextDue(a, tenant, full))
			}
		}
		inLine = false
		if again != full {
			sh.Waiters.Leave(&w) // admitted, or to wait in another line
			if full = again; isLimit(full) {
				continue
			}
			return full
		}
		if verdict == waitq.GivenUp {
			sh.rejects.timeout.Inc()
			return timeoutError(ctx)
		}
		woken = true
		sh.Restamp(&task)
		if full = a.Admit(tenant, task); full == nil {
			woken = false // it has the place
		}
	}
}

// causeOf returns the cause for which a producer waits that was answered with full; false: it
// does not wait.
func causeOf(full error) (cause waitq.Cause, ok bool) {
	switch full {
	case firq.ErrGlobalFull:
		return waitq.Global, true
	case firq.ErrTenantFull:
		return waitq.Tenant, true
	case firq.ErrTenantThreshold:
		return waitq.Threshold, true
	}
	return 0, false
}

// nextDue returns a time before which no task expires that would make room for a task of the
// tenant, which was answered with full: a tenant at its own limit needs one of its tasks to go.
func nextDue[K comparable, T any](a Admitter[K, T], tenant K, full error) int64 {
	if full == firq.ErrTenantFull {
		return a.NextDueOf(tenant)
	}
	return a.NextDue()
}

// sleep waits in the wait queue, but not beyond the time at which an expired task may
// make room: no call would tell.
func (sh *Shared[K, T]) sleep(ctx context.Context, w *waitq.Waiter[K], timer <-chan time.Time, due int64) waitq.Verdict {
	sh.Waiters.Until(w, due)
	if due == clock.Never {
		return sh.Waiters.Wait(ctx, w, timer, nil)
	}
	now := sh.Clock.Now() // due may be as early as math.MinInt64
	retry := time.NewTimer(time.Duration(max(due, now)-now) + time.Millisecond)
	defer retry.Stop()
	return sh.Waiters.Wait(ctx, w, timer, retry.C)
}

// isLimit reports whether err is an answer that waiting or evicting may change.
func isLimit(err error) bool {
	switch err {
	case firq.ErrGlobalFull, firq.ErrTenantFull, firq.ErrTenantThreshold, firq.ErrTooManyTenants:
		return true
	}
	return false
}

// timeoutError is ErrTimeout, with the context's reason if it has one.
func timeoutError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", firq.ErrTimeout, err)
	}
	return firq.ErrTimeout
}

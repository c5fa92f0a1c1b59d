package schedtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq"
)

// This is the reference's admission.

func (r *reference[K, T]) Enqueue(tenant K, t firq.Task[T]) error {
	return r.enqueue(nil, tenant, t)
}

func (r *reference[K, T]) EnqueueWait(ctx context.Context, tenant K, t firq.Task[T]) error {
	if ctx == nil {
		return fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
	}
	return r.enqueue(ctx, tenant, t)
}

func (r *reference[K, T]) EnqueueBatch(tenant K, ts []firq.Task[T]) (int, error) {
	for i, t := range ts {
		if err := r.Enqueue(tenant, t); err != nil {
			r.countRest(err, uint64(len(ts)-i-1))
			return i, err
		}
	}
	return len(ts), nil
}

// countRest counts what a batch has not even tried.
func (r *reference[K, T]) countRest(err error, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch err {
	case firq.ErrGlobalFull:
		r.stats.RejectedGlobal += n
	case firq.ErrTenantFull, firq.ErrTenantThreshold, firq.ErrTooManyTenants:
		r.stats.RejectedTenant += n
	case firq.ErrTimeout:
		r.stats.TimeoutRejected += n
	}
}

// enqueue admits, rejects, evicts or waits; with ctx it waits whatever the policy.
func (r *reference[K, T]) enqueue(ctx context.Context, tenant K, task firq.Task[T]) error {
	if err := task.Validate(); err != nil {
		return err
	}
	if tenant != tenant { // NaN
		return fmt.Errorf("%w: tenant is not equal to itself", firq.ErrInvalidTask)
	}
	if tk := task.Ticket; tk != nil && !tk.Acquire(&r.owner) {
		return fmt.Errorf("%w: Ticket is in use", firq.ErrInvalidTask)
	}
	queued := false
	defer func() {
		if !queued && task.Ticket != nil {
			task.Ticket.Abandon()
		}
	}()
	return r.admit(ctx, tenant, task, &queued)
}

func (r *reference[K, T]) admit(ctx context.Context, tenant K, task firq.Task[T], queued *bool) error {
	task.Cost = max(task.Cost, 1)
	if task.Priority == 0 {
		task.Priority = firq.PriorityNormal
	}
	bp, known := r.cfg.Backpressure, r.cfg.BackpressureFor == nil
	var drops []refDrop[K, T]
	var timeout <-chan time.Time
	for {
		says, asked := r.says(), r.idle(tenant)
		if asked {
			says = r.ask(tenant)
		}
		r.mu.Lock()
		now := time.Now()
		err := r.limit(tenant, now, &drops)
		if err == nil || err == firq.ErrClosed || ctx != nil && err == firq.ErrTooManyTenants || ctx == nil && known {
			if err != nil && err != firq.ErrClosed {
				err = r.press(tenant, &task, bp, err, &drops)
			}
			if err == nil {
				r.push(tenant, task, now, says, asked)
				*queued = true
			}
			if err != errWait {
				r.wake()
				r.mu.Unlock()
				r.report(drops)
				return err
			}
		}
		changed, expiry := r.change(), r.nextDue(tenant, now)
		r.mu.Unlock()
		r.report(drops)
		drops = drops[:0]
		switch {
		case ctx == nil && !known:
			bp, known = r.cfg.BackpressureFor(tenant), true
			if bp.Validate() != nil {
				bp = firq.Backpressure{}
			}
			continue
		case ctx == nil && timeout == nil:
			timeout = time.After(bp.Wait)
		}
		var done <-chan struct{}
		if ctx != nil {
			done = ctx.Done()
		}
		select {
		case <-changed:
		case <-expiry:
		case <-timeout:
			return r.timedOut(firq.ErrTimeout)
		case <-done:
			return r.timedOut(fmt.Errorf("%w: %w", firq.ErrTimeout, ctx.Err()))
		}
	}
}

// nextDue returns a timer for the tenant's next deadline, which makes room.
func (r *reference[K, T]) nextDue(tenant K, now time.Time) <-chan time.Time {
	var next time.Time
	if t := r.tenants[tenant]; t != nil {
		for p := range t.tasks {
			for _, tk := range t.tasks[p] {
				if !tk.due.IsZero() && (next.IsZero() || tk.due.Before(next)) {
					next = tk.due
				}
			}
		}
	}
	if next.IsZero() {
		return nil
	}
	return time.After(next.Sub(now) + time.Millisecond)
}

// errWait: the policy is to wait.
var errWait = fmt.Errorf("wait")

func (r *reference[K, T]) timedOut(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.TimeoutRejected++
	return err
}

// idle reports whether the tenant would become active.
func (r *reference[K, T]) idle(tenant K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tenants[tenant]
	return t == nil || t.n == 0
}

// limit reclaims what has expired, then returns the limit reached, or nil.
func (r *reference[K, T]) limit(tenant K, now time.Time, drops *[]refDrop[K, T]) error {
	if r.closed || r.draining {
		return firq.ErrClosed
	}
	r.sweep(now)
	t := r.tenants[tenant]
	err := r.reached(t)
	if err != nil && t != nil {
		r.reclaim(t, now, drops)
		err = r.reached(t)
	}
	if err == firq.ErrGlobalFull || err == firq.ErrTooManyTenants {
		for _, other := range r.tenants {
			r.reclaim(other, now, drops)
		}
		err = r.reached(t)
	}
	return err
}

// reclaim drops what of the tenant has expired.
func (r *reference[K, T]) reclaim(t *refTenant[K, T], now time.Time, drops *[]refDrop[K, T]) {
	for p := range t.tasks {
		for i := len(t.tasks[p]) - 1; i >= 0; i-- {
			r.expire(t, p, i, now, drops)
		}
	}
}

func (r *reference[K, T]) reached(t *refTenant[K, T]) error {
	held := 0
	if t != nil {
		held = t.n
	}
	free := r.most - r.queued
	switch alpha := r.cfg.DynamicThreshold; {
	case free <= 0:
		return firq.ErrGlobalFull
	case held > 0 && held >= r.limitOf(t):
		return firq.ErrTenantFull
	case alpha > 0 && float64(held) >= alpha*float64(free):
		return firq.ErrTenantThreshold
	case t == nil && r.crowded() && r.longestIdle() == nil:
		return firq.ErrTooManyTenants
	}
	return nil
}

// press applies the policy to a limit that was reached.
func (r *reference[K, T]) press(tenant K, task *firq.Task[T], bp firq.Backpressure, err error, drops *[]refDrop[K, T]) error {
	if bp.Policy == firq.Wait && err != firq.ErrTooManyTenants {
		return errWait
	}
	if t := r.tenants[tenant]; t != nil && bp.Policy != firq.Reject {
		for p := range task.Priority + 1 {
			if len(t.tasks[p]) == 0 {
				continue
			}
			i := t.fullest(int(p), bp.Policy == firq.DropNewest)
			if r.cfg.OnDrop != nil {
				*drops = append(*drops, refDrop[K, T]{tenant, t.tasks[p][i].Payload, firq.DropEvicted})
			}
			r.remove(t, int(p), i)
			r.stats.DroppedPolicy++
			return nil
		}
	}
	if err == firq.ErrGlobalFull {
		r.stats.RejectedGlobal++
	} else {
		r.stats.RejectedTenant++
	}
	return err
}

// push queues the task.
func (r *reference[K, T]) push(tenant K, task firq.Task[T], now time.Time, says refSays, asked bool) {
	if r.tenants[tenant] == nil && r.crowded() {
		r.forget(r.longestIdle())
	}
	t := r.tenant(tenant)
	due := task.Deadline
	if due.IsZero() && r.cfg.MaxQueueAge > 0 {
		due = now.Add(r.cfg.MaxQueueAge)
		if due.Before(now) {
			due = time.Time{} // beyond the calendar
		}
	}
	if task.Ticket != nil {
		task.Ticket.SetPlace(t)
	}
	wasEmpty := r.none(r.flow(t, task.Priority))
	p, line := task.Priority, r.line(t, &task)
	line.count(task.Flow, 1)
	q := t.tasks[p]
	if room := t.room[p]; len(q) == cap(q) && cap(room) >= 2*len(q) {
		q = append(room, q...) // down to the start again
		clear(q[len(q):cap(q)])
	}
	grows := len(q) == cap(q)
	q = append(q, refTask[K, T]{Task: task, due: due, at: now, line: line})
	if t.tasks[p] = q; grows {
		t.room[p] = q[:0]
	}
	if t.n == 0 && (asked || t.says.perTenant == 0) {
		t.says.perTenant, t.says.inFlight = says.perTenant, says.inFlight
	}
	t.n++
	t.lastUsed = now
	r.queued++
	r.stats.Enqueued++
	r.watermark(t)
	f := r.flow(t, task.Priority)
	if t.n == 1 {
		t.says.quantum = says.quantum
	}
	switch {
	case f.listed || f.parked && !wasEmpty:
	case r.blocked(t):
		r.settle(f, 0, 0)
		f.parked = true
	default:
		f.parked = false
		r.join(f, r.cfg.NewTenantsFirst)
	}
}

package rate

import (
	"context"
	"math"
	"time"
)

// line has the calls of one tenant that wait, in the order in which they came. A call that finds
// that there is enough for the first, lets it pass: the first itself when its time has come,
// or a later Take or Charge. Nothing is reserved that would have to be given back, so a
// call that leaves, and a Charge, only change when the first passes. Under the stripe's
// lock.
type line struct {
	first, last *waiter
	cost        int64 // of all that wait, at most math.MaxInt64
}

// lookEvery is how often the first of a line asks LimitFor, which may have changed its mind.
const lookEvery = 100 * time.Millisecond

// waiter is one call. Its fields are under the stripe's lock.
type waiter struct {
	next   *waiter
	cost   int64
	passed bool
	result Result        // of one that passed
	look   chan struct{} // of one: it has passed, or is the first now, or may pass sooner
}

// poke wakes the waiter, to look again.
func (w *waiter) poke() {
	select {
	case w.look <- struct{}{}:
	default: // it will look
	}
}

// enter adds a waiter.
func (a *account[K]) enter(w *waiter) {
	if a.line == nil {
		a.line = &line{first: w, last: w, cost: w.cost}
		return
	}
	a.line.last.next = w
	a.line.last = w
	a.line.cost += w.cost
}

// leave removes a waiter, if it is in the line.
func (a *account[K]) leave(w *waiter) {
	q := a.line
	if q == nil {
		return
	}
	var before *waiter
	for at := q.first; at != w; before, at = at, at.next {
		if at == nil {
			return
		}
	}
	if q.last == w {
		q.last = before
	}
	q.cost -= w.cost
	switch {
	case before != nil:
		before.next = w.next
	case w.next != nil:
		q.first = w.next
		q.first.poke()
	default:
		a.line = nil
	}
}

// serve lets those pass for whom there is enough.
func (a *account[K]) serve(now int64, limit Limit) {
	for a.line != nil && a.take(now, limit, a.line.first.cost) {
		w := a.line.first
		w.passed, w.result = true, limit.result(now, a.spent, a.since)
		a.leave(w)
		w.poke()
	}
}

// ahead returns what the calls take that wait before w; nil: all.
func (a *account[K]) ahead(w *waiter) (cost int64) {
	if a.line == nil || a.line.first == w {
		return 0
	}
	if w == nil {
		return a.line.cost
	}
	for at := a.line.first; at != w; at = at.next {
		cost += at.cost
	}
	return cost
}

// outlook says how it stands with a call of this cost that cannot pass yet.
func (a *account[K]) outlook(now int64, limit Limit, cost, ahead int64) Result {
	a.used(now, limit.PerSecond)
	r := limit.result(now, a.spent, a.since)
	r.RetryAfter = time.Duration(max(1, a.ready(a.needs(limit.Burst, cost, ahead))-now))
	return r
}

// wait is the rest of a Take for which there is not enough, or before which others wait.
// The stripe is locked; wait unlocks it.
func (l *Limiter[K]) wait(ctx context.Context, s *stripe[K], a *account[K], tenant K, limit Limit, cost, now int64, maxWait time.Duration) (Result, error) {
	if deadline, ok := ctx.Deadline(); ok {
		maxWait = min(maxWait, time.Until(deadline)-1) // what would pass when ctx ends has not passed before
	}
	ahead := a.ahead(nil)
	r := a.outlook(now, limit, cost, ahead)
	if r.RetryAfter > maxWait || cost > math.MaxInt64-ahead {
		s.sweep(now)
		s.mu.Unlock()
		return r, ErrLimited
	}
	v := visit[K]{l: l, s: s, a: a, tenant: tenant, now: now, maxWait: maxWait, began: time.Now()}
	v.w = &waiter{cost: cost, look: make(chan struct{}, 1)}
	a.enter(v.w)
	if a.line.first != v.w {
		r.RetryAfter = maxWait // it is woken when it is the first
	} else {
		r.RetryAfter = v.nap(r.RetryAfter)
	}
	s.mu.Unlock()

	returned := false
	defer func() { v.end(returned) }() // also if a function of Config panics
	r, err := v.wait(ctx, r.RetryAfter)
	returned = true
	return r, err
}

// visit is a call that waits.
type visit[K comparable] struct {
	l       *Limiter[K]
	s       *stripe[K]
	a       *account[K] // it stays the tenant's as long as there is a line
	w       *waiter
	tenant  K
	now     int64     // when it came
	began   time.Time // the same by the machine's clock
	maxWait time.Duration
}

// wait waits until the call has passed; it looks again after d.
func (v *visit[K]) wait(ctx context.Context, d time.Duration) (Result, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		gone := false
		select {
		case <-v.w.look:
		case <-t.C:
		case <-ctx.Done():
			gone = true
		}
		limit := v.l.limitOf(v.tenant)
		now := max(v.l.now(), v.now+int64(time.Since(v.began))) // it has waited, whatever Config.Now says
		r, passed, first := v.look(now, limit)
		r.Waited = time.Since(v.began)
		left := v.maxWait - r.Waited
		switch {
		case passed:
			return r, nil
		case gone:
			return r, ctx.Err()
		case limit.PerSecond == 0: // any more
			return Result{Waited: r.Waited}, nil
		case left <= 0:
			return r, ErrLimited
		case first:
			left = v.nap(min(left, r.RetryAfter))
		}
		t.Reset(left)
	}
}

// nap returns after how much of d the first of a line looks again.
func (v *visit[K]) nap(d time.Duration) time.Duration {
	if v.l.cfg.LimitFor != nil {
		return min(d, lookEvery)
	}
	return d
}

// look reports whether the call has passed, and whether it is the first; and how it stands.
func (v *visit[K]) look(now int64, limit Limit) (r Result, passed, first bool) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if limit.PerSecond > 0 {
		v.a.serve(now, limit)
	}
	switch {
	case v.w.passed:
		return v.w.result, true, false
	case limit.PerSecond > 0:
		r = v.a.outlook(now, limit, v.w.cost, v.a.ahead(v.w))
	}
	return r, false, v.a.line.first == v.w
}

// end takes the call out of the line, and gives back what it took if it did not return.
func (v *visit[K]) end(returned bool) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.a.leave(v.w)
	if v.w.passed && !returned {
		v.a.giveBack(v.now, v.w.cost)
	}
}

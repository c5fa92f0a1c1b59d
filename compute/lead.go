package compute

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// answer is what becomes of a call.
type answer[V any] struct {
	val  V
	err  error
	info Info
}

func none[V any](err error) answer[V] { return answer[V]{err: err, info: Info{Group: -1}} }

// lead gets a slot, executes, and ends the flight. since is when the call came if it did not
// lead from the beginning; else zero.
func (f *flight[T, K, V]) lead(ctx context.Context, since time.Time) answer[V] {
	s, accepted := f.p.s, false
	defer func() {
		if !accepted { // it gave up, or Cost, a function of the gate's, or ctx panicked
			f.handOver()
		}
	}()
	gone := ctx.Done()
	f.watched = gone != nil && !s.cfg.Detach && !f.behind // else a caller that waits says when it leaves
	req := gate.Request{Cost: f.charge(), Priority: f.priority}
	if req.Cost < 0 {
		accepted = true
		f.refuse(errCost)
		return none[V](errCost)
	}
	sl, err := s.acquire(ctx, f.key.Tenant, f.hash, req, since)
	switch {
	case err != nil:
	case s.life.isKilled():
		sl.permit.Release()
		err = firq.ErrClosed
	case late(ctx): // the permit has come just as it ended
		sl.permit.Release()
		err = lateError(ctx)
	}
	if err != nil {
		if refusal(err) {
			accepted = true
			f.refuse(err)
		}
		return none[V](err)
	}
	accepted = true
	info := Info{Source: Executed, Group: sl.group}
	if info.Wait = sl.waited; info.Wait == 0 {
		info.Wait = sl.permit.Waited()
	}
	if s.cfg.ExecTimeout > 0 {
		f.deadline = time.Since(s.base) + min(s.cfg.ExecTimeout, forever)
	}
	f.begin(ctx, sl.group)
	if s.cfg.Detach && !f.behind {
		s.life.hold()
		go f.detached(sl, req.Cost)
		return f.attend(ctx, gone, info)
	}
	f.execute(&sl, req.Cost)
	return f.landed(ctx, info)
}

// late reports whether ctx has ended, or its deadline has passed: its timer may fire late.
func late(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	d, ok := ctx.Deadline()
	return ok && !time.Now().Before(d)
}

// lateError waits for ctx to say what the clock says already, but not for one that never
// does.
func lateError(ctx context.Context) error {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ended(ctx)
	case <-t.C:
		return context.DeadlineExceeded
	}
}

// detached is execute on a separate goroutine.
func (f *flight[T, K, V]) detached(sl slot[T], cost int64) {
	defer f.p.s.life.leave()
	f.execute(&sl, cost)
}

// charge returns what the execution counts in fairness. It may panic.
func (f *flight[T, K, V]) charge() int64 {
	c := int64(1)
	switch {
	case f.cost >= 0:
		c = f.cost
	case f.p.s.cfg.Cost != nil:
		c = f.p.s.cfg.Cost(f.key.Tenant, f.key.Key)
	}
	if c == 0 {
		return 1
	}
	return c
}

// attend waits for the execution that its call leads, and that runs on another goroutine.
func (f *flight[T, K, V]) attend(ctx context.Context, gone <-chan struct{}, info Info) answer[V] {
	select {
	case <-f.done:
		return f.landed(ctx, info)
	case <-gone:
	case <-f.p.s.life.killed:
		f.leave(true)
		return none[V](firq.ErrClosed)
	}
	select {
	case <-f.done:
		return f.landed(ctx, info)
	default:
	}
	f.leave(true)
	return none[V](ended(ctx))
}

// landed is the answer of the call whose execution is over.
func (f *flight[T, K, V]) landed(ctx context.Context, info Info) answer[V] {
	if f.err != nil {
		switch {
		case ctx.Err() != nil:
			return none[V](ended(ctx))
		case f.p.s.life.isKilled() && errors.Is(f.err, context.Canceled):
			return none[V](firq.ErrClosed)
		}
	}
	return answer[V]{f.val, f.err, info}
}

// follow waits for the outcome, or leads if the leader gives up.
func (f *flight[T, K, V]) follow(ctx context.Context) answer[V] {
	came := time.Now()
	gone, from, err := f.board(ctx)
	if err != nil {
		return none[V](err)
	}
	select {
	case <-f.done:
		return f.joined(came)
	case <-f.baton:
		f.note(from, -1) // a leader's is known from its context
		f.take()
		failpoint.At("promoted")
		return f.lead(ctx, came)
	case <-gone:
	case <-f.p.s.life.killed:
		f.desert(from)
		return none[V](firq.ErrClosed)
	}
	select {
	case <-f.done:
		return f.joined(came)
	default:
	}
	f.desert(from)
	return none[V](ended(ctx))
}

// joined is the answer of a call that joined, once the outcome is there.
func (f *flight[T, K, V]) joined(came time.Time) answer[V] {
	switch {
	case !f.ran:
		return none[V](f.err)
	case f.err != nil && f.p.s.life.isKilled() && errors.Is(f.err, context.Canceled):
		return none[V](firq.ErrClosed) // which of the two it sees first is chance
	}
	return answer[V]{f.val, f.err, Info{Source: Coalesced, Wait: time.Since(came), Group: int(f.group)}}
}

// execute calls exec, gives the slot back, and ends the flight.
func (f *flight[T, K, V]) execute(sl *slot[T], cost int64) {
	s := f.p.s
	if f.behind {
		s.behind.Add(1)
	}
	if sl.spilled {
		s.spilled.Add(1)
	}
	ex := execution[T, K, V]{began: s.clock.Now()}
	defer func() {
		if !ex.complete {
			ex.setPanic(recover())
			s.panics.Add(1)
		}
		f.land(&ex, sl, cost)
		if ex.panic != nil {
			s.tellPanic(f.call(), ex.panic)
		}
	}()
	exec := s.exec
	if f.with != nil {
		exec = f.with
	}
	ex.val, ex.err = exec((*execCtx[T, K, V])(f), f.call())
	ex.ended = s.clock.Now()
	if f.keep {
		ex.entry = s.entry(&f.key, ex.val, ex.err, time.Duration(f.ttl.Load()), ex.ended)
	}
	if s.adaptive != nil && !errors.Is(ex.err, context.Canceled) {
		s.adaptive.Observe(time.Duration(ex.ended-ex.began), errors.Is(ex.err, context.DeadlineExceeded))
	}
	ex.complete = true
}

// execution is what execute learns of one call of exec.
type execution[T, K comparable, V any] struct {
	outcome[V]
	entry        *node[T, K, V] // what is to be kept; nil: nothing
	began, ended int64
	complete     bool        // nothing panicked
	panic        *PanicError // nil: nothing did
}

// setPanic makes the outcome that of a panic.
func (ex *execution[T, K, V]) setPanic(v any) {
	ex.panic = panicked(v)
	ex.outcome, ex.entry = outcome[V]{err: ex.panic}, nil
}

// panicked is the error of what a panic, or a runtime.Goexit (v nil), has ended.
func panicked(v any) *PanicError {
	p := &PanicError{Value: v}
	if v != nil {
		p.Stack = debug.Stack()
	}
	return p
}

// land ends an execution: it gives the slot back, and then updates the counters and hands out
// the outcome in one step, so that a caller with an outcome finds slot and counters settled.
func (f *flight[T, K, V]) land(ex *execution[T, K, V], sl *slot[T], cost int64) {
	s := f.p.s
	if ex.ended == 0 {
		ex.ended = s.clock.Now()
	}
	took := max(ex.ended-ex.began, 0)
	if s.cfg.ChargeByTime {
		sl.permit.Charge(max((took+int64(time.Millisecond)-1)/int64(time.Millisecond), 1) - cost)
	}
	sl.permit.Release()
	f.cancel()
	if ex.err != nil {
		var zero V
		ex.val = zero
	}
	f.publish(ex)
}

// publish keeps what is to be kept, and ends the flight, in this order and under the lock of
// its shard: a call that finds no flight finds the entry, and Forget comes before or after
// both.
func (f *flight[T, K, V]) publish(ex *execution[T, K, V]) {
	failpoint.Lock(&f.p.mu, "publish")
	defer func() {
		if v := recover(); v != nil { // a cache of others
			ex.setPanic(v)
			f.p.s.panics.Add(1)
		}
		if f.outcome = ex.outcome; f.err != nil {
			f.p.failed++
		} else {
			f.p.succeeded++
		}
		f.p.took.add(&f.p.s.times, time.Duration(max(ex.ended-ex.began, 0)))
		f.end()
		f.p.mu.Unlock()
	}()
	if f.keep && !f.forgotten {
		f.p.s.store(f.hash, &f.key, ex.entry, ex.err)
		if ex.err != nil && f.waiters > 0 { // else it was cancelled, and might have succeeded
			f.fail(ex.err)
		}
	}
}

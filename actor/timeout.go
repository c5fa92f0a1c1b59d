package actor

import (
	"context"
	"log/slog"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A handler that runs for its timeout. The alarm rings on a separate goroutine, which finds
// out under the Ctx's lock whether the handler is still that one; what it does then depends on
// the mode. With Stop the handler is abandoned: by one CAS of the Ctx's state, against the Swap
// in returned. From then on the goroutine of the alarm has everything that the handler held,
// and gives it back piece by piece (abandon).

// timeout of a handler of m.
func (a *actor) timeout(m *method) (time.Duration, TimeoutMode) {
	switch {
	case m.kind == nil: // a start or last words
		return 0, Warn
	case m.timeout > 0:
		// The method knows better than the actor how long its handlers take.
		return m.timeout, m.mode
	}
	return a.set.timeout, a.set.mode
}

// alarm is a timer of a Ctx that each of its handlers sets again, so that it costs no memory. A
// ring that comes too late, in the next handler, finds that this one's time is not over. Guarded
// by Ctx.mu.
type alarm struct {
	timer *time.Timer
	due   time.Time // zero: it is off
}

// set makes the alarm of c call ring at due, which is after d.
func (l *alarm) set(c *Ctx, d time.Duration, due time.Time, ring func(*Ctx)) {
	l.due = due
	// With the first handler of this Ctx that has a timeout; the later ones set the same timer
	// again.
	if l.timer == nil {
		l.timer = time.AfterFunc(d, func() { ring(c) })
	} else {
		l.timer.Reset(d)
	}
}

// off takes the alarm back, if it was set.
func (l *alarm) off() {
	if !l.due.IsZero() {
		l.due = time.Time{}
		// It may have begun to ring: then it waits for Ctx.mu, and finds due zero, or that of
		// the next handler.
		l.timer.Stop()
	}
}

// over reports whether its time has come.
func (l *alarm) over() bool {
	return !l.due.IsZero() && !time.Now().Before(l.due)
}

// arm sets what happens if the handler of c, which begins now, runs for long.
func (c *Ctx) arm(a *actor, m *method, d time.Duration, mode TimeoutMode) {
	if m.kind == nil {
		return
	}
	// Its own look at the clock: the turn's time may be a little before the handler, which
	// would ring too early.
	began := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	// So that returned calls clean, which takes the alarms back.
	c.marked()
	// Whatever rings later with an earlier number is the alarm of another handler.
	c.run++
	c.began = began
	if d > 0 {
		// Calls of this handler do not run on its goroutine: it may be abandoned or have to
		// leave while they run.
		c.timed.Store(mode != Warn)
		if mode == Cancel {
			// The deadline of the handler's context, if that is made.
			c.due = began.Add(d)
		}
		c.limit.set(c, d, began.Add(d), (*Ctx).overLimit)
	}
	if slow := a.set.slowAfter; slow > 0 {
		c.slow.set(c, slow, began.Add(slow), (*Ctx).overSlow)
	}
}

// overLimit is called when the alarm of the timeout rings. If the handler has returned before it
// could, clean reports the timeout.
func (c *Ctx) overLimit() {
	c.mu.Lock()
	// Rung for a handler that has returned, or for the one before.
	if !c.limit.over() || !c.marked() {
		c.mu.Unlock()
		return
	}
	// Reported here, so clean does not report it again.
	c.limit.due = time.Time{}
	a, m, run, began := c.a.Load(), c.m.Load(), c.run, c.began
	_, mode := a.timeout(m)
	var std context.Context
	if mode == Cancel {
		// Made if the handler has not asked for it yet: it ends by its own deadline, which is
		// the same instant.
		std = c.context()
	}
	c.mu.Unlock()
	if std != nil {
		<-std.Done() // now, so that Err reports the timeout before the hook does
	}
	// First what the mode does, and then the hook: that takes time, and the caller waits.
	c.late(a, m, run, mode)
	c.sys.reportLate(a, m, mode, time.Since(began))
}

// overSlow is called when the alarm of WithSlowAfter rings.
func (c *Ctx) overSlow() {
	c.mu.Lock()
	if !c.slow.over() || !c.marked() {
		c.mu.Unlock()
		return
	}
	c.slow.due = time.Time{}
	// Under mu the Ctx is still that handler's.
	a, h := c.a.Load(), SlowHandler{c.a.Load().name, c.m.Load().name, time.Since(c.began)}
	c.mu.Unlock()
	c.sys.hook("WithSlowAfter", func() { a.set.onSlow(h) })
}

// late does to a handler that has run for its timeout what the mode says.
func (c *Ctx) late(a *actor, m *method, run uint64, mode TimeoutMode) {
	failpoint.At("late")
	c.mu.Lock()
	// Between the two locks the handler may have returned, and another one begun.
	if c.run != run || !c.marked() {
		c.mu.Unlock()
		return
	}
	var kids []*call
	switch mode {
	case Cancel:
		// Its calls end now. The handler itself goes on, and sees the end of its context.
		kids = c.takeKids()
	case Stop:
		// Pairs with the Swap in returned: either the handler has returned, or it is abandoned,
		// and then this goroutine has all that it held.
		if !c.st.CompareAndSwap(slow, abandoned) {
			c.mu.Unlock()
			return // it has just returned
		}
		// It must exist, so that goroutines of the handler see its end.
		c.context()
		// All that it has begun ends with it: its calls, and its context.
		kids = c.endLocked(ErrTimeout)
	}
	c.mu.Unlock()
	if mode == Stop {
		// Without mu, as it takes those of the actor and of the graph.
		c.abandon(a, m)
		leaveAll(kids, ErrStale)
	} else {
		leaveAll(kids, context.DeadlineExceeded)
	}
}

// reportLate calls the hooks for a handler that has run for its timeout.
func (s *System) reportLate(a *actor, m *method, mode TimeoutMode, elapsed time.Duration) {
	s.metric("Metrics.Timeout", func(to Metrics) { to.Timeout(a.kindName(), m.name, mode) })
	// What the handler was, not what it is: by now it may have returned.
	h := SlowHandler{a.name, m.name, elapsed}
	if f := s.cfg.OnTimeout; f != nil {
		s.hook("OnTimeout", func() { f(h) })
		return
	}
	s.log(slog.LevelWarn, "actor: a handler has run for its timeout", "actor", h.Name, "method", h.Method, "elapsed", h.Elapsed, "mode", mode)
}

// abandon takes from a handler all that it holds: from now on it belongs to no actor and no call.
func (c *Ctx) abandon(a *actor, m *method) {
	s := c.sys
	failpoint.At("abandon")
	s.abandoned.Add(1)
	a.abandonMetric(1)
	// Before the call is answered: a caller that calls again waits for the next incarnation.
	a.fail(m, ErrTimeout, true)
	failpoint.At("abandon call")
	// The handler keeps the call until now, since returned leaves an abandoned Ctx alone.
	if f := c.serving.Load(); f != nil {
		f.refuse(ErrTimeout, taken)
	}
	failpoint.Lock(&graph, "abandon caller")
	// By the rule of deadlocks no handler waits for it any more. Under graph, as a walk may use it.
	c.caller.Store(nil)
	graph.Unlock()
	failpoint.At("abandon slot")
	// The slot goes on to another goroutine. This one ends when its handler returns.
	if c.w != nil {
		c.w.lose()
	}
	failpoint.At("abandon turn")
	a.leave(c)
}

// abandonMetric tells Metrics that an abandoned handler runs on (1), or has returned after all (-1).
func (a *actor) abandonMetric(delta int) {
	a.sys().metric("Metrics.Abandoned", func(m Metrics) { m.Abandoned(a.kindName(), delta) })
}

package actor

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// timeout of a handler of m.
func (a *actor) timeout(m *method) (time.Duration, TimeoutMode) {
	switch {
	case m.kind == nil: // a start or last words
		return 0, Warn
	case m.timeout > 0:
		return m.timeout, m.mode
	}
	return a.set.timeout, a.set.mode
}

// arm sets what happens if the handler of c, which begins now, runs for long.
func (c *Ctx) arm(a *actor, m *method, d time.Duration, mode TimeoutMode) {
	if m.kind == nil {
		return
	}
	c.heavy = true
	began := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run++
	run := c.run
	if d > 0 {
		c.timed.Store(mode != Warn)
		if mode == Cancel && c.marked() {
			parent := c.context()
			std, end := context.WithDeadlineCause(parent, began.Add(d), ErrTimeout)
			stop := context.AfterFunc(std, func() { // so that Err reports the timeout before late tells of it
				if context.Cause(std) == ErrTimeout {
					c.late(a, m, run, began, mode)
				}
			})
			c.std, c.ends = std, func() { stop(); end() }
		} else {
			c.watch = append(c.watch, time.AfterFunc(d, func() { c.late(a, m, run, began, mode) }))
		}
	}
	if slow := a.set.slowAfter; slow > 0 {
		c.watch = append(c.watch, time.AfterFunc(slow, func() {
			c.mu.Lock()
			over := c.run != run || !c.marked()
			c.mu.Unlock()
			if !over {
				h := SlowHandler{a.name, m.name, time.Since(began)}
				c.sys.hook("WithSlowAfter", func() { a.set.onSlow(h) })
			}
		}))
	}
}

// late is called when a handler has run for its timeout.
func (c *Ctx) late(a *actor, m *method, run uint64, began time.Time, mode TimeoutMode) {
	failpoint.At("late")
	c.mu.Lock()
	if c.run != run || !c.marked() {
		c.mu.Unlock()
		return
	}
	s := c.sys
	var kids []kid
	switch mode {
	case Cancel:
		kids = c.takeKids()
	case Stop:
		if !c.st.CompareAndSwap(slow, abandoned) {
			c.mu.Unlock()
			return // it has just returned
		}
		c.context()
		kids = c.endLocked(ErrTimeout)
	}
	c.mu.Unlock()
	if mode == Stop {
		c.abandon(a)
		c.leaveAll(kids, ErrStale)
	} else {
		c.leaveAll(kids, context.DeadlineExceeded)
	}
	if mt := s.cfg.Metrics; mt != nil {
		s.hook("Metrics.Timeout", func() { mt.Timeout(a.kindName(), m.name, mode) })
	}
	h := SlowHandler{a.name, m.name, time.Since(began)}
	if f := s.cfg.OnTimeout; f != nil {
		s.hook("OnTimeout", func() { f(h) })
		return
	}
	s.log(slog.LevelWarn, "actor: a handler has run for its timeout", "actor", h.Name, "method", h.Method, "elapsed", h.Elapsed, "mode", int(mode))
}

// abandon takes from a handler all that it holds: from now on it belongs to no actor and no call.
func (c *Ctx) abandon(a *actor) {
	s := c.sys
	failpoint.At("abandon")
	s.abandoned.Add(1)
	a.abandonMetric(1)
	a.fail(ErrTimeout, true)
	failpoint.At("abandon call")
	if f := c.serving.Load(); f != nil {
		f.refuse(ErrTimeout, taken)
	}
	failpoint.Lock(&graph, "abandon caller")
	c.caller.Store(nil)
	graph.Unlock()
	failpoint.At("abandon slot")
	if c.w != nil {
		c.w.lose()
	}
	failpoint.At("abandon turn")
	a.mu.Lock()
	var wake bool
	switch c.hold {
	case holdTurn:
		a.cur.Store(nil)
		wake = a.releaseLocked()
	case holdRead:
		a.x.readers--
		a.dropHolder(c)
		wake = a.wake()
	case holdNothing:
		a.x.suspended--
		a.dropHolder(c)
		if i := slices.Index(a.x.resume, c); i >= 0 {
			a.x.resume = slices.Delete(a.x.resume, i, i+1)
			c.turn <- struct{}{}
		}
		wake = a.wake()
	}
	c.hold = holdNothing
	a.mu.Unlock()
	if wake {
		a.schedule(nil)
	}
}

func (a *actor) abandonMetric(delta int) {
	s := a.sys()
	if m := s.cfg.Metrics; m != nil {
		s.hook("Metrics.Abandoned", func() { m.Abandoned(a.kindName(), delta) })
	}
}

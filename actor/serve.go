package actor

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// begin makes c the Ctx of a handler of a, which is going to run m for the call f, if there is one.
func (c *Ctx) begin(a *actor, m *method, f *call, state any, now int64) {
	if c.a.Load() != a {
		c.a.Store(a)
	}
	if c.m.Load() != m {
		c.m.Store(m)
	}
	if c.start.Load() != now {
		c.start.Store(now)
	}
	c.state = state
	if c.out.any() {
		c.out = outcome{} // of the last handler with this Ctx, perhaps another actor's
	}
	if f != nil {
		c.serving.Store(f)
		c.caller.Store(f.caller.Load())
		if f.caller.Load() == nil { // it was cut in between
			c.caller.Store(nil)
		}
	}
	st := live
	if c.base != nil { // which this goroutine has set
		st = slow // clean has to drop it
	}
	failpoint.At("live")
	c.st.Store(st)
	if m.kind != nil && c.sys.closed.Load() {
		c.abort(ErrStopped) // Close has not seen it
	}
	if f != nil && f.st.Load() == left {
		c.cancelFor(f, context.Canceled) // before there was a handler to cancel
	}
	if d, mode := a.timeout(m); d > 0 || a.set.slowAfter > 0 {
		c.arm(a, m, d, mode)
	}
}

// serves sets what c takes its values and its end from, before it begins; nil: nothing.
func (c *Ctx) serves(b context.Context) {
	if b != nil {
		c.mu.Lock()
		c.base = b
		c.mu.Unlock()
	}
}

// returned ends the handler's time: from now on c refuses everything. It reports whether
// the handler's result counts; if not, the handler was abandoned, or has stashed the
// message.
func (c *Ctx) returned() bool {
	failpoint.At("return")
	f := c.serving.Load()
	switch c.st.Swap(stale) {
	case abandoned:
		c.st.Store(abandoned)
		return false
	case slow:
		c.clean()
	}
	if f != nil {
		c.serving.Store(nil)
		c.caller.Store(nil)
	}
	if o := &c.out; o.stop || o.unstash {
		c.a.Load().obey(o) // before the reply
	}
	return !c.out.stashed
}

// failed is returned for a handler that has failed: what it has asked for is not done.
func (c *Ctx) failed() bool {
	c.out = outcome{}
	return c.returned()
}

// clean ends what was begun with c.
func (c *Ctx) clean() {
	c.timed.Store(false)
	c.mu.Lock()
	kids := c.endLocked(context.Canceled)
	if c.ends != nil {
		c.ends()
	}
	c.std, c.cancel, c.ends, c.due = nil, nil, nil, time.Time{}
	if c.kept {
		c.retire()
	} else {
		c.base = nil
	}
	if c.limit.over() { // the handler was quicker than its alarm, as one that obeys its Ctx is
		a, m, elapsed := c.a.Load(), c.m.Load(), time.Since(c.began)
		_, mode := a.timeout(m)
		go c.sys.reportLate(a, m, mode, elapsed)
	}
	c.limit.off()
	c.slow.off()
	c.run++
	c.mu.Unlock()
	c.leaveAll(kids, context.Canceled)
}

// guard runs f, a start or last words, for which c has begun, and ends the time of c. It
// returns the error of f, or what f panicked with. If f calls Goexit, guard calls gone with an
// error, and the goroutine ends.
func (c *Ctx) guard(f func() error, gone func(error)) (fail error) {
	normal := false
	defer func() {
		if normal && fail == nil {
			c.returned()
			return
		}
		c.failed()
		if normal {
			return
		}
		if v := recover(); v != nil {
			fail = &PanicError{v, debug.Stack()}
			return
		}
		gone(&PanicError{ErrGoexit, debug.Stack()})
	}()
	fail = f()
	normal = true
	return fail
}

// serve handles a message that was taken. The result says whether the handler was
// abandoned: then the turn and the slot have been given to others.
func (c *Ctx) serve(a *actor, e *envelope) (lost bool) {
	fail := c.exec(a, e)
	if lost = c.after(a, e, fail); lost {
		a.abandonMetric(-1)
	}
	return lost
}

func (c *Ctx) exec(a *actor, e *envelope) (fail error) {
	normal := false
	defer func() {
		if normal {
			return
		}
		v := recover()
		if v != nil {
			fail = &PanicError{v, debug.Stack()}
			return
		}
		lost := c.after(a, e, &PanicError{ErrGoexit, debug.Stack()})
		if lost {
			a.abandonMetric(-1)
		}
		c.w.died(a, c, lost)
	}()
	c.alone = false
	if end := c.observed(context.Background(), a, e.m); end != nil {
		c.alone = true
		defer end()
	}
	e.run.exec(c, c.state)
	normal = true
	return nil
}

// after settles a message whose handler is over.
func (c *Ctx) after(a *actor, e *envelope, fail error) (lost bool) {
	if fail != nil {
		if !c.failed() {
			return true
		}
		a.fail(e.m, fail, false)
		if e.call != nil {
			e.call.refuse(fail, taken)
		}
	} else if c.st.Load() == abandoned {
		return true
	}
	c.state = nil
	if c.out.stashed {
		failpoint.At("stash")
		if b := e.run.bundle(); b != nil {
			e = b.single(b.packed().at)
		}
		a.stash(e)
	} else if e.call == nil {
		c.w.recycler.put(e)
	}
	if a.set.reent != None && a.set.box.Policy == firq.Wait {
		a.mu.Lock()
		look := a.crowdedOut()
		a.mu.Unlock()
		if look {
			a.lookAgain()
		}
	}
	return false
}

// obey carries out the outcome of a handler, once the handler is over.
func (a *actor) obey(o *outcome) {
	if o.unstash {
		a.mu.Lock()
		a.recall() // what comes back goes first
		if a.x != nil {
			a.x.back.takeAllFront(&a.x.stash)
		}
		a.mu.Unlock()
	}
	if o.stop {
		a.terminate(o.stopErr)
	}
}

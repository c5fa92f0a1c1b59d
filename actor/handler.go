package actor

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A Ctx has one handler at a time. Its time begins in begin, whichever way the handler came (a turn, a
// reader, a batch, a call on its caller's goroutine, a start, last words), and ends in returned: what
// a handler leaves behind is reset in one of these two. Between two handlers it belongs to its worker,
// or to the pool of those that calls from outside use (childCtx, doneCtx). One that was abandoned, or
// from which a Tell keeps values, is not used again (retire).

// begin makes c the Ctx of a handler of a, which is going to run m for the call f, if there is one.
func (c *Ctx) begin(a *actor, m *method, f *call, state any, now int64) {
	// A store costs an exchange with the other processors' caches, and a worker's next handler
	// is often of the same actor and method.
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
	// For a call: the one to answer if the handler is abandoned or Close comes, and by
	// which chain it came.
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
	// Last: from here on the Ctx is valid, and timeouts, Close and a caller that leaves may end it.
	c.st.Store(st)
	if m.kind != nil && c.sys.closed.Load() {
		// Close goes through the Ctxs once. It has set closed before, so one that it finds
		// stale sees closed here.
		c.abort(ErrStopped) // Close has not seen it
	}
	if f != nil && f.st.Load() == left {
		// The same for a caller that leaves between taken and here: it has found a Ctx that was
		// not valid.
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
	// Pairs with late, and with those that mark c: the second finds it stale or abandoned.
	// One atomic ends the handler's time. Whatever was done with the Ctx before is done;
	// whatever comes now is refused.
	switch c.st.Swap(stale) {
	case abandoned:
		// The Swap has written over it. The goroutine that abandons has the turn, the slot and
		// the answer; this one leaves everything alone.
		c.st.Store(abandoned)
		return false
	case slow:
		// It has a context, calls, alarms or values to drop. Most handlers have not, and pay
		// nothing for it.
		c.clean()
	}
	// For a call: the one to answer if the handler is abandoned or Close comes, and by
	// which chain it came.
	// The next handler with this Ctx must not be cancelled for this call.
	if f != nil {
		c.serving.Store(nil)
		c.caller.Store(nil)
	}
	if o := &c.out; o.stop || o.unstash {
		// The caller's next message finds the actor stopped, or the stash taken back.
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
	// Under mu: addKid finds a Ctx that is not valid any more, or its call is among these.
	kids := c.endLocked(context.Canceled)
	if c.ends != nil {
		// Frees the timer of the deadline.
		c.ends()
	}
	c.std, c.cancel, c.ends, c.due = nil, nil, nil, time.Time{}
	// Contexts of the user's have values by way of c: then it stays as it is, and its worker
	// gets another.
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
	// An alarm that has rung and waits for mu is of a handler that is over.
	c.run++
	c.mu.Unlock()
	// Without c.mu: a goroutine of the handler that is woken may use c.
	leaveAll(kids, context.Canceled)
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
		// First the end of the Ctx: what is called next may wait, and this handler is over.
		c.failed()
		if normal {
			return
		}
		v := recover()
		if fail = panicked(v); v == nil {
			// Goexit cannot be stopped, only answered: gone gives back what the goroutine
			// holds.
			gone(fail)
		}
	}()
	fail = f()
	normal = true
	return fail
}

// serve handles a message that was taken. The result says whether the handler was
// abandoned: then the turn and the slot have been given to others.
func (c *Ctx) serve(a *actor, e *envelope) (lost bool) {
	return c.after(a, e, c.exec(a, e))
}

// exec runs the handler. A panic is a failure; by Goexit the goroutine ends after the deferred
// call, which settles the message as its worker would have done.
func (c *Ctx) exec(a *actor, e *envelope) (fail error) {
	normal := false
	defer func() {
		if normal {
			return
		}
		v := recover()
		if fail = panicked(v); v == nil {
			// The deferred call does what the worker would have done, as the worker's loop does
			// not go on.
			c.w.died(a, c, c.after(a, e, fail))
		}
	}()
	c.alone = false
	// alone keeps a pack from running the next handler in the same region.
	if end := c.observed(context.Background(), a, e.m); end != nil {
		c.alone = true
		defer end()
	}
	// The user's handler. exec calls returned as soon as it is over, before it writes the
	// answer.
	e.run.exec(c, c.state)
	normal = true
	return nil
}

// after settles a message whose handler is over.
func (c *Ctx) after(a *actor, e *envelope, fail error) (lost bool) {
	if fail != nil {
		if !c.failed() {
			a.abandonMetric(-1)
			return true
		}
		// Before the caller hears of it: its next call waits for the next incarnation.
		a.fail(e.m, fail, false)
		// A Tell has no caller: its failure is only heard of by OnFailure or the log.
		if e.call != nil {
			e.call.refuse(fail, taken)
		}
	} else if c.st.Load() == abandoned {
		a.abandonMetric(-1)
		return true
	}
	// A worker that sleeps must not keep the state of an actor that has ended.
	c.state = nil
	if c.out.stashed {
		failpoint.At("stash")
		// A tell of a pack leaves it, as the others go on.
		if b := e.run.bundle(); b != nil {
			e = b.single(b.packed().at)
		}
		a.stash(e)
	} else if e.call == nil {
		c.w.recycler.put(e)
	}
	// This handler could have called Unstash, and does not any more: room that was promised
	// to senders because of that may be gone (letsIn).
	if a.set.reent != None && a.set.box.Policy == firq.Wait && a.is((*actor).crowdedOut) {
		a.lookAgain()
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

// runBatch handles tells of the batch until the worker may claim no more, or the rest was
// recalled. The Ctx stays valid from message to message, as if the next handler had got it
// immediately. lost: as with serve.
func (w *worker) runBatch(a *actor, e *envelope, of bundle, state any, t *tally) (lost bool) {
	b, p := &w.batch, of.packed()
	// Kept here: after a recall b is not this worker's to read.
	first, n := p.at, b.n
	for b.claim() {
		// Read again for each handler, as one that is kept (Ctx.retire) gets a successor.
		c := w.ctx
		c.hold = holdTurn
		c.begin(a, e.m, nil, state, w.now)
		lost = c.serve(a, e)
		p.at++
		// Without its slot the worker must not claim another: the next tell waits for a worker
		// that has one.
		if lost || !w.has() {
			break
		}
	}
	did := int(p.at - first)
	// Counted by the worker itself, since exec may have run several handlers per round.
	t.n += did
	if did == n {
		// Although a.batch is set until recall: that looks at the pack only if a tell was not claimed.
		p.done, p.shared = p.n, false
		of.discard()
	}
	return lost // and the worker's next step under the actor's mu ends the batch
}

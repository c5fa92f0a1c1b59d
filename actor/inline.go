package actor

import (
	"context"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A call to an idle actor, on its caller's goroutine: a tenth of the time of one by the
// mailbox. It takes the actor's turn with a try of its lock, and gives it back at the end; in
// between it is a handler as any other, with its Ctx, its timeouts and its place in the rule of
// deadlocks (Ctx.inner). No message and no caller may be able to tell the difference, which is what canInline
// asks.

// canInline reports whether a call may run on its caller's goroutine: no message could
// tell the difference, or the method says that it may.
func canInline(ctx context.Context, m *method, a *actor, c *Ctx) bool {
	set := a.set
	s := set.sys
	// Each of these is noticed: an order by seed, readers at the same time, other messages
	// while it waits, its own thread, a caller that leaves at the timeout.
	if s.shuffle != nil || m.readOnly || set.reent != None || set.dedicated || set.timeout > 0 || m.timeout > 0 || set.slowAfter > 0 {
		return false
	}
	// From outside: only if no actor waits for a slot, or such calls would get processor time
	// past the queue. And only with a ctx that never ends, as the caller cannot leave while it
	// runs the handler.
	if c == nil {
		return (m.inline || ctx.Done() == nil) && !set.sys.pool.q.Any()
	}
	// In a wait of the handler (Await, or a goroutine's Call) nothing is charged to it, so this call needs its own account.
	if c.a.Load().set.reent != None || c.timed.Load() || c.sys != s || c.acct.waiting() {
		return false
	}
	// The option says that its handlers are short, or look at their Ctx.
	if m.inline {
		return true
	}
	// With its own Ctx the handler's caller may leave, but the handler goes on in any case: so
	// only the ctx of the call that it serves counts.
	if own, ok := ctx.(*Ctx); ok && own == c {
		b := c.served()
		return b == nil || b.Done() == nil
	}
	return false
}

// enterInline takes the turn of an idle actor for a call of c, and returns the Ctx for
// its handler; nil: the actor is not idle.
func (a *actor) enterInline(ctx context.Context, c *Ctx, m *method) *Ctx {
	failpoint.At("inline")
	// Another goroutine is there just now, so the actor is hardly idle: waiting for the lock
	// would cost more than the mailbox.
	if !a.mu.TryLock() {
		return nil
	}
	s := a.sys()
	// Idle in every respect: no turn, no step of its life due, no message before this one, no
	// handler that reads or waits. Otherwise this call would overtake, or run at the same time.
	if a.turn != idle || a.life != alive || a.draining || a.nudged ||
		a.in != a.out || a.x != nil && (a.x.readers > 0 || a.x.suspended > 0) || s.closed.Load() || c == nil && s.shutting.Load() {
		a.mu.Unlock()
		return nil
	}
	// The turn is taken as by a worker, and the message is in the books as one from the mailbox.
	a.turn = busy
	a.accept()
	a.begun(1)
	// With the turn, under mu: this incarnation's, whatever happens to the actor while the
	// handler runs.
	state := a.state
	a.mu.Unlock()
	// Its own Ctx, as the handler may keep it or call on; the caller's stays valid below it.
	cc := s.childCtx(c)
	cc.hold = holdTurn
	// The caller's account stops here, so that this time is charged to the target alone.
	cc.lentBefore = cc.acct.lent.Swap(0)
	// The chain goes on through the Ctx, as no call leads to it.
	cc.caller.Store(c)
	if c != nil {
		// Before cur: a walk that comes to cc by way of the actor finds that c waits for it.
		c.inner.Store(cc)
	}
	failpoint.At("inline cur")
	a.cur.Store(cc)
	cc.serves(base(ctx, c))
	// One look at the clock, which both the timeouts and the charge of the turn begin with.
	cc.begin(a, m, nil, state, s.now())
	return cc
}

// inlined runs a call on its caller's goroutine; enterInline has taken the turn.
func (m *Method[S, Req, Res]) inlined(ctx context.Context, cc *Ctx, a *actor, c *Ctx, req Req) (res Res, err error) {
	// A panic must not leave the actor busy for ever. The deferred function finds out by
	// normal, since a handler may also end the goroutine by Goexit.
	normal := false
	defer func() {
		if normal {
			return
		}
		err = panicked(recover()) // by Goexit the caller's goroutine ends too
		// In the order of after: the Ctx refuses, the incarnation has failed, the turn is free.
		// So the caller's next call finds a failed actor.
		cc.failed()
		a.fail(&m.method, err, false)
		a.leaveInline(cc, c)
	}()
	// The goroutine is the caller's, and gets the labels of the caller back.
	if end := cc.observed(labelsOf(ctx, c), a, &m.method); end != nil {
		defer end()
	}
	s, _ := cc.state.(S)
	res, err = m.fn(s, cc, req)
	err = handled(err)
	cc.returned()
	normal = true
	// Put aside: now there has to be a message, and the caller waits as if there had been one
	// from the beginning.
	if cc.out.stashed {
		return m.stashedInline(ctx, cc, a, c, req)
	}
	a.leaveInline(cc, c)
	return res, err
}

// leaveInline gives the turn back.
func (a *actor) leaveInline(cc, c *Ctx) {
	failpoint.At("leave inline")
	s := a.sys()
	// The target pays for its handler, on whichever goroutine that ran; waits of the handler
	// are not paid for.
	took := s.now() - cc.start.Load()
	used := max(took-cc.acct.lent.Load(), 0)
	// As worker.turns does: what was idle has saved nothing up, so it pays from the virtual
	// time of now.
	a.used = max(a.used, s.pool.q.Now()) + used/a.set.weight
	cc.acct.lent.Store(cc.lentBefore + took) // to its caller all of this was a wait
	// Before another handler gets the Ctx: a walk must not come from that one to this caller.
	cc.caller.Store(nil)
	// A spare Ctx would keep the state of an actor that has ended.
	cc.state = nil
	// Before inner is cleared: in between a walk may follow c to cc, whose handler waits for nothing.
	a.release()
	// CompareAndSwap, as another goroutine of the handler may have begun a call since.
	if c != nil {
		c.inner.CompareAndSwap(cc, nil)
	}
	s.doneCtx(c, cc)
}

// stashedInline waits like any caller of a message that was put aside.
func (m *Method[S, Req, Res]) stashedInline(ctx context.Context, cc *Ctx, a *actor, c *Ctx, req Req) (res Res, err error) {
	s := a.sys()
	k := m.ask(ctx, a, c, req)
	// As a worker leaves it to stash: taken by cc, whose handler has returned.
	k.f.st.Store(taken)
	k.f.by.Store(cc)
	// Before the turn is given back: the next message may be the one whose handler calls
	// Unstash.
	a.stash(&k.envelope)
	a.leaveInline(cc, c)
	if err = c.waitsFor(&k.f); err != nil {
		// It waits for the handlers in progress of this actor, which may wait for the caller;
		// false: one of them has answered it in between.
		if k.f.leave(err) {
			return res, err
		}
	}
	if err = c.sleep(ctx, &k.f, nil); err != nil {
		return res, err
	}
	return k.result(s)
}

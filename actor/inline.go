package actor

import (
	"context"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// canInline reports whether a call may run on its caller's goroutine: no message could
// tell the difference, or the method says that it may.
func canInline(ctx context.Context, m *method, a *actor, c *Ctx) bool {
	set := a.set
	s := set.sys
	if s.shuffle != nil || m.readOnly || set.reent != None || set.dedicated || set.timeout > 0 || m.timeout > 0 || set.slowAfter > 0 {
		return false
	}
	if c == nil {
		return (m.inline || ctx.Done() == nil) && !set.sys.pool.q.Any()
	}
	// In a wait of the handler (Await, or a goroutine's Call) nothing is charged to it, so this call needs its own account.
	if c.a.Load().set.reent != None || c.timed.Load() || c.sys != s || c.acct.waiting() {
		return false
	}
	if m.inline {
		return true
	}
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
	if !a.mu.TryLock() {
		return nil
	}
	s := a.sys()
	if a.turn != idle || a.life != alive || a.draining || a.nudged ||
		a.in != a.out || a.x != nil && (a.x.readers > 0 || a.x.suspended > 0) || s.closed.Load() || c == nil && s.shutting.Load() {
		a.mu.Unlock()
		return nil
	}
	// The turn is taken as by a worker, and the message is in the books as one from the mailbox.
	a.turn = busy
	a.accept()
	a.begun(1)
	state := a.state
	a.mu.Unlock()
	cc := s.childCtx(c)
	cc.hold = holdTurn
	// The caller's account stops here, so that this time is charged to the target alone.
	cc.lentBefore = cc.acct.lent.Swap(0)
	cc.caller.Store(c)
	if c != nil {
		// Before cur: a walk that comes to cc by way of the actor finds that c waits for it.
		c.inner.Store(cc)
	}
	failpoint.At("inline cur")
	a.cur.Store(cc)
	cc.serves(base(ctx, c))
	cc.begin(a, m, nil, state, s.now())
	return cc
}

// inlined runs a call on its caller's goroutine; enterInline has taken the turn.
func (m *Method[S, Req, Res]) inlined(ctx context.Context, cc *Ctx, a *actor, c *Ctx, req Req) (res Res, err error) {
	normal := false
	defer func() {
		if normal {
			return
		}
		err = panicked(recover()) // by Goexit the caller's goroutine ends too
		cc.failed()
		a.fail(&m.method, err, false)
		a.leaveInline(cc, c)
	}()
	if end := cc.observed(labelsOf(ctx, c), a, &m.method); end != nil {
		defer end()
	}
	s, _ := cc.state.(S)
	res, err = m.fn(s, cc, req)
	err = handled(err)
	cc.returned()
	normal = true
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
	took := s.now() - cc.start.Load()
	used := max(took-cc.acct.lent.Load(), 0)
	a.used = max(a.used, s.pool.q.Now()) + used/a.set.weight
	cc.acct.lent.Store(cc.lentBefore + took) // to its caller all of this was a wait
	cc.caller.Store(nil)
	cc.state = nil
	// Before inner is cleared: in between a walk may follow c to cc, whose handler waits for nothing.
	a.release()
	if c != nil {
		c.inner.CompareAndSwap(cc, nil)
	}
	s.doneCtx(c, cc)
}

// stashedInline waits like any caller of a message that was put aside.
func (m *Method[S, Req, Res]) stashedInline(ctx context.Context, cc *Ctx, a *actor, c *Ctx, req Req) (res Res, err error) {
	s := a.sys()
	k := m.ask(ctx, a, c, req)
	k.f.st.Store(taken)
	k.f.by.Store(cc)
	a.stash(&k.envelope)
	a.leaveInline(cc, c)
	if err = c.waitsFor(&k.f); err != nil {
		if k.f.leave(err) {
			return res, err
		}
	}
	if err = c.sleep(ctx, &k.f, nil); err != nil {
		return res, err
	}
	return k.result(s)
}

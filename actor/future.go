package actor

import (
	"context"
)

// A call that its caller does not wait for, or not yet. It ends by its answer, by the end of
// its ctx, or with the handler that has started it, whichever comes first.

// Future is a call that was started. It is safe for concurrent use.
type Future[Res any] struct {
	by  *Ctx  // of the handler that has started it; nil: none has, or it is for an actor in another process
	f   *call // nil: it was not accepted, because of err
	res *Res  // written before the call is answered
	err error
}

// Start sends a message and returns without waiting for its reply, so that a handler
// can have several calls in progress; it blocks only where Tell does. Like a Call, it
// ends when ctx ends; if ctx is a Ctx, it also ends when its handler returns. For the
// detection of deadlocks, the handler counts as waiting only while it is in Wait.
func (m *Method[S, Req, Res]) Start(ctx context.Context, to Ref[S], req Req) *Future[Res] {
	c, err := sender(ctx)
	if err != nil {
		return &Future[Res]{err: err}
	}
	// As in Tell: the actor, or today's of a key.
	a, err := to.actor(ctx, c)
	if a == nil {
		return m.startAway(ctx, to, req, err)
	}
	// A ctx that has ended starts nothing.
	if err = ctxErr(ctx, c); err != nil {
		return &Future[Res]{err: a.refused(err)}
	}
	// Neither pooled nor with a pooled waiter: the Future may be kept and asked for ever.
	k := m.apart(ctx, a, c, req)
	// Closed by the answer, so any number of goroutines may wait for it.
	k.f.done = make(chan struct{})
	// No waitsFor before it: the handler does not wait for the reply yet. Wait looks for the
	// deadlock when it begins to.
	if err = a.post(&k.envelope, c, fromSender); err == errWait {
		err = a.waitRoom(ctx, c, &k.envelope)
	}
	if err != nil {
		if err = to.awaitNext(ctx, c, a, err); err == nil {
			return m.Start(ctx, to, req)
		}
		return &Future[Res]{err: a.refused(err)}
	}
	// After the post, as it may end the call, which takes the message out of the mailbox.
	k.f.endsWith(k.ctx, c)
	return &Future[Res]{by: c, f: &k.f, res: &k.res}
}

// endsWith ends the call, which was posted, with b and with the handler of c; both may be nil.
func (f *call) endsWith(b context.Context, c *Ctx) {
	// The handler has been abandoned while it sent: the call goes where the others of that
	// handler went.
	if c != nil && !c.addKid(f) {
		f.interrupt(context.Canceled)
	}
	if b != nil && b.Done() != nil {
		// A goroutine per call would do it too, and cost two kilobytes.
		stop := context.AfterFunc(b, func() { f.interrupt(b.Err()) })
		// Pairs with wake, which answers first and looks at stop then.
		f.stop.Store(&stop)
		if f.st.Load() > taken {
			stop()
		}
	}
}

// Wait waits for the reply, or until ctx ends; then Wait may be called again.
func (f *Future[Res]) Wait(ctx context.Context) (res Res, err error) {
	c, err := sender(ctx)
	if err != nil {
		return res, err
	}
	// It was not accepted. That error comes again with each Wait.
	if f.f == nil {
		return res, f.err
	}
	// A reply that is there costs no look for a deadlock, and no slot.
	select {
	case <-f.f.done:
	default:
		// The error is that of this Wait, not of the call, which goes on: another goroutine may
		// wait for it without a cycle.
		if err = c.waitsFor(f.f); err != nil {
			return res, err
		}
		if err = c.rest(ctx, f.f, nil); err != nil {
			return res, err
		}
	}
	if f.by != nil {
		f.by.dropKid(f.f) // or the handler would keep it
	}
	// Ended by its ctx or its handler, or answered by an error of the System: res was not
	// written, and a late handler may be writing it now.
	if f.f.st.Load() == left || f.f.foreign {
		return res, f.f.err
	}
	return *f.res, f.f.err
}

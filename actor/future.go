package actor

import (
	"context"
)

// Future is a call that was started. It is safe for concurrent use.
type Future[Res any] struct {
	sys *System
	by  *Ctx  // of the handler that has started it; nil: none has
	f   *call // nil: it was not accepted, because of err
	res *Res  // written before the call is answered
	err error
}

// Start sends a message and returns without waiting for its reply, so that a handler
// can have several calls in progress; it blocks only where Tell does. Like a Call, it
// ends when ctx ends; if ctx is a Ctx, it also ends when its handler returns. For the
// detection of deadlocks, the handler counts as waiting only while it is in Wait.
func (m *Method[S, Req, Res]) Start(ctx context.Context, to Ref[S], req Req) *Future[Res] {
	a := to.a
	if a == nil {
		return &Future[Res]{err: ErrStopped}
	}
	c, err := sender(ctx)
	if err != nil {
		return &Future[Res]{err: err}
	}
	if err = ctxErr(ctx, c); err != nil {
		return &Future[Res]{err: a.refused(err)}
	}
	s := a.sys()
	k := &ask[S, Req, Res]{of: m, req: req}
	k.m, k.run, k.call, k.f.env = &m.method, k, &k.f, &k.envelope
	k.f.caller.Store(c)
	k.f.to, k.f.ctx, k.f.many = a, base(ctx, c), make(chan struct{})
	s.mark(c, &k.f)
	if err = a.post(&k.envelope, c, fromSender); err == errWait {
		err = a.waitRoom(ctx, c, &k.envelope)
	}
	if err != nil {
		return &Future[Res]{err: a.refused(err)}
	}
	if c != nil && !c.addKid(&k.f) {
		k.f.interrupt(context.Canceled)
	}
	if b := k.f.ctx; b != nil && b.Done() != nil {
		stop := context.AfterFunc(b, func() { k.f.interrupt(b.Err()) })
		k.f.stop.Store(&stop)
		if k.f.st.Load() > taken {
			stop()
		}
	}
	return &Future[Res]{sys: s, by: c, f: &k.f, res: &k.res}
}

// Wait waits for the reply, or until ctx ends; then Wait may be called again.
func (f *Future[Res]) Wait(ctx context.Context) (res Res, err error) {
	c, err := sender(ctx)
	if err != nil {
		return res, err
	}
	if f.f == nil {
		return res, f.err
	}
	select {
	case <-f.f.many:
	default:
		if err = f.sys.waitsFor(c, f.f); err != nil {
			return res, err
		}
		if err = c.look(ctx, f.f); err != nil {
			return res, err
		}
	}
	if f.by != nil {
		f.by.dropKid(f.f) // or the handler would keep it
	}
	if f.f.st.Load() == left || f.f.foreign {
		return res, f.f.err
	}
	return *f.res, f.f.err
}

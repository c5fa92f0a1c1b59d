package actor

import "context"

// valuesOf returns the values of ctx, without its deadline and its end, for the handler of a Tell; nil:
// there are none. c is the handler that ctx belongs to.
func valuesOf(ctx context.Context, c *Ctx) context.Context {
	switch {
	case ctx == context.TODO() || ctx == context.Background():
		return nil
	case c == nil:
	case ctx != context.Context(c):
		c.keep() // by way of c, ctx finds the values of the call that c serves
		return context.WithoutCancel(ctx)
	case c.st.Load() == live: // with a ctx to serve, it would be slow
		return nil
	default:
		if ctx = c.served(); ctx == nil {
			return nil
		}
	}
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// keep lets no other handler have c, so that contexts which are derived from c go on to find its
// values when its handler is over.
func (c *Ctx) keep() {
	c.mu.Lock()
	if c.marked() {
		c.kept = true
	}
	c.mu.Unlock()
}

// retire replaces c as the Ctx of its worker, if it is that. The handler is over, and the caller
// holds c.mu. (A Ctx of another goroutine is not used again by doneCtx.)
func (c *Ctx) retire() {
	w := c.w
	if w == nil || w.ctx != c {
		return
	}
	w.renew(c)
	c.a.Load().cur.CompareAndSwap(c, w.ctx) // which has the turn from now on
}

// renew gives w a new Ctx instead of c.
func (w *worker) renew(c *Ctx) {
	s := w.pool.sys
	n := s.newCtx()
	n.w, n.acct, n.hold = w, &w.acct, c.hold
	n.a.Store(c.a.Load()) // who asks which handler w has had last
	n.m.Store(c.m.Load())
	n.start.Store(c.start.Load())
	w.ctx = n
	s.dropCtx(c)
}

package actor

// The Ctxs of a System. Each worker has one, with a child for calls on its goroutine, and that child may
// have one, and so on; calls from outside take a spare one. All that exist are in System.ctxs, where
// Running and Close find the handlers in progress.

// newCtx returns a Ctx of a worker; nil: of another goroutine. Those on one goroutine share an account: it
// is the goroutine that waits.
func (s *System) newCtx(w *worker, acct *account) *Ctx {
	c := &Ctx{sys: s, w: w, acct: acct}
	// Before it has a handler: Close must not miss one.
	s.ctxs.Store(c, nil)
	return c
}

// dropCtx forgets a Ctx, and those of calls on its goroutine.
func (s *System) dropCtx(c *Ctx) {
	// A child is on the same goroutine, which ends.
	for ; c != nil; c = c.child {
		s.ctxs.Delete(c)
	}
}

// allCtxs returns those that exist now.
func (s *System) allCtxs() (all []*Ctx) {
	s.ctxs.Range(func(c, _ any) bool { all = append(all, c.(*Ctx)); return true })
	return all
}

// childCtx returns a Ctx for a call on the goroutine of c, or from outside.
func (s *System) childCtx(c *Ctx) *Ctx {
	// Goroutines of a handler may call at the same time: one gets the child, the others spare ones.
	if c != nil && c.lent.CompareAndSwap(false, true) {
		// Made with the first call on this goroutine, and kept: the next such call allocates
		// nothing.
		if c.child == nil {
			c.child = s.newCtx(c.w, c.acct)
		}
		return c.child
	}
	s.ctxMu.Lock()
	// From outside, any number of callers at the same time: spare ones are pooled by the System, as
	// all must be found by Close.
	if n := len(s.spare); n > 0 {
		cc := s.spare[n-1]
		// It stays in ctxs: with or without a handler it exists.
		s.spare = s.spare[:n-1]
		s.ctxMu.Unlock()
		return cc
	}
	s.ctxMu.Unlock()
	return s.newCtx(nil, new(account))
}

// doneCtx gives back a Ctx that childCtx returned.
func (s *System) doneCtx(c, cc *Ctx) {
	if c != nil && c.child == cc {
		// Its values may still be read, so the next call gets another child.
		if cc.kept {
			c.child = nil
			s.dropCtx(cc)
		}
		// Last: from here on another goroutine of the handler may take the child.
		c.lent.Store(false)
		return
	}
	s.ctxMu.Lock()
	// A burst of callers leaves some spare ones behind, not one for each.
	if len(s.spare) < spares && !cc.kept {
		s.spare = append(s.spare, cc)
	} else {
		s.ctxs.Delete(cc)
	}
	s.ctxMu.Unlock()
}

// renew gives w a new Ctx instead of c.
func (w *worker) renew(c *Ctx) {
	s := w.pool.sys
	n := s.newCtx(w, &w.acct)
	n.hold = c.hold
	n.a.Store(c.a.Load()) // for callers that ask which handler w has had last
	n.m.Store(c.m.Load())
	n.start.Store(c.start.Load())
	// From the next message on. What hold was stays with the goroutine: the handler may be
	// suspended just now.
	w.ctx = n
	// Nothing runs with it any more; the contexts that were derived from it keep it alive.
	s.dropCtx(c)
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

package actor

import "context"

// The calls that a handler has begun and that are not over: those that it waits for, and its futures. They
// end with it, as their replies would go to a Ctx that another handler has by then. A call knows its place in
// the list, so that one of thousands of futures leaves without a search; the last one takes that place.

// addKid notes a call that ends with the handler; false: the handler is over.
func (c *Ctx) addKid(f *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The handler has returned, or was abandoned, while a goroutine of it began the call.
	if !c.marked() {
		return false
	}
	c.kids = append(c.kids, f)
	f.kid = len(c.kids)
	return true
}

// dropKid takes out a call that is over. It may be out already, by takeKids.
func (c *Ctx) dropKid(f *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.kid == 0 {
		return
	}
	n := len(c.kids) - 1
	last := c.kids[n]
	// The last one takes its place; if it is the last itself, the next lines take it out.
	c.kids[f.kid-1], last.kid = last, f.kid
	c.kids[n] = nil // or the Ctx would keep it, for as long as the worker lives
	c.kids, f.kid = c.kids[:n], 0
}

// endLocked cancels std with a cause and returns the calls that end with it. The
// caller holds c.mu.
func (c *Ctx) endLocked(cause error) (kids []*call) {
	// There may be no context: then there is nothing that could be seen to end.
	if c.cancel != nil {
		c.cancel(cause)
	}
	return c.takeKids()
}

// takeKids returns the calls that end with the handler. The caller holds c.mu.
func (c *Ctx) takeKids() (kids []*call) {
	for _, f := range c.kids {
		f.kid = 0
		// Now, because its caller may claim it without c.mu.
		if f.claim() {
			kids = append(kids, f)
		}
	}
	// The room for the next handler's stays, unless this one had very many.
	clear(c.kids)
	if c.kids = c.kids[:0]; cap(c.kids) > 64 {
		c.kids = nil
	}
	return kids
}

// leaveAll gives up calls that takeKids has claimed, whose calling handler has ended or was cancelled, and wakes the
// goroutines that wait for them.
func leaveAll(kids []*call, err error) {
	for _, f := range kids {
		// Each call on its own: one that waits in a mailbox leaves it, one that is served has
		// its handler cancelled.
		f.gone(err)
	}
}

// cancelFor cancels the handler that serves f, whose caller has left.
func (c *Ctx) cancelFor(f *call, cause error) {
	c.cancelIf(func() bool { return c.serving.Load() == f }, cause)
}

// abort cancels the handler, if it is still in progress, and answers its caller.
func (c *Ctx) abort(cause error) {
	c.cancelIf(func() bool {
		if f := c.serving.Load(); f != nil { // the handler keeps this call until c.mu is free
			// Its caller gets the answer of Close, while the handler goes on.
			f.refuse(cause, taken)
		}
		return true
	}, cause)
}

// cancelIf cancels the handler if one has c and f, which holds c.mu, says so.
func (c *Ctx) cancelIf(f func() bool, cause error) {
	c.mu.Lock()
	// The handler is over, or it serves another call by now.
	if !c.marked() || !f() {
		c.mu.Unlock()
		return
	}
	// It must exist, so that it can be seen to have ended with this cause.
	c.context()
	kids := c.endLocked(cause)
	c.mu.Unlock()
	leaveAll(kids, context.Canceled)
}

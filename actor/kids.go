package actor

import "context"

// addKid notes a call that ends with the handler; false: the handler is over.
func (c *Ctx) addKid(f *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.marked() {
		return false
	}
	f.kidPrev, f.kidNext, f.kid = nil, c.kids, true
	if c.kids != nil {
		c.kids.kidPrev = f
	}
	c.kids = f
	return true
}

func (c *Ctx) dropKid(f *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !f.kid {
		return
	}
	if f.kidPrev == nil {
		c.kids = f.kidNext
	} else {
		f.kidPrev.kidNext = f.kidNext
	}
	if f.kidNext != nil {
		f.kidNext.kidPrev = f.kidPrev
	}
	f.kidPrev, f.kidNext, f.kid = nil, nil, false
}

// endLocked cancels std with a cause and returns the calls that end with it. The
// caller holds c.mu.
func (c *Ctx) endLocked(cause error) (kids []kid) {
	if c.cancel != nil {
		c.cancel(cause)
	}
	return c.takeKids()
}

// takeKids returns the calls that end with the handler. The caller holds c.mu.
func (c *Ctx) takeKids() (kids []kid) {
	for f := c.kids; f != nil; {
		next := f.kidNext
		f.kidPrev, f.kidNext, f.kid = nil, nil, false
		if from, ok := f.claim(); ok { // now, because its caller may claim it without c.mu
			kids = append(kids, kid{f, from})
		}
		f = next
	}
	c.kids = nil
	return kids
}

// kid is a call that takeKids has claimed.
type kid struct {
	f    *call
	from uint32
}

// leaveAll gives up calls whose calling handler has ended or was cancelled, and wakes the
// goroutines that wait for them.
func (c *Ctx) leaveAll(kids []kid, err error) {
	for _, k := range kids {
		k.f.gone(k.from, err)
	}
}

// interrupt leaves a call on behalf of its caller.
func (f *call) interrupt(err error) {
	if from, ok := f.claim(); ok {
		f.gone(from, err)
	}
}

// gone lets the caller know that its call, which was claimed, was left on its behalf.
func (f *call) gone(from uint32, err error) {
	f.leaving(from, err)
	f.err = err
	f.wake()
}

// cancelFor cancels the handler that serves f, whose caller has left.
func (c *Ctx) cancelFor(f *call, cause error) {
	c.cancelIf(func() bool { return c.serving.Load() == f }, cause)
}

// abort cancels the handler, if it is still in progress, and answers its caller.
func (c *Ctx) abort(cause error) {
	c.cancelIf(func() bool {
		if f := c.serving.Load(); f != nil { // the handler keeps this call until c.mu is free
			f.refuse(cause, taken)
		}
		return true
	}, cause)
}

// cancelIf cancels the handler if one has c and f, which holds c.mu, says so.
func (c *Ctx) cancelIf(f func() bool, cause error) {
	c.mu.Lock()
	if !c.marked() || !f() {
		c.mu.Unlock()
		return
	}
	c.context()
	kids := c.endLocked(cause)
	c.mu.Unlock()
	c.leaveAll(kids, context.Canceled)
}

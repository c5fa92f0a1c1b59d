package actor

// Stash puts the message in progress aside: it is handled again after Unstash, or by
// the next incarnation, before the messages that wait. What the handler returns is
// ignored, and the caller goes on waiting. Stashed messages count in the mailbox's
// limit; where there is no room left, the message is a dead letter, and its caller gets
// ErrMailboxFull. In a start, in Started and in last words there is no message to put aside,
// and Stash does nothing. Nor does it if the handler fails.
func (c *Ctx) Stash() {
	if c.valid() {
		c.out.stashed = true
	}
}

// Unstash puts all stashed messages back, in order, when the handler has returned.
func (c *Ctx) Unstash() {
	if c.valid() {
		c.out.unstash = true
	}
}

// stash puts aside a message whose handler is over.
func (a *actor) stash(e *envelope) {
	a.mu.Lock()
	if a.over() { // by Close, and it counts as handled
		a.mu.Unlock()
		if e.call != nil {
			e.call.refuse(ErrStopped, taken)
		}
		return
	}
	a.recall() // the next one comes after Unstash, if that is called
	full := a.counted() >= a.set.limit
	if a.life == stopping || full {
		a.mu.Unlock()
		why := ErrStopped
		if full {
			why = ErrMailboxFull
		}
		a.unhandled(e, why)
		return
	}
	ok := true
	if f := e.call; f != nil {
		f.by.Store(nil)
		ok = f.st.CompareAndSwap(taken, waiting)
	}
	a.out--
	if ok {
		a.extra().stash.push(e)
	} else { // its caller has left
		a.in--
		a.sys().cancelled.Add(1)
	}
	a.mu.Unlock()
}

// unhandled makes a message a dead letter after its handler was started.
func (a *actor) unhandled(e *envelope, why error) {
	a.mu.Lock()
	if a.over() {
		a.mu.Unlock()
		return
	}
	a.in--
	a.out--
	a.mu.Unlock()
	if e.call != nil {
		e.call.st.CompareAndSwap(taken, waiting)
	}
	a.deadLetter(e, why)
}

// takeAllFront moves the messages of from in front of those of l, in order.
func (l *list) takeAllFront(from *list) {
	var all list
	all.takeAll(from)
	all.takeAll(l)
	l.takeAll(&all)
}

// Stop ends the actor after this handler: waiting messages become dead letters, and
// Ref.Err is why. This is not a failure: a supervisor does not start another
// incarnation. It holds for a start, for Started and for last words too. If the handler then
// fails, it has not called Stop.
func (c *Ctx) Stop(why error) {
	if c.valid() && !c.out.stop {
		c.out.stop, c.out.stopErr = true, why
	}
}

package actor

// A message that is put aside goes from its handler back to waiting: in the books (unbegin), in
// the limit, and its call from taken to waiting. What is taken back goes to extra.back, in
// front of all that waits.

// Stash puts the message in progress aside: it is handled again after Unstash, or by
// the next incarnation, before the messages that wait. What the handler returns is
// ignored, and the caller goes on waiting. Stashed messages count in the mailbox's
// limit; where there is no room left, the message is a dead letter, and its caller gets
// ErrMailboxFull. In a start, in Started and in last words there is no message to put aside,
// and Stash does nothing. Nor does it if the handler fails.
func (c *Ctx) Stash() {
	if c.valid() {
		// Noted only: what the handler asks for is done when it has returned, and not if it
		// fails.
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
	// Close has emptied the mailbox, and nothing will be taken back from the stash.
	if a.over() { // by Close, and it counts as handled
		a.mu.Unlock()
		if e.call != nil {
			e.call.refuse(ErrStopped, taken)
		}
		return
	}
	a.recall() // the next one comes after Unstash, if that is called
	// Counted before the message is taken out of those that have begun: it would count twice.
	full := a.counted() >= a.set.limit
	a.unbegin()
	if f := e.call; f != nil {
		f.by.Store(nil)
		// A caller that leaves from now on takes the message from the list; one that has left is counted here.
		if !f.st.CompareAndSwap(taken, waiting) {
			a.cancel()
			a.mu.Unlock()
			return
		}
	}
	if a.life != stopping && !full {
		// From here on a caller that leaves takes it from this list.
		a.extra().stash.push(e)
		a.mu.Unlock()
		return
	}
	a.unaccept(1)
	a.mu.Unlock()
	why := ErrStopped
	if full {
		why = ErrMailboxFull
	}
	// Without the lock, as all dead letters.
	a.deadLetter(e, why)
}

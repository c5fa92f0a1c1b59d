package actor

import (
	"github.com/firq-go/firq"
)

// The messages of an actor, and which of them is next. All of this is under the actor's mu.
// There is a list for each priority, one for what was taken back from the stash, which goes
// first, and the stash itself, which waits for Unstash.

// put appends an accepted message. The caller holds a.mu.
func (a *actor) put(e *envelope) {
	// First in the books: a recall below counts what waits.
	a.accept()
	if e.m.prio > firq.PriorityNormal {
		a.recall() // it goes first
	}
	a.line(e.m.prio).push(e)
}

// line is has, and makes the list if needed. The caller holds a.mu.
func (a *actor) line(p firq.Priority) *list {
	if a.has(p) == nil {
		// Few actors have methods with a priority, so the lists are made with the first such
		// message.
		a.extra().lines = new([firq.PriorityCritical + 1]list)
	}
	return a.has(p)
}

// has returns the list for a priority; nil: no message of it has come yet. The caller holds a.mu.
func (a *actor) has(p firq.Priority) *list {
	switch {
	case p == firq.PriorityNormal:
		// Without a look at extra, which most actors do not have.
		return &a.mail
	case a.x == nil || a.x.lines == nil:
		return nil
	}
	return &a.x.lines[p]
}

// each calls f with the lists of waiting messages, in the order of service, until f
// returns false. The caller holds a.mu.
func (a *actor) each(f func(*list) bool) {
	// What was put aside and taken back has come before all that waits, whatever its priority.
	if a.x != nil && !f(&a.x.back) {
		return
	}
	// Strictly by priority: what is low waits as long as there is something higher.
	for p := firq.PriorityCritical; p > 0; p-- {
		if l := a.has(p); l != nil && !f(l) {
			return
		}
	}
}

// head returns the message that is to be handled next; nil: no message may be handled
// now. The caller holds a.mu.
func (a *actor) head() (e *envelope) {
	x := a.x
	switch {
	case x == nil:
		// The usual actor: one list, no handler but the one that asks.
		return a.mail.first
	case a.awaited && a.atRest():
		// Its supervisor takes it down, and no handler is left that could wait for a message.
		return nil // what waits is the next incarnation's
	case x.suspended > 0 && (a.set.reent == CallChain || a.due()):
		// Handlers wait, and not every message may come in: the first one that may is found by a
		// look at all. That is a walk of the mailbox, and the price of CallChain.
		a.each(func(l *list) bool {
			for e = l.first; e != nil && !a.passes(e); e = e.next {
			}
			return e == nil
		})
	default:
		a.each(func(l *list) bool { e = l.first; return e == nil })
	}
	// A writer waits for the readers, and no reader behind it passes: otherwise a stream of
	// readers would starve it.
	if e != nil && x.readers > 0 && !e.m.readOnly {
		return nil // it waits until they have left
	}
	return e
}

// passes reports whether e may be handled while handlers of the actor wait. If the actor's
// supervisor takes it down after those handlers, only the calls that they may wait for come
// before that. The caller holds a.mu.
func (a *actor) passes(e *envelope) bool {
	return a.set.reent == Full && !a.awaited || e.call != nil && (e.call.inChain || a.set.reent == Full)
}

// victim returns the message that makes room for one of priority p: the oldest or
// newest of the lowest priority. The caller holds a.mu.
func (a *actor) victim(p firq.Priority) *envelope {
	// From the lowest priority up to that of the new message: what is more important stays.
	for q := firq.PriorityVeryLow; q <= p; q++ {
		l := a.has(q)
		if l == nil {
			continue
		}
		// The policy says which end of the line goes.
		e, next := l.first, func(e *envelope) *envelope { return e.next }
		// The newest of those that wait, not the one that comes.
		if a.set.box.Policy == firq.DropNewest {
			e, next = l.last, func(e *envelope) *envelope { return e.prev }
		}
		for e != nil && e.exempt {
			e = next(e)
		}
		if e != nil {
			return e
		}
	}
	return nil
}

// take removes a message for the handler of c and lets waiting senders in. It
// reports false if the caller has left. The caller holds a.mu.
func (a *actor) take(e *envelope, c *Ctx) bool {
	e.unlink()
	// It leaves the limit when it leaves the mailbox, not when its handler is over.
	a.uncount(e)
	// A caller that leaves and this worker decide by one CAS which of them owns the call.
	ok := e.call == nil || e.call.taken(c)
	if ok {
		// In the books it is handled from here on, although its handler runs a little later:
		// between the two only this worker looks.
		a.begun(1)
	} else {
		a.cancel()
	}
	if a.x != nil && len(a.x.room) > 0 {
		// A place has become free, and the sender that waits first gets it under the same lock:
		// no newcomer can take it.
		a.admit()
	}
	return ok
}

// empty removes all messages, the stashed ones too, and returns them as a chain. They are
// in no list, so that callers that leave do not touch them. Senders that wait for room are refused. The
// caller holds a.mu.
func (a *actor) empty() (chain *envelope) {
	// What a worker has taken and not claimed is in no list, and belongs here too.
	a.recall()
	var all list
	a.each(func(l *list) bool { all.takeAll(l); return true })
	if a.x != nil {
		// What was put aside comes last.
		all.takeAll(&a.x.stash)
	}
	for _, r := range a.roomers() {
		// Their senders would wait for a mailbox that takes nothing. Written before letIn publishes the answer.
		r.err = errClosed // their messages were never in the mailbox
		r.f.letIn()
		a.x.room = nil
	}
	for e := all.first; e != nil; e = e.next {
		// A pack holds several messages, and leaves as a whole.
		a.unaccept(e.messages())
		a.uncount(e)
		e.in, e.prev = nil, nil
	}
	return all.first
}

// refuseChain takes out calls that handlers in progress wait for: they would keep the
// failed incarnation from ending. The caller holds a.mu.
func (a *actor) refuseChain() (chain *envelope) {
	a.each(func(l *list) bool {
		for e := l.first; e != nil; {
			next := e.next
			// Only these: other messages wait for the next incarnation.
			if e.call != nil && e.call.inChain {
				e.unlink()
				a.lose()
				// Out of all lists, next is free to link what is going to be refused.
				e.next, chain = chain, e
			}
			e = next
		}
		return true
	})
	return chain
}

// lose counts a message that leaves the mailbox without being handled. The caller has
// unlinked the message, holds a.mu, and counts elsewhere what became of it.
func (a *actor) lose() {
	a.unaccept(1)
	a.admit()
}

// closed says why the actor takes no message now. The caller holds a.mu.
func (a *actor) closed(f *call, c *Ctx, from origin) error {
	s := a.sys()
	switch {
	case a.refuses() || s.closed.Load():
		// For good: these do not change back.
		return errClosed
	case from == fromSender && s.shutting.Load() && (c == nil || c.sys != s):
		// Shutdown lets handlers of this System finish what they have begun, and so takes their
		// messages.
		return errClosed
	case a.life == failed && f != nil && f.inChain && a.x.suspended > 0:
		return a.x.fail // its caller keeps the failed incarnation from ending
	}
	return nil
}

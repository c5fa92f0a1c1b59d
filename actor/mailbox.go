package actor

import (
	"context"
	"errors"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// envelope is a message in a mailbox. It is in one list at most; prev, next and in
// are guarded by the actor's lock, the rest is set before it is posted.
type envelope struct {
	// Of a doubly linked list, as messages leave from the middle: callers that go, evictions,
	// messages that pass.
	prev, next *envelope
	in         *list
	m          *method
	run        runner
	call       *call           // nil: no caller waits for a reply
	ctx        context.Context // what the handler's Ctx takes its values and its end from; nil: nothing
	from       *actor          // its sender, in a System of actortest
	exempt     bool            // the limit of the mailbox does not matter, nor does its policy; actor.mu
}

// runner is the part of a message that knows its types.
type runner interface {
	exec(c *Ctx, state any) // runs the handler; calls c.returned as soon as that is over
	request() any
	free() bool     // the message is no longer in use; true: its envelope is for the method's pool
	bundle() bundle // nil: it is a message by itself
}

// list of messages, oldest first.
type list struct{ first, last *envelope }

func (l *list) push(e *envelope) {
	e.in, e.prev, e.next = l, l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *list) pushFront(e *envelope) {
	e.in, e.prev, e.next = l, nil, l.first
	if l.first == nil {
		l.last = e
	} else {
		l.first.prev = e
	}
	l.first = e
}

func (e *envelope) unlink() {
	// in says which list, so that a caller that leaves needs to know neither the priority nor
	// whether the message was put aside.
	l := e.in
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	// in == nil tells a caller that leaves that the message is on its way to a handler, or out
	// of it.
	e.in, e.prev, e.next = nil, nil, nil
}

// takeAll moves all messages of from to the end of l.
func (l *list) takeAll(from *list) {
	for e := from.first; e != nil; e = from.first {
		e.unlink()
		l.push(e)
	}
}

// errWait: the mailbox is full, and the sender waits for room.
var errWait = errors.New("actor: wait for room")

// posting says how a message comes.
type origin uint8

const (
	fromSender origin = iota // by a sender
	fromTimer                // by a timer
	fromSystem               // by the System: the limit does not matter
)

// post puts a message into the mailbox, and schedules the actor if it was idle. c is the
// handler that sends; nil: none.
func (a *actor) post(e *envelope, c *Ctx, from origin) error {
	// An order by seed chooses among senders, and keeps the messages of each in order.
	s := a.sys()
	if s.shuffle != nil && c != nil {
		e.from = c.a.Load()
	}
	failpoint.At("post")
	a.mu.Lock()
	// First, or a full mailbox of an actor that ends would let its senders wait.
	if err := a.closed(e.call, c, from); err != nil {
		a.mu.Unlock()
		return err
	}
	var evicted *envelope
	if from != fromSystem && a.full() {
		switch a.set.box.Policy {
		// The sender waits outside of this lock. It comes back through askRoom, which looks at
		// the room again.
		case firq.Wait:
			a.mu.Unlock()
			return errWait
		case firq.DropOldest, firq.DropNewest:
			// One goes for one that comes, so the limit holds at every instant.
			evicted = a.victim(e.m.prio)
		}
		// The policy is to reject; or all that wait is more important, or is not to be evicted.
		if evicted == nil {
			a.mu.Unlock()
			return errFull
		}
		evicted.unlink()
		// Out of the books of the mailbox here, into those of dead letters below, without the
		// lock.
		a.lose()
	}
	if from == fromSystem {
		e.exempt = true
		// It waits like the others and does not count in the limit: the Down of a watch must
		// come, however full the mailbox is.
		a.extra().exempt++
	}
	// Accepted: from here on it is in the books, and the only step left is to wake the actor.
	a.put(e)
	// Ticks and Downs come one by one, and are other types than a tell.
	if from == fromSender {
		a.noteBatchable(e)
	}
	a.unlockWake(c)
	if evicted != nil {
		// After mu: it calls the user's hook, which may Tell this very actor.
		a.deadLetter(evicted, ErrMailboxFull)
	}
	return nil
}

// closed says why the actor takes no message now. The caller holds a.mu.
func (a *actor) closed(f *call, c *Ctx, from origin) error {
	s := a.sys()
	switch {
	// For good: these do not change back.
	case a.refuses() || s.closed.Load():
		return errClosed
	// Shutdown lets handlers of this System finish what they have begun, and so takes their
	// messages.
	case from == fromSender && s.shutting.Load() && (c == nil || c.sys != s):
		return errClosed
	case a.life == failed && f != nil && f.inChain && a.x.suspended > 0:
		return a.x.fail // its caller keeps the failed incarnation from ending
	}
	return nil
}

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
	// The usual actor: one list, no handler but the one that asks.
	case x == nil:
		return a.mail.first
	// Its supervisor takes it down, and no handler is left that could wait for a message.
	case a.awaited && a.atRest():
		return nil // what waits is the next incarnation's
	// Handlers wait, and not every message may come in: the first one that may is found by a
	// look at all. That is a walk of the mailbox, and the price of CallChain.
	case x.suspended > 0 && (a.set.reent == CallChain || a.due()):
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
// in no list, so that callers that leave do not touch them. The caller holds a.mu.
func (a *actor) empty() (chain *envelope) {
	// What a worker has taken and not claimed is in no list, and belongs here too.
	a.recall()
	var all list
	a.each(func(l *list) bool { all.takeAll(l); return true })
	if a.x != nil {
		all.takeAll(&a.x.stash)
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
			if e.call != nil && e.call.inChain {
				e.unlink()
				a.lose()
				e.next, chain = chain, e
			}
			e = next
		}
		return true
	})
	return chain
}

// takeAllFront moves the messages of from in front of those of l, in order.
func (l *list) takeAllFront(from *list) {
	var all list
	all.takeAll(from)
	all.takeAll(l)
	l.takeAll(&all)
}

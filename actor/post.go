package actor

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The sender's side of a mailbox: whether a message is accepted, what has to go for it, and the
// wait for room. Both ways end in put, under the actor's lock, and so does the way of senders
// that are let in later (admit): no step in between decides twice.

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
	// At most one goes for one that comes.
	var evicted *envelope
	if from != fromSystem && a.full() {
		switch a.set.box.Policy {
		case firq.Wait:
			// The sender waits outside of this lock. It comes back through askRoom, which looks at
			// the room again.
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

// waitRoom waits until the mailbox has room for e, and puts it in. For the rule of
// deadlocks, and for the slot and the turn of the sender's handler, this wait is a call.
func (a *actor) waitRoom(ctx context.Context, c *Ctx, e *envelope) error {
	r, err := a.askRoom(ctx, c, e)
	if r == nil {
		return err
	}
	return a.awaitRoom(ctx, c, r)
}

// askRoom is the first half of waitRoom: it gives the message of e its place among those that wait for room,
// unless its sender, the handler c, would wait for itself. nil: there is nothing to wait for, as the message
// is in the mailbox, or refused with the error.
//
// Whether a sender waits in vain depends on those that wait before it. So the walk follows the step that gives
// it its place, and both hold graph.
func (a *actor) askRoom(ctx context.Context, c *Ctx, e *envelope) (*roomer, error) {
	// A ctx that has ended must not wait, and the select in sleep would choose at random.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	failpoint.At("queue for room")
	if c != nil {
		failpoint.Lock(&graph, "waits for room")
		// graph is held over the lock of the actor, in this order everywhere.
		defer endWalk()
	}
	a.mu.Lock()
	// The actor may have begun to end since post has looked: nothing would wake this sender
	// then.
	if err := a.closed(e.call, c, fromSender); err != nil {
		a.mu.Unlock()
		return nil, err
	}
	// Under the lock that post did not keep: there may be room by now, and then nothing wakes a sender that waits.
	if a.counted() < a.set.limit && len(a.roomers()) == 0 {
		a.put(e)
		a.unlockWake(c)
		return nil, nil
	}
	// The wait is a call without a message: it has a state, a waiter and an edge, so sleep and
	// the rule of deadlocks need no second kind of wait.
	r := &roomer{e: e, f: &call{to: a, done: a.sys().waiter(), room: true}}
	a.insertRoom(r)
	a.unlockWake(c)
	if c == nil {
		return r, nil
	}
	c.wait.CompareAndSwap(nil, r.f) // else another goroutine of the handler waits already
	// The edge is there, and the place: whatever a walk finds now stays true while the handlers on
	// the path wait (letsIn). A message that is let in, or refused, by now does not leave.
	if err := c.vain(r.f, func() bool { return a.leaveRoom(r) }); err != nil {
		a.sys().waiters.Put(r.f.done)
		return nil, err
	}
	return r, nil
}

// awaitRoom is the second half.
func (a *actor) awaitRoom(ctx context.Context, c *Ctx, r *roomer) error {
	s, f := a.sys(), r.f
	failpoint.At("room")
	// The longest wait that the policy allows. It runs from here, so a walk takes nothing of
	// it.
	t := time.NewTimer(a.set.box.Wait)
	defer t.Stop()
	// Without slot, and without turn where the sender's actor is reentrant, as in a Call.
	err := c.sleep(ctx, f, t.C)
	if err == nil {
		s.waiters.Put(f.done)
		return r.err
	}
	failpoint.At("leave room")
	// sleep has given up the wait; but whether the message is in the mailbox is decided under
	// the actor's lock, by its place among those that wait. The call was left, so its waiter
	// cannot be pooled.
	if !a.leaveRoom(r) { // the message was let in or refused in between
		return r.err
	}
	return err
}

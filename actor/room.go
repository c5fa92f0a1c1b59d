package actor

import (
	"context"
	"slices"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// roomer is a message whose sender waits for room in a mailbox.
type roomer struct {
	e   *envelope
	f   *call // what the sender's handler waits for, by the rule of deadlocks
	err error // why it was not let in; written before the channel is
}

// full reports whether only the mailbox's policy could let a message in. The caller holds a.mu.
func (a *actor) full() bool {
	return a.in-a.out >= a.set.limit && a.counted() >= a.set.limit || a.x != nil && len(a.x.room) > 0
}

// admit lets waiting senders in while there is room, first come first served. The
// caller holds a.mu.
func (a *actor) admit() {
	// In order, and not beyond the first that has to wait: a later one must not pass it because
	// it would fit.
	for len(a.x.room) > 0 && a.counted() < a.set.limit {
		r := a.x.room[0]
		// The slice is cut from the front, and would keep the message.
		a.x.room[0] = nil
		a.x.room = a.x.room[1:]
		// The message is in the mailbox before its sender is woken: so the sender, and the
		// walk, find it there.
		a.put(r.e)
		r.f.letIn()
	}
}

// evictRoom refuses all senders that wait for room. The caller holds a.mu.
func (a *actor) evictRoom() {
	if a.x == nil {
		return
	}
	for _, r := range a.x.room {
		// Written before letIn publishes the answer.
		r.err = errClosed // their messages were never in the mailbox
		r.f.letIn()
	}
	a.x.room = nil
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
	r := &roomer{e: e, f: &call{to: a, w: a.sys().waiter(), room: true}}
	a.insertRoom(r)
	a.unlockWake(c)
	if c == nil {
		return r, nil
	}
	c.wait.CompareAndSwap(nil, r.f) // else another goroutine of the handler waits already
	// The edge is there, and the place: whatever a walk finds now stays true while the handlers
	// on the path wait (letsIn).
	w := newWalk(c)
	if !w.call(r.f) || !a.leaveRoom(r) { // or it is let in, or refused, already
		return r, nil
	}
	c.wait.CompareAndSwap(r.f, nil)
	a.sys().waiters.Put(r.f.w)
	a.sys().deadlocks.Add(1)
	return nil, &DeadlockError{Cycle: w.cycle()}
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
		s.waiters.Put(f.w)
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

// insertRoom gives r its place: behind those that came before it, except that messages which
// pass handlers that wait go before those that do not. Such a handler may wait for them.
// The caller holds a.mu.
func (a *actor) insertRoom(r *roomer) {
	x := a.extra()
	// From the end, as most go there.
	i := len(x.room)
	for a.passes(r.e) && i > 0 && !a.passes(x.room[i-1].e) {
		i--
	}
	x.room = slices.Insert(x.room, i, r)
}

// sortRoom is called when fewer messages pass than did. The caller holds a.mu.
func (a *actor) sortRoom() {
	all := a.roomers()
	if len(all) == 0 {
		return
	}
	// Each is put in again in the old order, by the rule of now: those that pass as before keep
	// their order among themselves.
	a.x.room = nil
	for _, r := range all {
		a.insertRoom(r)
	}
}

// leaveRoom takes r out of those that wait; false: it does not wait any more.
func (a *actor) leaveRoom(r *roomer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	// The place is the truth: the message is let in under the same lock.
	i := slices.Index(a.roomers(), r)
	if i >= 0 {
		a.x.room = slices.Delete(a.x.room, i, i+1)
	}
	return i >= 0
}

// letsIn reports whether there will be room for a sender that waits with f although no handler
// in progress ends: if these wait, messages that pass them leave the mailbox, and enough of them
// are there for all senders before f. Those of the senders that pass leave the mailbox too, so only
// the others take room.
//
// What is said here stays true while handlers wait. A message that passes is handled or given up,
// which makes the same room; later senders go behind f, or pass. There are three exceptions, and after
// each of them lookAgain is called: fewer messages pass because the actor is taken down; a message
// is stashed; a handler that could have called Unstash is over or waits.
func (a *actor) letsIn(f *call) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.st.Load() > taken {
		return true // it is let in, or refused
	}
	// No message leaves this mailbox before a handler has ended: there is no promise.
	if !a.serves() || a.set.reent == None {
		return false
	}
	// Negative is room. One that passes in the mailbox makes it one less; one that does not
	// pass, of a sender before f, makes it one more, since it takes a place that does not
	// become free again.
	need := int64(a.counted()) - int64(a.set.limit) // how many messages have to pass before there is room
	for _, r := range a.roomers() {
		if r.f == f {
			break
		}
		if !a.passes(r.e) {
			need++
		}
	}
	// It stops as soon as there is enough, so a long mailbox is not counted to its end.
	pass := func(l *list) bool {
		for e := l.first; e != nil && need >= 0; e = e.next {
			if a.passes(e) && !e.exempt {
				need--
			}
		}
		return need >= 0
	}
	a.each(pass)
	// What is put aside counts in the limit, and may come back into the lists if a handler runs
	// that can call Unstash.
	if a.unstashes() {
		pass(&a.x.stash)
	}
	return need < 0
}

// unstashes reports whether a handler runs that may call Unstash: it does not wait. The caller
// holds a.mu and graph.
func (a *actor) unstashes() bool {
	// A handler that waits calls nothing before its wait is over, and that is what the walk is
	// about.
	runs := func(g *Ctx) bool { return g != nil && g.valid() && g.wait.Load() == nil && g.inner.Load() == nil }
	return a.x != nil && a.x.stash.first != nil && (runs(a.cur.Load()) || slices.ContainsFunc(a.x.holders, runs))
}

// overtakes reports whether a call in the mailbox comes in although handlers of the actor wait.
func (a *actor) overtakes(f *call) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return (a.serves() || a.life >= stopping) && (a.set.reent == Full || a.set.reent == CallChain && f.inChain)
}

// crowdedOut reports whether senders wait for room while handlers wait. The caller holds a.mu.
func (a *actor) crowdedOut() bool { return a.x != nil && len(a.x.room) > 0 && a.x.suspended > 0 }

// lookAgain ends waits for room in the mailbox that have become vain: see letsIn.
func (a *actor) lookAgain() {
	failpoint.At("look again")
	a.sys().unwait(a.handlers(), nil)
}

func (a *actor) roomers() []*roomer {
	if a.x == nil {
		return nil
	}
	return a.x.room
}

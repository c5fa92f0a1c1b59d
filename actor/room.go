package actor

import (
	"slices"
)

// Who gets the room that becomes free in a full mailbox: the sender that came first, except
// that messages which pass handlers that wait go before (insertRoom). And the promise by which
// the rule of deadlocks knows that a sender will get room although handlers wait (letsIn).

// roomer is a message whose sender waits for room in a mailbox.
type roomer struct {
	e   *envelope
	f   *call // what the sender's handler waits for, by the rule of deadlocks
	err error // why it was not let in; written before the channel is
}

// full reports whether only the mailbox's policy could let a message in. The caller holds a.mu.
func (a *actor) full() bool {
	return a.in-a.out >= a.set.limit && a.counted() >= a.set.limit || len(a.roomers()) > 0
}

// admit lets waiting senders in while there is room, first come first served. The
// caller holds a.mu.
func (a *actor) admit() {
	// In order, and not beyond the first that has to wait: a later one must not pass it because
	// it would fit.
	for len(a.roomers()) > 0 && a.counted() < a.set.limit {
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
func (a *actor) crowdedOut() bool { return len(a.roomers()) > 0 && a.x.suspended > 0 }

// roomers returns the senders that wait, the next one first. The caller holds a.mu.
func (a *actor) roomers() []*roomer {
	if a.x == nil {
		return nil
	}
	return a.x.room
}

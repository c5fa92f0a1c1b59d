package actor

import (
	"context"
	"slices"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// sleep waits for the answer of f, until ctx ends, or timer rings. While it sleeps, the
// handler has no slot, and no turn if its actor is reentrant. c may be nil.
func (c *Ctx) sleep(ctx context.Context, f *call, timer <-chan time.Time) (err error) {
	var done <-chan struct{}
	if own, ok := ctx.(*Ctx); ok && own == c {
		// The handler's own Ctx would have to be made (Done), which costs an allocation per
		// call.
		if b := c.served(); b != nil { // anything else that ends the handler interrupts f
			ctx = b
			done = b.Done()
		}
	} else {
		done = ctx.Done()
	}
	if c != nil {
		// Deferred calls run last first: the turn comes back, the call leaves the list, and the
		// edge ends last, after the turn is here. (The reply has ended the edge for walks
		// already.)
		defer c.noWait(f)
		// The handler is over or abandoned: this goroutine of it must not wait.
		if !c.addKid(f) {
			if f.leave(ErrStale) {
				return ErrStale
			}
			// It was answered in between. The answer has to be received, or the waiter would
			// keep it for the next call.
			<-f.done()
			return nil
		}
		defer c.dropKid(f)
		// From here the slot is free for others, and the turn too where the actor is reentrant.
		t := c.pause()
		defer c.resume(t)
	}
	failpoint.At("sleep")
	select {
	case <-f.done():
	case <-done:
		err = ctx.Err()
	case <-timer:
		err = errFull // only a sender that waits for room has a timer
	}
	// The answer was first, and counts: what was handled must not look as if it had not been.
	if err != nil && !f.leave(err) {
		<-f.done()
		err = nil
	}
	if err == nil && f.st.Load() == left {
		return f.err // interrupted
	}
	return err
}

// rest waits for done, or until ctx ends, or unwait ends the wait. By the rule of deadlocks it is a wait for
// f; nil: for nothing that the rule knows. While it waits, the handler has no slot, and no turn if its
// actor is reentrant. c may be nil.
func (c *Ctx) rest(ctx context.Context, f *call, done <-chan struct{}) error {
	var cut <-chan struct{}
	// unwait ends a wait by closing this channel.
	if f != nil {
		cut = f.many
	}
	if c != nil {
		t := c.pause()
		defer c.resume(t)
		defer c.noWait(f) // before it has to wait for its turn
	}
	select {
	case <-done:
	case <-cut:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// outer returns the handler inside which c's handler runs, on the same goroutine: a handler
// that starts an actor waits while the actor's start waits.
func (c *Ctx) outer() *Ctx {
	// It serves a call by the mailbox: its caller is on another goroutine, which has given up
	// what it held by itself.
	if c.serving.Load() != nil {
		return nil
	}
	return c.caller.Load()
}

// pause gives up what the handler holds while it waits.
func (c *Ctx) pause() (nth uint64) {
	// From here the time is lent: the actor does not pay for it.
	nth = c.acct.wait(c.sys.now())
	open := false
	for p := c; p != nil; p = p.outer() {
		// All handlers on this goroutine wait. Of the reentrant ones among them the turn goes
		// to other messages.
		if a := p.a.Load(); a.set.reent != None {
			a.suspend(p)
			open = true
		}
	}
	// A Dedicated actor keeps its slot, as no other actor may have it, unless its own messages
	// may come in.
	if c.w != nil && (!c.w.pool.locked || open) && !c.w.lose() {
		c.w.tellBlocked() // now, because the wait that begins is none outside of Await
	}
	return nth
}

// resume takes back what pause gave up, except for the slot: a handler that goes on may hold
// what others wait for. (In an order by seed it takes the slot too, and the slot decides which
// handler is the first to take the turn back.)
func (c *Ctx) resume(nth uint64) {
	c.wantBySeed()
	for p := c; p != nil; p = p.outer() {
		if a := p.a.Load(); a.set.reent != None {
			a.regain(p)
		}
	}
	c.wantBySeed()
	c.acct.over(nth, c.sys.now())
}

// wantBySeed waits for a slot in a System of actortest.
func (c *Ctx) wantBySeed() {
	// One handler at a time runs in an order by seed, so one that goes on is an entry like any
	// other.
	if c.w != nil && c.sys.shuffle != nil && !c.w.has() && c.st.Load() != abandoned {
		c.w.want(c.a.Load(), c.w.pool.q.Now())
	}
}

// want waits for a slot, as an entry of the run queue with a tag.
func (w *worker) want(a *actor, tag int64) {
	p := w.pool
	// Closed: it goes on without a slot.
	if !p.push(entry{Of: claim{a, w}, Tag: tag}) {
		return
	}
	if sl := <-w.give; sl != nil {
		w.own(sl)
		w.stamp(sl, p.sys.now())
	} else {
		// Close has closed the channel; pass may send on it once more.
		w.give = make(chan *slot, 1)
	}
}

// enter makes c one of the handlers that are in progress in addition to the one that has
// the turn. The caller holds a.mu.
func (a *actor) enter(c *Ctx) {
	x := a.extra()
	// Before the turn is given up: as long as this counts, no writer begins and no step of the
	// life is taken.
	x.readers++
	x.holders = append(x.holders, c)
	c.hold = holdRead
}

func (a *actor) dropHolder(c *Ctx) {
	// Absent only if the handler has just been taken out by the goroutine that abandons it.
	if i := slices.Index(a.x.holders, c); i >= 0 {
		a.x.holders = slices.Delete(a.x.holders, i, i+1)
	}
}

// letGo takes from a handler what it holds of its actor, and reports whether the actor is ready now. The
// caller holds a.mu.
func (a *actor) letGo(c *Ctx) (ready bool) {
	// What c holds is decided under mu: its timeout may take it at the same time.
	hold := c.hold
	c.hold = holdNothing
	if hold == holdTurn {
		a.cur.Store(nil)
		return a.releaseLocked()
	}
	a.dropHolder(c)
	if hold == holdRead {
		a.x.readers--
	} else {
		a.x.suspended--
		// It was abandoned while it waited for the turn.
		if i := slices.Index(a.x.resume, c); i >= 0 {
			a.x.resume = slices.Delete(a.x.resume, i, i+1)
			c.turn <- struct{}{} // it was abandoned, and goes on without the turn
		}
	}
	// With one handler less the actor may have something to do: a step, a writer, a message.
	return a.wake()
}

// leave ends a handler whose turn no worker charges: one that reads, or whose goroutine ends.
func (a *actor) leave(c *Ctx) {
	failpoint.At("leave reader")
	a.mu.Lock()
	// The next turn of the actor pays.
	a.extra().owed += c.acct.used(c.start.Load(), c.sys.now())
	a.unlockReady(a.letGo(c), nil)
}

// suspend gives up the turn of a handler that is going to wait.
func (a *actor) suspend(c *Ctx) {
	failpoint.At("suspend")
	a.mu.Lock()
	x := a.extra()
	if c.pauses++; c.pauses > 1 || c.hold == holdNothing { // a goroutine of the handler waits too, or it was abandoned
		a.mu.Unlock()
		return
	}
	x.suspended++ // first: what the actor may do next depends on it
	ready := a.letGo(c)
	// By the rule of deadlocks it is still one of the handlers that a message which may not
	// pass waits for.
	x.holders = append(x.holders, c)
	// A handler that waits lets fewer messages through, so room that was promised may be gone
	// (letsIn).
	look := a.crowdedOut()
	a.unlockReady(ready, c)
	if look {
		a.lookAgain()
	}
}

// regain takes the turn back, before any message that waits.
func (a *actor) regain(c *Ctx) {
	failpoint.At("regain")
	a.mu.Lock()
	if c.pauses--; c.pauses > 0 || c.st.Load() == abandoned {
		a.mu.Unlock()
		return // if it was abandoned, abandon has taken it from the suspended ones
	}
	// No other handler has the turn: it is taken here, without a worker.
	if a.turn == idle && a.x.readers == 0 {
		a.turn = busy
		a.resumed(c)
		a.mu.Unlock()
		return
	}
	// Made with the first wait that needs it, and kept with the Ctx: it has room for one, and
	// the goroutine that hands over does not block.
	if c.turn == nil {
		c.turn = make(chan struct{}, 1)
	}
	// The next goroutine that gives up the turn hands it over, before any message.
	a.x.resume = append(a.x.resume, c)
	a.mu.Unlock()
	if c.w != nil && c.sys.shuffle != nil {
		c.w.lose() // the handler that has the turn may want the slot
	}
	<-c.turn
}

// resumed makes c the handler that has the turn. The caller holds a.mu.
func (a *actor) resumed(c *Ctx) {
	a.x.suspended--
	a.dropHolder(c)
	c.hold = holdTurn
	// Under mu, as the turn is: a walk that reads cur under mu sees the handler that has it.
	a.cur.Store(c)
}

// Await runs f, which may block: until f returns the handler has no slot, and if its actor is
// reentrant, other messages come in. It returns the error of f, or ErrStale.
//
// A handler that blocks without Await keeps its slot until an actor waits for one and the System sees
// that the handler blocks, which takes microseconds, or a millisecond, and 10 ms where it cannot see
// that (Config.Handoff). The time for which it blocks counts as processor time of its actor.
func (c *Ctx) Await(f func() error) error {
	if !c.valid() {
		return ErrStale
	}
	t := c.pause()
	defer c.resume(t)
	return f()
}

// Await is c.Await for a function that returns a value.
func Await[T any](c *Ctx, f func() (T, error)) (v T, err error) {
	err = c.Await(func() error { v, err = f(); return err })
	return v, err
}

// Yield gives the slot to an actor that waits for one, and returns once the handler has
// a slot again. The handler keeps the actor's turn: no message of the actor comes in.
func (c *Ctx) Yield() {
	w := c.w
	if w == nil || !c.valid() || w.pool.locked || !w.pool.waits() {
		return
	}
	a := c.a.Load()
	start := c.sys.now()
	// It queues as its actor would, with what this turn has used so far.
	tag := w.pool.q.Now()
	a.mu.Lock() // or the turn could be taken from the handler, by its timeout
	if c.hold == holdTurn {
		tag = max(tag, a.used)
	}
	a.mu.Unlock()
	tag += max(start-c.start.Load()-c.acct.lent.Load(), 0) / a.set.weight
	if w.lose() {
		// The handler waits in the queue, with the turn. The slot that it gets need not be the
		// one that it has lost.
		w.want(a, tag)
		// The wait is not paid for.
		c.acct.lent.Add(c.sys.now() - start)
	}
}

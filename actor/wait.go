package actor

import (
	"context"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// How a handler waits: it gives up its slot, and its turn if the actor is reentrant (pause),
// waits, and takes the turn back (resume), without a slot. sleep waits for the answer of a
// call, rest for a channel; Await runs any function in between. Where there is no handler, both
// are a plain select.

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
			<-f.done
			return nil
		}
		defer c.dropKid(f)
		// From here the slot is free for others, and the turn too where the actor is reentrant.
		t := c.pause()
		defer c.resume(t)
	}
	failpoint.At("sleep")
	select {
	case <-f.done:
		// Answered: by the handler, by room that was given, or by an end.
	case <-done:
		err = ctx.Err()
	case <-timer:
		err = errFull // only a sender that waits for room has a timer
	}
	// The answer was first, and counts: what was handled must not look as if it had not been.
	if err != nil && !f.leave(err) {
		<-f.done
		err = nil
	}
	if err == nil && f.st.Load() == left {
		return f.err // interrupted
	}
	return err
}

// rest waits for done or for f.done, or until ctx ends. By the rule of deadlocks it is a wait for
// f, which unwait may end; nil: for nothing that the rule knows. While it waits, the handler has no slot, and no turn if its
// actor is reentrant. c may be nil.
func (c *Ctx) rest(ctx context.Context, f *call, done <-chan struct{}) error {
	var cut <-chan struct{}
	if f != nil {
		cut = f.done
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
	// Last: the wait for the turn was a wait, too.
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
	// If f panics, the deferred resume takes the turn back before the panic goes on.
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

// awaitDone waits until the actor has ended, or ctx ends. c, which may be nil, is the handler that
// waits: for all handlers of the actor and of its descendants, by the rule of deadlocks.
func (a *actor) awaitDone(ctx context.Context, c *Ctx) error {
	// The wait is a call without a message, so the rule of deadlocks sees it; done is closed if
	// unwait ends it.
	f := &call{to: a, ends: true, done: make(chan struct{})}
	if err := c.waitsFor(f); err != nil {
		return err
	}
	if err := c.rest(ctx, f, a.ended()); err != nil {
		return err
	}
	if f.st.Load() == left { // by unwait
		return f.err
	}
	return nil
}

// awaitEnd waits until an actor whose start has failed is gone, children first. c, which
// may be nil, is the handler that has started it. That handler has to hear of the failure. So
// where it and other handlers wait for each other, the calls of the others are refused.
func (a *actor) awaitEnd(c *Ctx) {
	s := a.sys()
	// Close ends the actor by itself, and waits for no handler: nor does this one.
	f := &call{to: a, ends: true, done: s.stopped}
	f.st.Store(taken) // no other goroutine may end it
	if c != nil {
		c.wait.CompareAndSwap(nil, f)
		// The wait is there (c.wait). Handlers below that wait for this one's actor get an
		// error now, and so the end comes.
		s.unwait(a.handlersBelow(), c)
	}
	_ = c.rest(context.Background(), f, a.ended())
}

package actor

import (
	"context"
)

// The way of a message, from Tell to its handler. Each step calls the next one, and none calls back.
//
//	Tell, Call, Start, Deliver    here, future.go, deliver.go: find the actor (Ref.find, for one by
//	                              key), make the message (message.go), look for a deadlock (waitsFor)
//	enterInline                   inline.go: an idle actor handles a Call here and now
//	join                          pack.go: a Tell joins the pack at the end of the mailbox
//	post                          post.go: is the actor taking messages, is there room; put
//	waitRoom                      post.go: no, and the policy is to wait for it
//	wake, schedule                ready.go: an idle actor becomes ready, and gets into the run queue
//	pool.ready, worker.turns      pool.go, worker.go: a worker with a slot takes it when it is its turn
//	worker.turn                   turn.go: and takes messages (mailbox.go), until the turn is over
//	begin, exec, returned         handler.go: its handler runs
//	signal                        call.go: and its caller is answered; the reply is in the message
//
// An error on the way means that the message was not accepted. From put on it is in the books
// (books.go), and will be handled, or leave as a dead letter (dead.go), or with its caller.

// Tell sends a message and does not wait for its handler. It blocks only where the
// mailbox is full and its policy is Wait. The handler has the values of ctx (those of the
// call that is served, if ctx is a Ctx), but not its deadline or end, which matter only while
// Tell blocks. An error means that the message was not accepted.
func (m *Method[S, Req, Res]) Tell(ctx context.Context, to Ref[S], req Req) error {
	var c *Ctx
	var values context.Context
	var err error
	// Most tells from outside come with Background: they have no sender and no values, and skip
	// the look-up of both.
	if ctx != context.Background() {
		if c, err = sender(ctx); err != nil {
			return err
		}
		// The handler may run long after ctx has ended, so the message takes the values only.
		// Taken here, on the sender's goroutine: later its Ctx may belong to another handler.
		values = valuesOf(ctx, c)
	}
	// A Ref by identity has no actor in it. Each message asks for the one of today, which may
	// have been started a moment ago.
	a, err := to.actor(ctx, c)
	if a == nil {
		_, err = to.away(ctx, m.name, req, nil, err)
		return err
	}
	var e *envelope
	// A pack has one envelope for all its tells, and that has room for the values of one: so
	// tells with values go alone. batching is a hint that is read without the lock; join looks
	// again.
	if m.bulk > 0 && values == nil && a.batching.Load() {
		done, pack := m.join(a, c, req)
		// The tell is in the pack of an earlier one, which has woken the actor.
		if done {
			return nil
		}
		if pack {
			e = &m.newPack(req).envelope
		}
	}
	// The usual message: an envelope from the pool of its method.
	if e == nil {
		l := m.newTell()
		l.req, l.ctx = req, values
		e = &l.envelope
	}
	// post does not wait, as it holds a lock; a sender that may wait gets its place among those
	// that do.
	if err = a.post(e, c, fromSender); err == errWait {
		err = a.waitRoom(ctx, c, e)
	}
	if err == nil {
		return nil
	}
	// It was accepted nowhere, so this goroutine still owns the envelope, and gives it back.
	e.over()
	// The actor of a key may end between find and post. Its next activation takes the message,
	// so no message meets the end by idleness.
	if err = to.awaitNext(ctx, c, a, err); err == nil {
		return m.Tell(ctx, to, req)
	}
	return a.refused(err)
}

// Call sends a message and waits for the reply, or until ctx ends: then it returns
// immediately. A message that still waits is then never handled, and a handler in
// progress goes on with its Ctx cancelled. If the actor is idle, the handler may run on
// the caller's goroutine, where the caller can hardly tell the difference: see the
// package's documentation.
func (m *Method[S, Req, Res]) Call(ctx context.Context, to Ref[S], req Req) (res Res, err error) {
	// The handler that calls, for the rule of deadlocks, the chain and the slot that it gives
	// away.
	c, err := sender(ctx)
	if err != nil {
		return res, err
	}
	a, err := to.actor(ctx, c)
	if a == nil {
		return m.callAway(ctx, c, to, req, err)
	}
	if err = ctxErr(ctx, c); err != nil {
		return res, a.refused(err)
	}
	// The short way: an idle actor is locked, and its handler runs here. No message, no
	// wake-up, no wait.
	if canInline(ctx, &m.method, a, c) {
		if cc := a.enterInline(ctx, c, &m.method); cc != nil {
			return m.inlined(ctx, cc, a, c, req)
		}
	}
	// The long way: by the mailbox. The message holds the reply as well.
	k := m.ask(ctx, a, c, req)
	s := a.sys()
	// Before the post, as an actor with CallChain lets the message in by this mark.
	c.mark(&k.f)
	// Before the post as well: from here on a walk of any other handler sees that this one
	// waits. After it, two handlers that call each other could both be too early to see the
	// other.
	if err = c.waitsFor(&k.f); err != nil {
		return res, a.refused(k.drop(s, err))
	}
	if err = a.post(&k.envelope, c, fromSender); err == errWait {
		// The wait for room is another one, and askRoom looks for its deadlock under the lock
		// that gives the place. A handler waits for one call at a time.
		c.noWait(&k.f)
		if err = a.waitRoom(ctx, c, &k.envelope); err == nil {
			// The message is in the mailbox, and others may have begun to wait since the first
			// look. If the call closes a cycle now, it leaves the mailbox again.
			if dead := c.waitsFor(&k.f); dead != nil && k.f.leave(dead) {
				return res, dead
			} // else it is answered already
		}
	} else if err != nil {
		c.noWait(&k.f)
	}
	if err != nil {
		if err = to.awaitNext(ctx, c, a, k.drop(s, err)); err == nil {
			return m.Call(ctx, to, req)
		}
		return res, a.refused(err)
	}
	if err = c.sleep(ctx, &k.f, nil); err != nil {
		return res, err
	}
	return k.result(s)
}

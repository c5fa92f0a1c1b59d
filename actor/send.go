package actor

import (
	"context"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The way of a message, from Tell to its handler. Each step calls the next one, and none calls back.
//
//	Tell, Call, Start, Deliver    here, future.go, deliver.go: find the actor (Ref.find, for one by
//	                              key), make the message, look for a deadlock (waitsFor)
//	enterInline                   inline.go: an idle actor handles a Call here and now
//	join                          pack.go: a Tell joins the pack at the end of the mailbox
//	post                          mailbox.go: is the actor taking messages, is there room; put
//	waitRoom                      room.go: no, and the policy is to wait for it
//	wake, schedule                actor.go: an idle actor becomes ready, and gets into the run queue
//	pool.ready, worker.turns      pool.go, worker.go: a worker with a slot takes it when it is its turn
//	worker.turn                   turn.go: and takes messages, until the turn is over
//	begin, exec, returned         handler.go: its handler runs
//	signal                        call.go: and its caller is answered; the reply is in the message
//
// An error on the way means that the message was not accepted. From put on it is in the books
// (books.go), and will be handled, or leave as a dead letter, or with its caller.

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
	a := to.a
	if a == nil {
		if a, err = to.find(ctx, c); a == nil {
			_, err = to.away(ctx, m.name, req, nil, err)
			return err
		}
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

// ask is a message with a reply.
type ask[S, Req, Res any] struct {
	envelope
	f   call
	of  *Method[S, Req, Res]
	req Req
	res Res
}

func (k *ask[S, Req, Res]) exec(c *Ctx, state any) {
	// nil where the actor is over, and Close has dropped the state: then the handler is not
	// run.
	s, _ := state.(S)
	res, err := k.of.fn(s, c, k.req)
	// A handler may return the error of a call that it could not send. This message was sent,
	// so its caller must not take that as permission to send it again.
	err = handled(err)
	// Abandoned: its caller has ErrTimeout already. Or put aside: its caller waits on, for the
	// handler that comes after Unstash.
	if !c.returned() {
		return
	}
	failpoint.At("reply")
	// The caller that leaves, the timeout and Close also want to move the call out of taken:
	// the one that succeeds writes the answer. The fields of the answer are written between the
	// two states, where no other goroutine reads them.
	if k.f.st.CompareAndSwap(taken, replying) {
		failpoint.At("answer")
		k.res, k.f.err = res, err
		k.f.signal()
	}
}

func (k *ask[S, Req, Res]) request() any   { return k.req }
func (k *ask[S, Req, Res]) bundle() bundle { return nil }
func (k *ask[S, Req, Res]) free() bool     { return false } // its caller gives it back

// giveBack is called by the goroutine that waited, after the answer.
func (k *ask[S, Req, Res]) giveBack() {
	if k.f.foreign {
		return // its handler may still be using it
	}
	// Not kept in the pool: a request or a reply may hold on to much of the user's memory.
	var req Req
	var res Res
	k.req, k.res = req, res
	// A walk may still have this call from before its caller went on: it finds a call without
	// caller and handler.
	k.f.caller.Store(nil)
	k.ctx, k.f.to, k.f.err, k.f.inChain = nil, nil, nil, false
	k.f.by.Store(nil)
	// Last: the next caller may have it before Put returns.
	k.of.asks.Put(k)
}

func (m *Method[S, Req, Res]) ask(ctx context.Context, a *actor, c *Ctx, req Req) *ask[S, Req, Res] {
	// The pool is the method's, as the types are; the waiter is the System's, as its channel
	// must stay in one bubble of testing/synctest.
	k, _ := m.asks.Get().(*ask[S, Req, Res])
	if k == nil {
		k = &ask[S, Req, Res]{of: m}
		k.m, k.run, k.call, k.f.env = &m.method, k, &k.f, &k.envelope
	}
	k.req = req
	// A pooled call was answered: this begins its next life, before any other goroutine can
	// find it.
	k.f.st.Store(waiting)
	k.f.caller.Store(c)
	k.ctx, k.f.to, k.f.w = base(ctx, c), a, a.sys().waiter()
	return k
}

// base returns the context that the handler of a call takes its values and its end from:
// the caller's ctx or, if that is the caller's own Ctx, the ctx of the call that it serves.
func base(ctx context.Context, c *Ctx) context.Context {
	if ctx == context.Background() {
		return nil
	}
	// Not c itself: the callee may outlive the handler of c, and would find the values of the
	// next one.
	if own, ok := ctx.(*Ctx); ok && own == c {
		return c.served()
	}
	return ctx
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
	a := to.a
	if a == nil {
		if a, err = to.find(ctx, c); a == nil {
			return m.callAway(ctx, c, to, req, err)
		}
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

// drop gives back a call that was not posted because of err. It returns err, or the error of
// unwait if unwait has ended the call before.
func (k *ask[S, Req, Res]) drop(s *System, err error) error {
	if _, ok := k.f.claim(); !ok {
		<-k.f.done() // or the waiter's next call would be woken
		err = k.f.err
	}
	s.waiters.Put(k.f.w)
	k.f.w, k.f.foreign = nil, false
	k.giveBack()
	return err
}

// result returns the answer, and gives back the message that it came in.
func (k *ask[S, Req, Res]) result(s *System) (Res, error) {
	res, err := k.res, k.f.err
	if k.f.foreign { // then res was not written, and an abandoned handler may not write it either
		var zero Res
		return zero, err
	}
	s.waiters.Put(k.f.w)
	k.f.w = nil
	k.giveBack()
	return res, err
}

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
	if ctx != context.Background() {
		if c, err = sender(ctx); err != nil {
			return err
		}
		values = valuesOf(ctx, c)
	}
	a := to.a
	if a == nil {
		if a, err = to.find(ctx, c); a == nil {
			_, err = to.away(ctx, m.name, req, nil, err)
			return err
		}
	}
	var e *envelope
	if m.bulk > 0 && values == nil && a.batching.Load() {
		done, pack := m.join(a, c, req)
		if done {
			return nil
		}
		if pack {
			e = &m.newPack(req).envelope
		}
	}
	if e == nil {
		l := m.newTell()
		l.req, l.ctx = req, values
		e = &l.envelope
	}
	if err = a.post(e, c, fromSender); err == errWait {
		err = a.waitRoom(ctx, c, e)
	}
	if err == nil {
		return nil
	}
	e.over()
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
	s, _ := state.(S)
	res, err := k.of.fn(s, c, k.req)
	err = handled(err)
	if !c.returned() {
		return
	}
	failpoint.At("reply")
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
	var req Req
	var res Res
	k.req, k.res = req, res
	k.f.caller.Store(nil)
	k.ctx, k.f.to, k.f.err, k.f.inChain = nil, nil, nil, false
	k.f.by.Store(nil)
	k.of.asks.Put(k)
}

func (m *Method[S, Req, Res]) ask(ctx context.Context, a *actor, c *Ctx, req Req) *ask[S, Req, Res] {
	k, _ := m.asks.Get().(*ask[S, Req, Res])
	if k == nil {
		k = &ask[S, Req, Res]{of: m}
		k.m, k.run, k.call, k.f.env = &m.method, k, &k.f, &k.envelope
	}
	k.req = req
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
	if canInline(ctx, &m.method, a, c) {
		if cc := a.enterInline(ctx, c, &m.method); cc != nil {
			return m.inlined(ctx, cc, a, c, req)
		}
	}
	k := m.ask(ctx, a, c, req)
	s := a.sys()
	c.mark(&k.f)
	if err = c.waitsFor(&k.f); err != nil {
		return res, a.refused(k.drop(s, err))
	}
	if err = a.post(&k.envelope, c, fromSender); err == errWait {
		c.noWait(&k.f)
		if err = a.waitRoom(ctx, c, &k.envelope); err == nil {
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

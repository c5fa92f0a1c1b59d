package actor

import (
	"context"
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// States of a call.
const (
	waiting  uint32 = iota // in a mailbox, or on its way
	taken                  // its handler runs
	replying               // the handler that answers it writes the result
	answered
	left // its caller waits no more
)

// call is the part of a message with a reply that does not know its types. The goroutine
// that moves it out of waiting or taken owns it; a call that was left is never used again.
type call struct {
	st      atomic.Uint32
	foreign bool  // not answered by its handler; written while replying
	room    bool  // not a message: its sender waits for room
	ends    bool  // not a message: its sender waits for the end of to, and of its descendants before
	inChain bool  // a handler of the target has caused it; immutable once posted
	err     error // written while replying
	w       *waiter
	many    chan struct{}               // of a Future, instead of w
	then    func()                      // of Deliver, instead of w
	stop    atomic.Pointer[func() bool] // where w is nil: ends the wait for the end of ctx
	to      *actor
	// caller is the handler that waits; written before the call is posted, and under graph
	// when the call is left. nil: the call comes from outside.
	caller atomic.Pointer[Ctx]
	by     atomic.Pointer[Ctx] // the handler that serves it
	env    *envelope
	// Links in the list of calls of the caller's handler; guarded by its Ctx.mu.
	kidPrev, kidNext *call
	kid              bool
}

// waiter is a channel that answers come through. It is pooled per System, because a
// channel must not leave its bubble of testing/synctest.
type waiter struct{ ch chan struct{} }

func (s *System) waiter() *waiter {
	if w, ok := s.waiters.Get().(*waiter); ok {
		return w
	}
	return &waiter{make(chan struct{}, 1)}
}

// taken is called under the actor's mu by the worker that is going to run the handler in c.
func (f *call) taken(c *Ctx) bool {
	f.by.Store(c) // before the call is taken: a caller that leaves looks for c
	if f.st.CompareAndSwap(waiting, taken) {
		return true
	}
	f.by.Store(nil)
	return false
}

// signal publishes an answer and wakes the caller. From here on no handler waits for the
// call, by the rule of deadlocks, although its caller may wake up later. Otherwise the
// next call in the other direction would look like a cycle.
func (f *call) signal() {
	f.st.Store(answered)
	f.wake()
}

// wake wakes the caller, which may give the call back for reuse before wake returns.
func (f *call) wake() {
	if f.w == nil {
		if f.then != nil {
			go f.then() // apart from the handler that answers, whose turn it would take
		} else {
			close(f.many)
		}
		if stop := f.stop.Load(); stop != nil {
			(*stop)()
		}
		return
	}
	f.w.ch <- struct{}{}
}

// done tells that the call was answered, or left by its handler.
func (f *call) done() <-chan struct{} {
	if f.many != nil {
		return f.many
	}
	return f.w.ch
}

// answer answers a sender that waits for room.
func (f *call) answer(err error) { f.refuse(err, waiting) }

// refuse answers a call in state from with an error. It reports false if the call has
// been answered already, or was left.
func (f *call) refuse(err error, from uint32) bool {
	if !f.st.CompareAndSwap(from, replying) {
		return false
	}
	f.err = err
	f.foreign = true
	f.signal()
	return true
}

// leave gives up a call, because its caller's ctx or the calling handler has ended, with
// err. It reports false if the call is answered, or was left before.
func (f *call) leave(err error) bool {
	failpoint.At("leave")
	from, ok := f.claim()
	if ok {
		f.leaving(from, err)
	}
	return ok
}

// claim is the step of leave that decides: from here on the call is not used again.
func (f *call) claim() (from uint32, ok bool) {
	for { // Stash moves it from taken back to waiting
		from = f.st.Load()
		if from > taken {
			return from, false
		}
		if f.st.CompareAndSwap(from, left) {
			return from, true
		}
	}
}

// leaving does the rest of leave; its caller has claimed the call.
func (f *call) leaving(from uint32, err error) {
	failpoint.At("leaving")
	s := f.to.sys() // whose books it is in
	if from == taken {
		g := f.by.Load()
		f.cut(g)
		if g != nil { // else the call is just being stashed
			g.cancelFor(f, err)
		}
		return
	}
	f.cut(nil)
	if f.env == nil {
		return
	}
	failpoint.At("leave mailbox")
	f.to.mu.Lock()
	if f.env.in != nil {
		f.env.unlink()
		f.to.lose()
		s.cancelled.Add(1)
	}
	wake := f.to.wake()
	f.to.mu.Unlock()
	if wake {
		f.to.schedule(nil)
	}
}

// cut takes the caller out of the chain.
func (f *call) cut(g *Ctx) {
	failpoint.Lock(&graph, "cut")
	f.caller.Store(nil)
	if g != nil && g.serving.Load() == f {
		g.caller.Store(nil)
	}
	graph.Unlock()
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
	s.mark(c, &k.f)
	if err = s.waitsFor(c, &k.f); err != nil {
		return res, a.refused(k.drop(s, err))
	}
	if err = a.post(&k.envelope, c, fromSender); err == errWait {
		s.noWait(c, &k.f)
		if err = a.waitRoom(ctx, c, &k.envelope); err == nil {
			if dead := s.waitsFor(c, &k.f); dead != nil && k.f.leave(dead) {
				return res, dead
			} // else it is answered already
		}
	} else if err != nil {
		s.noWait(c, &k.f)
	}
	if err != nil {
		if err = k.drop(s, err); err == errClosed {
			if err = to.awaitNext(ctx, c, a); err == nil {
				return m.Call(ctx, to, req)
			}
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

package actor

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A call is the part of a message that a goroutine waits for, without the types of its request and
// reply: one small state machine, by which the handler that answers, the caller that leaves,
// the timeout, Stash, Close and the rule of deadlocks agree on who ends it. Waits for room, for
// the start of an actor and for an end are calls without a message: so there is one kind of
// wait.

// States of a call.
const (
	// The way of a call: waiting, taken, replying, answered; or left, from one of the first
	// two. Stash moves it back from taken to waiting. Every step is a CAS, and whichever
	// goroutine succeeds does what comes after it.
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
	foreign bool   // not answered by its handler; written while replying
	room    bool   // not a message: its sender waits for room
	ends    bool   // not a message: its sender waits for the end of to, and of its descendants before
	inChain bool   // a handler of the target has caused it; immutable once posted
	err     error  // written while replying
	from    uint32 // the state in which it was left; only the goroutine that has claimed it uses this
	// The answer comes through a channel of waiter, or closes the channel of a Future, for which several
	// goroutines may wait. nil: then is called, of Deliver.
	done chan struct{}
	then func()
	stop atomic.Pointer[func() bool] // ends the wait for the end of ctx; not of a call with a waiter
	to   *actor
	// caller is the handler that waits; written before the call is posted, and under graph
	// when the call is left. nil: the call comes from outside.
	caller atomic.Pointer[Ctx]
	by     atomic.Pointer[Ctx] // the handler that serves it
	// The message that it is in, for a caller that leaves; nil where there is none.
	env *envelope
	kid int // its place in Ctx.kids of the caller's handler, from 1; 0: it is not there; guarded by that Ctx.mu
}

// waiter returns an empty channel for an answer, with room for it. It goes back to the pool after its answer was
// received, and never when its call was left, as an answer could still come. The pool is the System's, as a
// channel must not leave its bubble of testing/synctest.
func (s *System) waiter() chan struct{} {
	// One in the pool is empty: every answer that was sent was received (drop).
	if w, ok := s.waiters.Get().(chan struct{}); ok {
		return w
	}
	return make(chan struct{}, 1)
}

// taken is called under the actor's mu by the worker that is going to run the handler in c.
func (f *call) taken(c *Ctx) bool {
	f.by.Store(c) // before the call is taken: a caller that leaves looks for c
	if f.st.CompareAndSwap(waiting, taken) {
		return true
	}
	// The caller has left in between, and has looked for c or not: it finds no handler of its
	// own to cancel.
	f.by.Store(nil)
	return false
}

// signal publishes an answer and wakes the caller. From here on no handler waits for the
// call, by the rule of deadlocks, although its caller may wake up later. Otherwise the
// next call in the other direction would look like a cycle.
func (f *call) signal() {
	// Before the caller is woken, which may give f to another call.
	f.st.Store(answered)
	f.wake()
}

// wake wakes the caller, which may give the call back for reuse before wake returns.
func (f *call) wake() {
	// A waiter has room for one, and there is one answer: this never blocks the handler that
	// replies.
	if cap(f.done) > 0 {
		f.done <- struct{}{}
		return
	}
	if f.then != nil {
		go f.then() // apart from the handler that answers, whose turn it would take
	} else {
		close(f.done)
	}
	// The reply is there, so the end of the ctx is of no interest any more. Pairs with
	// endsWith, which stores stop first and looks at the state then.
	if stop := f.stop.Load(); stop != nil {
		(*stop)()
	}
}

// letIn answers a sender that waits for something else than a reply: for room, or for a start.
func (f *call) letIn() { f.refuse(nil, waiting) }

// refuse answers a call in state from with an error. It reports false if the call has
// been answered already, or was left.
func (f *call) refuse(err error, from uint32) bool {
	if !f.st.CompareAndSwap(from, replying) {
		return false
	}
	// The reader of err reads it after it has seen answered, or after it was woken.
	f.err = err
	f.foreign = true
	f.signal()
	return true
}

// leave gives up a call, because its caller's ctx or the calling handler has ended, with
// err. It reports false if the call is answered, or was left before.
func (f *call) leave(err error) bool {
	failpoint.At("leave")
	ok := f.claim()
	if ok {
		f.leaving(err)
	}
	return ok
}

// claim is the step of leave that decides: from here on the call is not used again.
func (f *call) claim() bool {
	for { // Stash moves it from taken back to waiting
		from := f.st.Load()
		if from > taken {
			return false
		}
		// From here on no goroutine answers the message: the caller returns, and the worker
		// that takes the message finds that it has left.
		if f.st.CompareAndSwap(from, left) {
			f.from = from
			return true
		}
	}
}

// leaving does the rest of leave; its caller has claimed the call.
func (f *call) leaving(err error) {
	failpoint.At("leaving")
	// Its handler runs, or is about to. It goes on, as its actor's state would be half changed
	// otherwise; but its Ctx is cancelled, so that a handler which looks can stop.
	if f.from == taken {
		g := f.by.Load()
		f.cut(g)
		// g may serve another call by now, which cancelFor finds out under the Ctx's lock.
		if g != nil { // else the call is just being stashed
			g.cancelFor(f, err)
		}
		return
	}
	f.cut(nil)
	// A wait for an end, a start or room: it is in no mailbox.
	if f.env == nil {
		return
	}
	failpoint.At("leave mailbox")
	f.to.mu.Lock()
	// It waits in the mailbox, or is stashed: unlinked here, it gives its place to the next
	// sender immediately, and not when the actor comes to it.
	if f.env.in != nil {
		f.env.unlink()
		// Under the target's mu: a worker that takes messages has it, or finds the call left.
		f.to.cancel()
		f.to.admit()
	}
	// The message behind it may be one that may be handled now, as where only the call chain
	// may come in.
	f.to.unlockWake(nil)
}

// cut takes the caller out of the chain.
func (f *call) cut(g *Ctx) {
	failpoint.Lock(&graph, "cut")
	// Under graph: a walk that has come to this call by now ends before, and the next one finds
	// that no handler waits for it.
	f.caller.Store(nil)
	// The handler goes on without a caller, and so without a chain: calls that it makes cannot
	// come back to the caller any more.
	if g != nil && g.serving.Load() == f {
		g.caller.Store(nil)
	}
	graph.Unlock()
}

// interrupt leaves a call on behalf of its caller.
func (f *call) interrupt(err error) {
	if f.claim() {
		f.gone(err)
	}
}

// gone lets the caller know that its call, which was claimed, was left on its behalf.
func (f *call) gone(err error) {
	f.leaving(err)
	f.err = err
	f.wake()
}

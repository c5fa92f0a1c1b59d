package actor

import (
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
	kid    int // its place in Ctx.kids of the caller's handler, from 1; 0: it is not there; guarded by that Ctx.mu
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
	// Before the caller is woken, which may give f to another call.
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

// letIn answers a sender that waits for something else than a reply: for room, or for a start.
func (f *call) letIn() { f.refuse(nil, waiting) }

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
		// Under the target's mu: a worker that takes messages has it, or finds the call left.
		f.to.loseCancelled()
	}
	f.to.unlockWake(nil)
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

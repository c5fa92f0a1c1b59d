package actor

import (
	"context"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// What a message is. Its envelope is what a mailbox knows of it; runner is the rest, which
// knows the types of request and reply. There are four: tellOf and ask are here, packOf is in
// pack.go, and the messages of timers and watches are a tellOf with a condition. Who may touch
// an envelope: its sender until it is posted, then the holder of the actor's lock, and from
// take on the worker that runs its handler.

// envelope is a message in a mailbox. It is in one list at most; prev, next and in
// are guarded by the actor's lock, the rest is set before it is posted.
type envelope struct {
	// Of a doubly linked list, as messages leave from the middle: callers that go, evictions,
	// messages that pass.
	prev, next *envelope
	in         *list
	m          *method
	run        runner
	call       *call           // nil: no caller waits for a reply
	ctx        context.Context // what the handler's Ctx takes its values and its end from; nil: nothing
	from       *actor          // its sender, in a System of actortest
	exempt     bool            // the limit of the mailbox does not matter, nor does its policy; actor.mu
}

// runner is the part of a message that knows its types.
type runner interface {
	exec(c *Ctx, state any) // runs the handler; calls c.returned as soon as that is over
	request() any
	free() bool     // the message is no longer in use; true: its envelope is for the method's pool
	bundle() bundle // nil: it is a message by itself
}

// list of messages, oldest first.
type list struct{ first, last *envelope }

// push puts a message at the end of the list. It is in no other one.
func (l *list) push(e *envelope) {
	e.in, e.prev, e.next = l, l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

// pushFront is for what comes back: a pack whose rest was not claimed.
func (l *list) pushFront(e *envelope) {
	e.in, e.prev, e.next = l, nil, l.first
	if l.first == nil {
		l.last = e
	} else {
		l.first.prev = e
	}
	l.first = e
}

// unlink takes a message out of its list, wherever it is there.
func (e *envelope) unlink() {
	// in says which list, so that a caller that leaves needs to know neither the priority nor
	// whether the message was put aside.
	l := e.in
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	// in == nil tells a caller that leaves that the message is on its way to a handler, or out
	// of it.
	e.in, e.prev, e.next = nil, nil, nil
}

// takeAll moves all messages of from to the end of l.
func (l *list) takeAll(from *list) {
	for e := from.first; e != nil; e = from.first {
		e.unlink()
		l.push(e)
	}
}

// takeAllFront moves the messages of from in front of those of l, in order.
func (l *list) takeAllFront(from *list) {
	for e := from.last; e != nil; e = from.last {
		e.unlink()
		l.pushFront(e)
	}
}

// tellOf is a message without a reply, with its request.
type tellOf[S, Req, Res any] struct {
	envelope
	of  *Method[S, Req, Res]
	req Req
}

// newTell returns a tell without a request. The other tells that the pool has given with it go
// back to this processor's part of the pool, which costs less than fetching each of them from
// another processor's part.
func (m *Method[S, Req, Res]) newTell() *tellOf[S, Req, Res] {
	e, _ := m.tells.Get().(*envelope)
	if e == nil {
		// Message and envelope are one allocation; run points back at the whole.
		l := &tellOf[S, Req, Res]{of: m}
		l.m, l.run = &m.method, l
		return l
	}
	// The recycler has given back a chain. One is taken, and the rest goes to this processor's
	// part of the pool.
	if more := e.next; more != nil {
		e.next = nil
		m.tells.Put(more)
	}
	return e.run.(*tellOf[S, Req, Res])
}

// A Tell has no caller, so what its handler returns is dropped.
func (l *tellOf[S, Req, Res]) exec(c *Ctx, state any) {
	s, _ := state.(S)
	_, _ = l.of.fn(s, c, l.req)
	c.returned()
}

func (l *tellOf[S, Req, Res]) request() any { return l.req }

func (l *tellOf[S, Req, Res]) bundle() bundle { return nil }

// free lets go of the request and of the values; the envelope itself is used again.
func (l *tellOf[S, Req, Res]) free() bool {
	var zero Req
	l.req, l.ctx = zero, nil
	return true
}

// ask is a message with a reply.
type ask[S, Req, Res any] struct {
	envelope
	f   call
	of  *Method[S, Req, Res]
	req Req
	res Res
}

// ask returns a message for a call that its caller waits for, from the pool of the method. c is
// the handler that calls; nil: none.
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
	k.ctx, k.f.to, k.f.done = base(ctx, c), a, a.sys().waiter()
	return k
}

// apart returns a call whose caller does other things before it waits, if it waits at all. It is not
// pooled.
func (m *Method[S, Req, Res]) apart(ctx context.Context, a *actor, c *Ctx, req Req) *ask[S, Req, Res] {
	// The reply, the state of the call and the envelope in one allocation.
	k := &ask[S, Req, Res]{of: m, req: req}
	k.m, k.run, k.call, k.f.env = &m.method, k, &k.f, &k.envelope
	k.f.caller.Store(c)
	k.ctx, k.f.to = base(ctx, c), a
	c.mark(&k.f)
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

// valuesOf returns the values of ctx, without its deadline and its end, for the handler of a Tell; nil:
// there are none. c is the handler that ctx belongs to.
func valuesOf(ctx context.Context, c *Ctx) context.Context {
	switch {
	case ctx == context.TODO() || ctx == context.Background():
		return nil
	case c == nil:
		// From outside: its values, as they are.
	case ctx != context.Context(c):
		c.keep() // by way of c, ctx finds the values of the call that c serves
		return context.WithoutCancel(ctx)
	case c.st.Load() == live: // with a ctx to serve, it would be slow
		return nil
	default:
		// A timeout or a call in progress has marked the Ctx, but there is nothing to take
		// values from.
		if ctx = c.served(); ctx == nil {
			return nil
		}
	}
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// exec runs the handler and answers the caller, with the reply in the message itself: it goes
// through no mailbox, so a full one never delays it.
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

func (k *ask[S, Req, Res]) request() any { return k.req }

func (k *ask[S, Req, Res]) bundle() bundle { return nil }

func (k *ask[S, Req, Res]) free() bool { return false } // its caller gives it back

// result returns the answer, and gives back the message that it came in.
func (k *ask[S, Req, Res]) result(s *System) (res Res, err error) {
	if k.f.foreign { // then res was not written, and an abandoned handler may not write it either
		return res, k.f.err
	}
	res, err = k.res, k.f.err
	k.giveBack(s)
	return res, err
}

// drop gives back a call that was not posted because of err. It returns err, or the error of
// unwait if unwait has ended the call before.
func (k *ask[S, Req, Res]) drop(s *System, err error) error {
	if !k.f.claim() {
		<-k.f.done // or the waiter's next call would be woken
		err = k.f.err
	}
	k.giveBack(s)
	return err
}

// giveBack is called by the goroutine that waited, after the answer.
func (k *ask[S, Req, Res]) giveBack(s *System) {
	s.waiters.Put(k.f.done)
	// Not kept in the pool: a request or a reply may hold on to much of the user's memory.
	var req Req
	var res Res
	k.req, k.res = req, res
	// A walk may still have this call from before its caller went on: it finds a call without
	// caller and handler.
	k.f.caller.Store(nil)
	k.ctx, k.f.to, k.f.err, k.f.done, k.f.inChain, k.f.foreign = nil, nil, nil, nil, false, false
	k.f.by.Store(nil)
	// Last: the next caller may have it before Put returns.
	k.of.asks.Put(k)
}

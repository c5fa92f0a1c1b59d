package actor

import (
	"context"
	"slices"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The entrance for engines that get messages from other processes: by name of the method, with
// an encoded request, and without a goroutine that waits. What counts is the order: a message
// has its place when Deliver returns.

// AnyMethod is every *Method of a state, whatever its request and reply.
type AnyMethod[S any] interface {
	Name() string
	// Deliver sends a message whose request comes encoded: decode gets a pointer to a request. It is
	// a Tell or, if tell is false, a Start. The message has its place, in the mailbox or among those
	// that wait for room, before Deliver returns; so the order of calls of Deliver is that of the
	// messages. done is called once: for a Tell when the message is accepted or refused, otherwise
	// with the reply, which is a value and not a pointer. It may be called before Deliver returns, or
	// on another goroutine.
	Deliver(ctx context.Context, to Ref[S], tell bool, decode func(req any) error, done func(reply any, err error))
}

// Deliver implements AnyMethod.
func (m *Method[S, Req, Res]) Deliver(ctx context.Context, to Ref[S], tell bool, decode func(req any) error, done func(reply any, err error)) {
	// On the stack of this call: decode fills it.
	var req Req
	// Nothing was sent yet, so the peer may send it again once it can encode it.
	if err := decode(&req); err != nil {
		done(nil, notSent(err))
		return
	}
	c, err := sender(ctx)
	// As in Tell and Call, an actor of a key that ends in between is asked for again. A loop,
	// because done must be called once.
	for err == nil {
		var a *actor
		if a, err = to.actor(ctx, c); a == nil {
			m.deliverAway(ctx, to, tell, req, err, done)
			return
		}
		// Accepted, or waiting for room: done is called by what comes of it.
		if err = m.deliver(ctx, a, c, tell, req, done); err == nil {
			return
		}
		// nil: the actor of the key has ended, and the loop asks for its next activation.
		if err = to.awaitNext(ctx, c, a, err); err != nil {
			err = a.refused(err)
		}
	}
	done(nil, err)
}

// deliver sends a message to an actor that is here; an error means that it was refused, and that done
// will not be called.
func (m *Method[S, Req, Res]) deliver(ctx context.Context, a *actor, c *Ctx, tell bool, req Req, done func(any, error)) error {
	if err := ctxErr(ctx, c); err != nil {
		return err
	}
	var e *envelope
	var f *call // nil: it is a Tell
	// A Tell is done when it is accepted; then nothing is left to call back.
	if tell {
		l := m.newTell()
		l.req, l.ctx = req, valuesOf(ctx, c)
		e = &l.envelope
	} else {
		// Not pooled, since its reply may come after everything here has returned.
		k := m.apart(ctx, a, c, req)
		// Before the post: the answer may come before post returns.
		k.f.then = func() { k.delivered(c, done) }
		e, f = &k.envelope, &k.f
		// No goroutine waits here, but the handler at the other end does: c stands for
		// it, and so a cycle through this process is seen.
		if err := c.waitsFor(f); err != nil {
			return err
		}
	}
	// posted goes on after the message was accepted, or refused with err. It returns err, unless done
	// was called or will be.
	posted := func(err error) error {
		switch {
		case err != nil && f != nil:
			// The call was not accepted, so it waits for nothing.
			c.noWait(f)
			// Claimed, as unwait may end the call at the same time, and would call done as well.
			if !f.claim() {
				return nil // unwait has answered it
			}
		case err != nil:
			e.over()
		case f != nil:
			// From now on the end of ctx ends the call.
			f.endsWith(e.ctx, c)
		default:
			done(nil, nil)
		}
		return err
	}
	// The place of the message is decided by the next step, in the order in which the goroutine
	// that reads from the network calls Deliver. So that step must be on this goroutine,
	// however long the message has to wait after it.
	failpoint.At("deliver")
	err := a.post(e, c, fromSender)
	if err == errWait {
		var r *roomer
		if r, err = a.askRoom(ctx, c, e); r != nil {
			go func() { // the message has its place, and the caller has others to deliver
				if err := posted(a.awaitRoom(ctx, c, r)); err != nil {
					done(nil, a.refused(err))
				}
			}()
			return nil
		}
	}
	return posted(err)
}

// delivered calls done with the reply.
func (k *ask[S, Req, Res]) delivered(c *Ctx, done func(any, error)) {
	s := k.f.to.sys()
	// Here and not in the handler that replies: that one has answered the call, which ends the
	// edge already.
	c.noWait(&k.f)
	if c != nil {
		c.dropKid(&k.f)
	}
	// done is the code of an engine, which may panic. This goroutine is its own, so it may also
	// take its time.
	s.hookHere("Deliver", func() {
		var none Res
		// As in Future.Wait: res belongs to the handler unless the handler has answered.
		if k.f.st.Load() == left || k.f.foreign {
			done(none, k.f.err)
		} else {
			done(k.res, k.f.err)
		}
	})
}

// deliverAway is Deliver where find has found no actor here.
func (m *Method[S, Req, Res]) deliverAway(ctx context.Context, to Ref[S], tell bool, req Req, err error, done func(any, error)) {
	if tell || err != nil {
		_, err = to.away(ctx, m.name, req, nil, err)
		done(nil, err)
		return
	}
	// The actor has moved on to another process: this one passes the message on, and the reply
	// back.
	f := m.startAway(ctx, to, req, nil)
	go func() {
		res, err := f.Wait(ctx)
		done(res, err)
	}()
}

// Handler returns the handler that ctx belongs to, and the names of the actors whose handlers wait
// for it: the outermost first, its own last. nil: ctx belongs to none.
func Handler(ctx context.Context) (c *Ctx, waiting []string) {
	c, err := sender(ctx)
	if c == nil || err != nil {
		return nil, nil
	}
	// Under graph, as callers are cut out of the chain under it: what is read here is one
	// chain.
	failpoint.Lock(&graph, "handler")
	for p := c; p != nil; p = p.caller.Load() {
		if a := p.a.Load(); a != nil {
			waiting = append(waiting, a.name)
		}
	}
	graph.Unlock()
	slices.Reverse(waiting)
	return c, waiting
}

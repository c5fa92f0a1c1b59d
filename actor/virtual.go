package actor

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A Ref by identity has no actor in it. For each message find asks who the actor is now; if
// that one ends just then, awaitNext waits for its end, and the message goes to the next. Where
// the actor is in another process, the message goes away through the Carrier.

// Carrier finds actors by identity, and takes messages to those in other processes. It is for those
// who write an engine; a Kind is the one for a single process. Its methods are called by the goroutine
// that sends, with the ctx of the message. A Carrier has to be comparable.
type Carrier interface {
	// Here returns the Ref[S] of the actor if it is in this process, or was started now; nil: it is
	// elsewhere. An error means that the message is not sent. If the Ref refuses the message
	// because its actor has ended, Here is called again once the actor is gone.
	//
	// For a handler that Here lets wait, it should use Ctx.Await: see Handler.
	Here(ctx context.Context, id Identity) (ref any, err error)
	// Send sends a message to an actor that is elsewhere, in the order of the calls of Send. reply is
	// a pointer to where the reply belongs; nil: the message is a Tell, and wait is nil. wait waits
	// for the reply, or for the end of ctx.
	Send(ctx context.Context, id Identity, method string, req, reply any) (wait func() error, err error)
}

// actor is find for any Ref: most have their actor.
func (r Ref[S]) actor(ctx context.Context, c *Ctx) (*actor, error) {
	if r.a != nil {
		return r.a, nil
	}
	return r.find(ctx, c)
}

// find returns the actor that r stands for now; nil without an error: it is in another process. c
// is the handler that sends. The caller knows that r.a is nil.
func (r Ref[S]) find(ctx context.Context, c *Ctx) (*actor, error) {
	// The zero Ref, an actor that has ended.
	if r.v == nobody {
		return nil, errClosed
	}
	// A handle of package unique is one word: so a Ref stays small and comparable, however long
	// key and kind are.
	v := r.v.Value()
	// The engine of a single process, without a call through the interface and without a Ref on
	// the way: this is on the path of each message.
	if k, ok := v.via.(*Kind[S]); ok {
		return k.find(ctx, c, v.id.Key)
	}
	at, err := v.via.Here(ctx, v.id)
	if err != nil || at == nil {
		return nil, err
	}
	// A Carrier knows kinds and keys, and no types. One that returns the Ref of another state
	// is an error of the program, and no actor gets the message.
	ref, ok := at.(Ref[S])
	if !ok {
		return nil, notSent(fmt.Errorf("%w: %v is a %T", ErrStopped, v.id, at))
	}
	if ref.a == nil {
		return nil, errClosed
	}
	return ref.a, nil
}

// awaitNext waits until r may stand for another actor than a, which has refused a message with err because
// it ends. An error means that the message is refused: r is a itself, the System ends and not a, or
// the wait has ended. c, the handler that sends, waits for the end of a as in Ref.Stop.
func (r Ref[S]) awaitNext(ctx context.Context, c *Ctx, a *actor, err error) error {
	// Only the end of the actor is a reason to ask again: a full mailbox, a deadlock and a
	// System that ends are answers. errClosed of an actor that does not end itself is the
	// System's.
	if err != errClosed || r.v == nobody || !a.is((*actor).refuses) {
		return err
	}
	failpoint.At("await next")
	select {
	case <-a.ended():
	default:
		// The next activation begins when this one has ended: its name has to be free, and its
		// last words may save what the next one loads.
		return a.awaitDone(ctx, c)
	}
	if _, ok := r.v.Value().via.(*Kind[S]); ok {
		return nil // a Kind has forgotten the actor before the end
	}
	nap, cancel := context.WithTimeout(ctx, time.Millisecond) // another Carrier may not know yet
	defer cancel()
	// As any wait of a handler, without its slot: the Carrier may need that slot to learn of
	// the end.
	_ = c.rest(nap, nil, nil)
	return ctx.Err()
}

// away sends a message to the actor of r, which find has not found here: because of err, if that is set. reply
// and wait are those of Carrier.Send.
func (r Ref[S]) away(ctx context.Context, method string, req, reply any, err error) (wait func() error, _ error) {
	if err != nil {
		return nil, err
	}
	v := r.v.Value()
	return v.via.Send(ctx, v.id, method, req, reply)
}

// callAway is Call where find has found no actor here.
func (m *Method[S, Req, Res]) callAway(ctx context.Context, c *Ctx, to Ref[S], req Req, err error) (res Res, _ error) {
	call := func() error {
		wait, err := to.away(ctx, m.name, req, &res, err)
		if err != nil {
			return err
		}
		return wait()
	}
	if c != nil && err == nil {
		err = c.Await(call) // the reply comes from another process: here the handler only waits
	} else {
		err = call()
	}
	return res, err
}

// startAway is Start where find has found no actor here.
func (m *Method[S, Req, Res]) startAway(ctx context.Context, to Ref[S], req Req, err error) *Future[Res] {
	f := &Future[Res]{f: &call{done: make(chan struct{})}, res: new(Res)}
	wait, err := to.away(ctx, m.name, req, f.res, err)
	if err != nil {
		return &Future[Res]{err: err}
	}
	// wait may take as long as the network does, and a Future has no goroutine until Wait is called.
	go func() {
		f.f.err = wait()
		f.f.signal()
	}()
	return f
}

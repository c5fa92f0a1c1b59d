package actor

import (
	"context"
	"unique"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Ref stands for an actor with the state S. It is a small value, comparable, and stays
// valid through restarts. The Ref of a Kind stands for whichever actor has the key. The zero Ref
// is an actor that has ended. Its methods are safe for concurrent use.
type Ref[S any] struct {
	a *actor
	v unique.Handle[virtual] // of an actor that is found by identity: then a is nil
}

// Lookup returns the actor with a name; false: there is none, or its state is of another
// type than S.
func Lookup[S any](s *System, name string) (Ref[S], bool) {
	a := s.names.get(name)
	// The kind is the type of the state: an actor of another one has no such Ref.
	if a == nil || a.kind != kindOf[S]() {
		return Ref[S]{}, false
	}
	a.mu.Lock()
	// Not before its start has succeeded: until then it may come to nothing.
	ok := a.life != starting && !a.over()
	a.mu.Unlock()
	if !ok {
		return Ref[S]{}, false
	}
	return Ref[S]{a: a}, true
}

// Self returns the actor whose handler runs; false: its state is of another type than
// S, or c is stale.
func Self[S any](c *Ctx) (Ref[S], bool) {
	a := c.a.Load()
	if a == nil || !c.valid() || a.kind != kindOf[S]() {
		return Ref[S]{}, false
	}
	return Ref[S]{a: a}, true
}

// Name of the actor; "" of the zero Ref.
func (r Ref[S]) Name() string {
	switch {
	case r.a != nil:
		return r.a.name
	case r.v != nobody:
		return r.v.Value().id.String()
	}
	return ""
}

// Len is how many messages wait; 0 of the Ref of a Kind.
func (r Ref[S]) Len() int { return r.a.length() }

// Done is closed when the actor has ended permanently; nil, which is never closed, of the Ref of a
// Kind.
func (r Ref[S]) Done() <-chan struct{} {
	if r.v != nobody {
		return nil
	}
	return r.a.ended()
}

// Err is why the actor has ended, once Done is closed: nil after Stop, Shutdown and
// c.Stop(nil); ErrStopped after Kill, Close and the end of its parent; otherwise the
// failure, or the error given to c.Stop. Before that it is nil, and for ever of the Ref of a Kind.
func (r Ref[S]) Err() error {
	if r.v != nobody {
		return nil
	}
	return r.a.err()
}

// Stop lets the actor handle the messages in its mailbox and end. It waits for that, or
// until ctx ends; the actor ends in any case. From now on the actor accepts no message.
// It does nothing to the actor of a Kind; nor does Kill.
func (r Ref[S]) Stop(ctx context.Context) error { return r.a.stop(ctx) }

// Kill ends the actor after the handlers in progress; waiting messages become dead
// letters.
func (r Ref[S]) Kill() {
	if r.a != nil {
		r.a.terminate(ErrStopped)
	}
}

func (a *actor) length() int {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(a.waits())
}

func (a *actor) ended() <-chan struct{} {
	if a == nil {
		return closedChan
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done == nil {
		a.done = make(chan struct{}) // finish sets closedChan if there is none by then
	}
	return a.done
}

func (a *actor) err() error {
	if a == nil {
		return ErrStopped
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life != gone {
		return nil
	}
	return a.x.err
}

// stop is Stop of a Ref and of a Supervisor.
func (a *actor) stop(ctx context.Context) error {
	if a == nil {
		return nil
	}
	c, err := sender(ctx)
	if err != nil {
		return err
	}
	failpoint.At("stop")
	a.mu.Lock()
	// Whatever state it is in: an incarnation that comes later works the mailbox off, and then
	// the actor ends.
	a.draining = true
	a.unlockWake(c)
	return a.awaitDone(ctx, c)
}

// awaitDone waits until the actor has ended, or ctx ends. c, which may be nil, is the handler that
// waits: for all handlers of the actor and of its descendants, by the rule of deadlocks.
func (a *actor) awaitDone(ctx context.Context, c *Ctx) error {
	// The wait is a call without a message, so the rule of deadlocks sees it; many is closed if
	// unwait ends it.
	f := &call{to: a, ends: true, many: make(chan struct{})}
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

package actor

import (
	"context"
	"errors"
	"unique"
)

// What a program holds of an actor: the actor itself or, for one by identity, what it is found by.
// Both are values that can be compared. One that is kept after the end keeps the actor's memory,
// but neither its state nor its siblings.

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
	// Not before its start has succeeded: until then it may come to nothing.
	there := func(a *actor) bool { return a.life != starting && !a.over() }
	// The kind is the type of the state: an actor of another one has no such Ref.
	if a := s.names.get(name); a != nil && a.kind == kind(kindOf[S]{}) && a.is(there) {
		return Ref[S]{a: a}, true
	}
	return Ref[S]{}, false
}

// Self returns the actor whose handler runs; false: its state is of another type than
// S, or c is stale.
func Self[S any](c *Ctx) (Ref[S], bool) {
	if a := c.a.Load(); a != nil && c.valid() && a.kind == kind(kindOf[S]{}) {
		return Ref[S]{a: a}, true
	}
	return Ref[S]{}, false
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

// AfterFunc calls f once, on a separate goroutine, when the actor has ended permanently: Done is closed, and the
// name is free. It is for one that follows many actors, and would need a goroutine for each to wait for Done.
// Panics of f are logged. The Ref of a Kind, which never ends, never calls f.
func (r Ref[S]) AfterFunc(f func()) {
	if r.v == nobody {
		r.a.afterFunc(f)
	}
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

// Identity of an actor that is found by what it is, wherever it runs.
type Identity struct{ Kind, Key string }

// String returns "kind/key", which is the name of the actor.
func (i Identity) String() string { return i.Kind + "/" + i.Key }

// virtual is what a Ref by identity stands for.
type virtual struct {
	via Carrier
	id  Identity
}

// nobody is the handle in a Ref that is not by identity.
var nobody unique.Handle[virtual]

// Virtual returns the Ref of the actor that via finds for id. Two of them are == if via and id are.
func Virtual[S any](via Carrier, id Identity) Ref[S] { return Ref[S]{v: unique.Make(virtual{via, id})} }

// Key of an actor that is found by identity; "" of others.
func (r Ref[S]) Key() string {
	if r.v == nobody {
		return ""
	}
	return r.v.Value().id.Key
}

// MarshalText refuses: a Ref means nothing in another process.
func (r Ref[S]) MarshalText() ([]byte, error) {
	return nil, errors.New("actor: a Ref cannot be encoded: send the actor's key or name")
}

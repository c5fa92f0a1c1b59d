package firqnats

import (
	"context"
	"errors"
	"strings"

	"github.com/firq-go/firq/actor"
)

// State of an actor, which outlives its activations. Use it in the actor's handlers only, as the rest of
// the actor's state.
type State[T any] struct {
	Value T
	a     *activation
}

// Load returns the state of an actor as it was saved last, the zero T if nothing was. It works in the start
// of a Kind.
func Load[T any](c *actor.Ctx) (*State[T], error) {
	kind, key, _ := strings.Cut(c.Name(), "/")
	var a *activation
	if n, ok := systems.Load(c.System()); ok {
		n := n.(*Node)
		n.mu.RLock()
		a = n.acts[actor.Identity{Kind: kind, Key: key}]
		n.mu.RUnlock()
		if a == nil && n.kindOf(kind) != nil {
			return nil, ErrFenced // in this moment
		}
	}
	if a == nil || !a.loading.Load() {
		return nil, invalid("Load: not in the start of a Kind, but in %q", c.Name())
	}
	s := &State[T]{a: a}
	if !a.own.saved {
		return s, nil
	}
	return s, guard(func() error { return a.n.o.Codec.Decode(a.own.state, &s.Value) })
}

func (n *Node) kindOf(name string) kindOf {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.kinds[name]
}

// Saved reports whether there is a saved state.
func (s *State[T]) Saved() bool {
	s.a.own.mu.Lock()
	defer s.a.own.mu.Unlock()
	return s.a.own.saved
}

// Fence is a number that is greater than that of all earlier activations of the actor. Give it to what the
// actor writes to outside of the cluster, which then can refuse an activation that is none any more.
func (s *State[T]) Fence() uint64 { return s.a.own.fence }

// Save saves Value. It gives up the slot, as Ctx.Await does. nil: it is saved. ErrFenced: another activation
// has taken over; ErrUnsaved: ctx has ended, or Options.Timeout is over, before it was known whether Value
// is saved. Both end this activation. With another error, as for a state that is larger than the server
// allows, what was saved before stays.
func (s *State[T]) Save(ctx context.Context) error {
	var b []byte
	err := guard(func() (err error) { b, err = s.a.n.o.Codec.Encode(s.Value); return err })
	if err != nil {
		return err
	}
	return s.put(ctx, b, true)
}

// Clear forgets what was saved, as Save does it.
func (s *State[T]) Clear(ctx context.Context) error { return s.put(ctx, nil, false) }

func (s *State[T]) put(ctx context.Context, b []byte, has bool) (err error) {
	o := &s.a.own
	o.turn.Lock()
	o.next++
	number := o.next
	o.turn.Unlock()
	c, _ := actor.Handler(ctx)
	if c == nil {
		err = s.a.write(ctx, number, b, has)
	} else {
		err = c.Await(func() error { return s.a.write(ctx, number, b, has) })
	}
	if !errors.Is(err, ErrFenced) && !errors.Is(err, ErrUnsaved) {
		return err
	}
	if c != nil && c.Name() == s.a.id.String() {
		c.Stop(err)
	} else {
		s.a.stop(err)
	}
	return err
}

package firqnats

import (
	"context"
	"fmt"
	"slices"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

// Kind is a kind of actors of a cluster. Its methods are safe for concurrent use.
type Kind[S any] struct {
	n       *Node
	name    string
	start   func(*actor.Ctx, string) (S, error)
	methods map[string]actor.AnyMethod[S]
	opts    []actor.Option
	stop    *actor.Method[S, error, actor.Nothing] // ends an actor with an error
}

// kindOf is a Kind, whatever its state.
type kindOf interface {
	hosts() bool
	spawn(a *activation) (body, error)
	deliver(ctx context.Context, a *activation, in *incoming, done func(reply any, err error)) error
}

// body is the actor of an activation: a Ref, whatever its state.
type body interface {
	AfterFunc(f func())
	Stop(context.Context) error
	Kill()
	Err() error
	Len() int
}

// NewKind makes a kind known to this node: the cluster may activate its actors here. start makes the state
// of the actor with a key, which Load returns as it was saved last; nil: this node sends only. methods are
// those that other nodes may call. opts are as for actor.Spawn; with actor.WithIdle an actor that is idle
// ends, and the next message starts it again, perhaps on another node.
func NewKind[S any](n *Node, name string, start func(c *actor.Ctx, key string) (S, error), methods []actor.AnyMethod[S], opts ...actor.Option) (*Kind[S], error) {
	if n == nil || !nameOK.MatchString(name) {
		return nil, invalid("NewKind: the node is nil, or the name %q is not 1 to 64 of A-Z a-z 0-9 _ -", name)
	}
	k := &Kind[S]{n: n, name: name, start: start, methods: map[string]actor.AnyMethod[S]{}, opts: slices.Clone(opts)}
	for i, m := range methods {
		switch {
		case m == nil || m.Name() == "":
			return nil, invalid("NewKind %s: method %d is nil", name, i)
		case k.methods[m.Name()] != nil:
			return nil, invalid("NewKind %s: two methods have the name %q", name, m.Name())
		}
		k.methods[m.Name()] = m
	}
	k.stop = actor.NewAction("firqnats.stop", func(_ S, c *actor.Ctx, why error) error { c.Stop(why); return nil },
		actor.WithPriority(firq.PriorityCritical))
	if start != nil {
		if _, err := actor.NewKind(n.sys, name, start, opts...); err != nil { // checks the options
			return nil, err
		}
	}
	n.mu.Lock()
	if n.stage != stageIn {
		n.mu.Unlock()
		return nil, errLeft
	}
	if n.kinds[name] != nil {
		n.mu.Unlock()
		return nil, fmt.Errorf("%w: the kind %q", actor.ErrNameTaken, name)
	}
	n.kinds[name] = k
	self := n.members[n.ID()]
	if self != nil && n.holds(k) { // this node knows it immediately, and the others when it is in the record
		self.Kinds = append(slices.Clip(self.Kinds), name)
	}
	n.mu.Unlock()
	soon, end := context.WithTimeout(n.ctx, n.o.Lease)
	defer end()
	n.renew(soon)
	return k, nil
}

// Ref of the actor with a key: any string is one. It never ends, and two of a key are ==.
func (k *Kind[S]) Ref(key string) actor.Ref[S] {
	return actor.Virtual[S](k, actor.Identity{Kind: k.name, Key: key})
}

func (k *Kind[S]) hosts() bool { return k.start != nil }

func (k *Kind[S]) spawn(a *activation) (body, error) {
	ref, err := actor.Spawn(k.n.sys, a.id.String(), func(c *actor.Ctx) (S, error) {
		defer a.loading.Store(false)
		a.loading.Store(true)
		return k.start(c, a.id.Key)
	}, k.opts...)
	if err != nil {
		return nil, err
	}
	a.ref, a.kill = ref, func(why error) {
		if k.stop.Tell(context.Background(), ref, why) != nil {
			ref.Kill()
		}
	}
	return ref, nil
}

func (k *Kind[S]) deliver(ctx context.Context, a *activation, in *incoming, done func(reply any, err error)) error {
	m := k.methods[in.method]
	if m == nil {
		return notSent(fmt.Errorf("%w: %s has no method %q", ErrUnknown, k.name, in.method))
	}
	decode := func(v any) error { return guard(func() error { return k.n.o.Codec.Decode(in.data, v) }) }
	m.Deliver(ctx, a.ref.(actor.Ref[S]), in.op == opTell, decode, done)
	return nil
}

// Here implements actor.Carrier: it returns the actor if it is on this node, or belongs there.
func (k *Kind[S]) Here(ctx context.Context, id actor.Identity) (ref any, err error) {
	n := k.n
	if n.life.Load().holds() {
		n.mu.RLock()
		a := n.acts[id]
		n.mu.RUnlock()
		if a != nil && a.state.Load() == uint32(actActive) && a.lane.Load() == nil {
			return a.ref, nil
		}
	}
	if c, _ := actor.Handler(ctx); c != nil {
		err := c.Await(func() (err error) { ref, err = n.here(ctx, k, id); return err })
		return ref, err
	}
	return n.here(ctx, k, id)
}

// Send implements actor.Carrier.
func (k *Kind[S]) Send(ctx context.Context, id actor.Identity, method string, req, reply any) (wait func() error, err error) {
	n := k.n
	data, err := n.o.Codec.Encode(req)
	if err != nil {
		return nil, notSent(err)
	}
	o, err := n.send(ctx, id, method, data, reply == nil)
	if err != nil || reply == nil {
		return nil, err
	}
	return func() error {
		if err := n.wait(o); err != nil {
			return err
		}
		return n.o.Codec.Decode(o.reply, reply)
	}, nil
}

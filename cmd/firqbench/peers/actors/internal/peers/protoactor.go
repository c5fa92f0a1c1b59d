package peers

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// protoactor has a system with the default of everything.
type protoactor struct{ s *actor.ActorSystem }

func newProtoactor() (System, error) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	return &protoactor{actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))}, nil
}

func (s *protoactor) Close() error {
	s.s.Shutdown()
	return nil
}

type protoactorKind struct {
	s     *protoactor
	h     Handler
	props *actor.Props
}

func (s *protoactor) Kind(h Handler) Kind {
	k := &protoactorKind{s: s, h: h}
	k.props = actor.PropsFromProducer(k.produce)
	return k
}

// protoactorActor is the state of an actor, and what its handler gets.
type protoactorActor struct {
	k *protoactorKind
	c actor.Context // of the message that is handled
}

func (k *protoactorKind) produce() actor.Actor { return &protoactorActor{k: k} }
func (k *protoactorKind) State() any           { return k.produce() }

func (k *protoactorKind) Spawn(name string, _ int) (Ref, error) {
	pid, err := k.s.s.Root.SpawnNamed(k.props, name)
	if err != nil {
		return nil, err
	}
	return &protoactorRef{k.s.s.Root, pid}, nil
}

func (a *protoactorActor) Receive(c actor.Context) {
	if m, ok := c.Message().(*Msg); ok {
		a.c = c
		a.k.h(a, m)
	}
}

func (a *protoactorActor) Reply(m *Msg) { a.c.Respond(m) }

func (a *protoactorActor) Tell(to Ref, m *Msg) error {
	a.c.Send(to.(*protoactorRef).pid, m) //nolint:forcetypeassert // there are no others
	return nil
}

func (a *protoactorActor) Call(to Ref, m *Msg, timeout time.Duration) (*Msg, error) {
	return protoactorReply(a.c.RequestFuture(to.(*protoactorRef).pid, m, timeout)) //nolint:forcetypeassert // as above
}

func protoactorReply(f actor.Future) (*Msg, error) {
	v, err := f.Result()
	if errors.Is(err, actor.ErrTimeout) {
		return nil, ErrTimeout
	} else if err != nil {
		return nil, err
	}
	if m, ok := v.(*Msg); ok {
		return m, nil
	}
	return nil, fmt.Errorf("protoactor: a reply of type %T", v)
}

type protoactorRef struct {
	root *actor.RootContext
	pid  *actor.PID
}

func (r *protoactorRef) Tell(m *Msg) error {
	r.root.Send(r.pid, m)
	return nil
}

func (r *protoactorRef) Call(m *Msg) (*Msg, error) {
	return protoactorReply(r.root.RequestFuture(r.pid, m, Patience))
}

func (r *protoactorRef) CallQueued(m *Msg) (*Msg, error) { return r.Call(m) }

// Stop sends a pill that is handled after what is in the mailbox.
func (r *protoactorRef) Stop() (wait func() error) { return r.root.PoisonFuture(r.pid).Wait }

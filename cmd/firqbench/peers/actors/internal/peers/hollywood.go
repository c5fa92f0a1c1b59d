package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/anthdm/hollywood/actor"
)

// hollywood has an engine, whose actors all have the default of everything but the size of their inbox: the default
// of 1,024 would count against it where memory is measured, and an inbox grows when it has to.
type hollywood struct{ engine *actor.Engine }

// hollywoodInbox is the size that an inbox starts with.
const hollywoodInbox = 16

// newHollywood also silences slog's default logger, which is the only one that hollywood knows.
func newHollywood() (System, error) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	e, err := actor.NewEngine(actor.NewEngineConfig())
	return &hollywood{e}, err
}

// Close does nothing: an engine cannot be closed.
func (*hollywood) Close() error { return nil }

type hollywoodKind struct {
	s *hollywood
	h Handler
}

func (s *hollywood) Kind(h Handler) Kind { return &hollywoodKind{s, h} }

// hollywoodActor is the state of an actor, and what its handler gets.
type hollywoodActor struct {
	k *hollywoodKind
	c *actor.Context // of the message that is handled
}

func (k *hollywoodKind) produce() actor.Receiver { return &hollywoodActor{k: k} }
func (k *hollywoodKind) State() any              { return k.produce() }

func (k *hollywoodKind) Spawn(name string, _ int) (Ref, error) {
	pid := k.s.engine.Spawn(k.produce, "a", actor.WithID(name), actor.WithInboxSize(hollywoodInbox))
	return &hollywoodRef{k.s.engine, pid}, nil
}

func (a *hollywoodActor) Receive(c *actor.Context) {
	if m, ok := c.Message().(*Msg); ok {
		a.c = c
		a.k.h(a, m)
	}
}

func (a *hollywoodActor) Reply(m *Msg) { a.c.Respond(m) }

func (a *hollywoodActor) Tell(to Ref, m *Msg) error {
	a.c.Send(to.(*hollywoodRef).pid, m) //nolint:forcetypeassert // there are no others
	return nil
}

func (a *hollywoodActor) Call(to Ref, m *Msg, timeout time.Duration) (*Msg, error) {
	return hollywoodReply(a.c.Request(to.(*hollywoodRef).pid, m, timeout)) //nolint:forcetypeassert // as above
}

func hollywoodReply(r *actor.Response) (*Msg, error) {
	v, err := r.Result()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, ErrTimeout
	} else if err != nil {
		return nil, err
	}
	if m, ok := v.(*Msg); ok {
		return m, nil
	}
	return nil, fmt.Errorf("hollywood: a reply of type %T", v)
}

type hollywoodRef struct {
	engine *actor.Engine
	pid    *actor.PID
}

func (r *hollywoodRef) Tell(m *Msg) error {
	r.engine.Send(r.pid, m)
	return nil
}

func (r *hollywoodRef) Call(m *Msg) (*Msg, error) {
	return hollywoodReply(r.engine.Request(r.pid, m, Patience))
}

func (r *hollywoodRef) CallQueued(m *Msg) (*Msg, error) { return r.Call(m) }

// Stop sends a pill that is handled after what is in the inbox.
func (r *hollywoodRef) Stop() (wait func() error) {
	ended := r.engine.Poison(r.pid)
	return func() error { <-ended.Done(); return nil }
}

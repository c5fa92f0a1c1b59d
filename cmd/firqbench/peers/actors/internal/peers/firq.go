package peers

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq/actor"
)

// firqSystem has a System with the default of everything.
type firqSystem struct{ s *actor.System }

// queued is a context that could end: a call with it cannot run on the goroutine of a caller that has to be able to
// leave; it never does. A call with its own context for each, as a deadline needs, would measure package context as well.
var queued, _ = context.WithCancel(context.Background())

func newFirq() (System, error) {
	s, err := actor.New(actor.Config{})
	return &firqSystem{s}, err
}

func (s *firqSystem) Close() error { return s.s.Close() }

type firqKind struct {
	s     *firqSystem
	h     Handler
	start func(*actor.Ctx) (*firqActor, error)
}

func (s *firqSystem) Kind(h Handler) Kind {
	k := &firqKind{s: s, h: h}
	k.start = func(*actor.Ctx) (*firqActor, error) { return &firqActor{k: k}, nil }
	return k
}

// firqActor is the state of an actor, and what its handler gets.
type firqActor struct {
	k     *firqKind
	c     *actor.Ctx // of the message that is handled
	reply *Msg
}

// message is set in init, because its handler uses it.
var message *actor.Method[*firqActor, *Msg, *Msg]

func init() { message = actor.NewMethod("message", (*firqActor).handle) }

func (a *firqActor) handle(c *actor.Ctx, m *Msg) (*Msg, error) {
	a.c, a.reply = c, nil
	a.k.h(a, m)
	return a.reply, nil
}

func (k *firqKind) State() any { return &firqActor{k: k} }

func (k *firqKind) Spawn(name string, _ int) (Ref, error) {
	r, err := actor.Spawn(k.s.s, name, k.start)
	if err != nil {
		return nil, err
	}
	return &firqRef{r}, nil
}

func (a *firqActor) Reply(m *Msg) { a.reply = m }

func (a *firqActor) Tell(to Ref, m *Msg) error {
	return message.Tell(a.c, to.(*firqRef).r, m) //nolint:forcetypeassert // there are no others
}

func (a *firqActor) Call(to Ref, m *Msg, timeout time.Duration) (*Msg, error) {
	ctx, cancel := context.WithTimeout(a.c, timeout)
	defer cancel()
	res, err := message.Call(ctx, to.(*firqRef).r, m) //nolint:forcetypeassert // as above
	if errors.Is(err, context.DeadlineExceeded) {
		err = ErrTimeout
	}
	return res, err
}

type firqRef struct{ r actor.Ref[*firqActor] }

func (r *firqRef) Tell(m *Msg) error { return message.Tell(context.Background(), r.r, m) }

func (r *firqRef) Call(m *Msg) (*Msg, error) { return message.Call(context.Background(), r.r, m) }

func (r *firqRef) CallQueued(m *Msg) (*Msg, error) { return message.Call(queued, r.r, m) }

// Stop waits for each actor's end before it returns, as it is made to; the peers may do it for all together.
func (r *firqRef) Stop() (wait func() error) {
	if err := r.r.Stop(context.Background()); err != nil {
		return func() error { return err }
	}
	return nil
}

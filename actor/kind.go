package actor

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Actors by key in one process. A key is in one of two maps: live, those whose start has
// succeeded and that have not ended; and starts, those whose start is in progress or has
// failed. The step from one to the other is made under the Kind's lock, so a sender finds the
// key in one of them, or in neither, and then it starts the actor itself. The rest, end and
// passivation, is that of any actor: forget takes it out.

// Kind is a kind of actors that are found by a key. The first message for a key starts the actor; one
// that has ended, because it was idle (WithIdle), or by itself, is started again by the next message.
// Its methods are safe for concurrent use.
type Kind[S any] struct {
	byKey
	// What launch needs: the parent, the start, and the settings of all actors of the kind.
	up    *actor
	start func(*Ctx, string) (S, error)
	set   *settings
}

// byKey is the part of a Kind that does not know its state: the actors by key.
type byKey struct {
	name string
	born uint64 // the incarnation of the parent that has made the Kind; of a System or Supervisor: 0
	live names  // by key: those whose start is over, until they have ended

	mu     sync.Mutex
	starts map[string]*startUp
}

// startUp is a start in progress, or one that has failed and whose actor has not ended yet.
type startUp struct {
	a       *actor
	waiting []*call // senders that wait for it; byKey.mu
	over    bool    // byKey.mu
	err     error   // as over
}

// NewKind makes a kind of actors. start makes the state of the one with a key. The first time it runs
// on the goroutine that sends the message; other senders wait for it, or for the end of their ctx. Its
// error goes to all of them, with ErrNotSent, and is not kept. The actors are children of p, and
// their names are "name/key". With a Ctx as p, the Kind ends with that incarnation.
func NewKind[S any](p Parent, name string, start func(c *Ctx, key string) (S, error), opts ...Option) (*Kind[S], error) {
	if p == nil || start == nil || name == "" {
		return nil, invalid("NewKind: the parent or start is nil, or the name is empty")
	}
	s, up, _, err := p.home()
	if err != nil {
		return nil, err
	}
	// Nothing is started: an actor costs something with its first message only.
	k := &Kind[S]{up: up, start: start}
	// Once for all actors of the kind: they share it, so an option costs no memory for each.
	set, err := s.settle(s.childDefaults(up), opts)
	if err != nil {
		return nil, err
	}
	// A copy, as set may be the System's own.
	own := *set
	own.byKey = &k.byKey
	k.name, k.set, k.starts = name, &own, map[string]*startUp{}
	k.live.seed = maphash.MakeSeed()
	// If the parent is an actor, the Kind ends with this incarnation of it: adopt compares the numbers.
	if up.kind != nil {
		up.mu.Lock()
		k.born = up.extra().incarnation
		up.mu.Unlock()
	}
	return k, nil
}

// Ref of the actor with a key: any string is one. It never ends, and two of a key are ==.
func (k *Kind[S]) Ref(key string) Ref[S] { return Virtual[S](k, Identity{k.name, key}) }

// Here returns the Ref of the actor with a key, after starting it if needed.
func (k *Kind[S]) Here(ctx context.Context, id Identity) (ref any, err error) {
	c, err := sender(ctx)
	if err != nil {
		return nil, err
	}
	a, err := k.find(ctx, c, id.Key)
	if err != nil {
		return nil, err
	}
	return Ref[S]{a: a}, nil
}

// Send fails: no actor of a Kind is elsewhere.
func (k *Kind[S]) Send(context.Context, Identity, string, any, any) (wait func() error, err error) {
	return nil, errClosed
}

// find returns the actor with a key, after starting it if needed. c is the handler that asks; nil:
// none does.
func (k *Kind[S]) find(ctx context.Context, c *Ctx, key string) (*actor, error) {
	// Nearly always: one look into a map, without the Kind's lock.
	if a := k.live.get(key); a != nil {
		return a, nil
	}
	// No start for a message whose sender has left.
	if err := ctxErr(ctx, c); err != nil {
		return nil, err
	}
	// Again after each start that another sender has begun and that has come to nothing.
	for {
		k.mu.Lock()
		// Once more under the lock: the start may have been over in between.
		if a := k.live.get(key); a != nil {
			k.mu.Unlock()
			return a, nil
		}
		st := k.starts[key]
		if st == nil {
			// The key becomes part of the start, so a supervisor can start the actor again.
			start := func(c *Ctx) (S, error) { return k.start(c, key) }
			// The actor is made now, and started below: senders that wait need one for the rule
			// of deadlocks.
			st = &startUp{a: newActor(k.set, k.up, k.name+"/"+key, start)}
			// Under k.mu with the look at live: so one sender starts, and later ones wait for it.
			k.starts[key] = st
			k.mu.Unlock()
			return k.first(c, key, st, start)
		}
		// Started by another sender, or an error that is this sender's as well.
		if a, err := k.await(ctx, c, st); a != nil || err != nil {
			return a, err
		}
	}
}

// first starts an actor, on the goroutine of the sender that came first.
func (k *Kind[S]) first(c *Ctx, key string, st *startUp, start func(*Ctx) (S, error)) (*actor, error) {
	a, s := st.a, k.set.sys
	normal := false
	defer func() {
		if !normal { // start has called Goexit
			k.told(key, st, &PanicError{Value: ErrGoexit})
		}
	}()
	// launch calls told with the outcome, before the actor handles anything.
	err := s.launch(a, k.up, c, func(c *Ctx) (any, error) { return start(c) }, func(err error) { k.told(key, st, err) })
	normal = true
	if err == nil {
		return a, nil
	}
	// The name was taken, or the parent ends: launch has called nothing back.
	if a.up == nil { // it has not become a child, whose end does this
		k.forget(a)
		k.told(key, st, err)
	}
	// The message was not sent, so its sender may try again: the next message begins a new
	// start.
	return nil, a.refused(notSent(err))
}

// told ends the wait of the senders that wait for a start. It is called before the actor handles a
// message: such a handler must not look like one that they wait for.
func (g *byKey) told(key string, st *startUp, err error) {
	failpoint.At("start told")
	g.mu.Lock()
	// launch has called it, and now the deferred function of first does.
	if st.over {
		g.mu.Unlock()
		return
	}
	st.over, st.err = true, err
	if err == nil && g.starts[key] == st { // else Close has ended it already
		delete(g.starts, key) // both under g.mu: a sender finds the actor in one of them
		g.live.add(key, st.a)
	}
	waiting := st.waiting
	st.waiting = nil
	g.mu.Unlock()
	for _, f := range waiting {
		// Without the Kind's lock: a sender that wakes up may take it immediately.
		f.letIn()
	}
}

// await waits for a start that another sender has begun; no actor and no error: look again. The caller
// holds k.mu, which await releases.
func (k *Kind[S]) await(ctx context.Context, c *Ctx, st *startUp) (*actor, error) {
	a, s := st.a, k.set.sys
	if st.over {
		k.mu.Unlock()
		return nil, a.awaitDone(ctx, c) // its start has failed, and its name is free after the end
	}
	// A call to the actor that is being started: it waits for the handler in progress there,
	// the start, so a start that needs this sender's actor is a deadlock that is seen.
	f := &call{to: a, done: s.waiter()}
	// Under k.mu, as told takes the list: f is in it, or st.over was seen.
	st.waiting = append(st.waiting, f)
	k.mu.Unlock()
	failpoint.At("await start")
	// The start may need the actor whose handler sends: then neither would go on.
	if err := c.waitsFor(f); err != nil {
		if f.leave(err) {
			return nil, a.refused(err)
		}
		<-f.done // the start was over before
	} else if err := c.sleep(ctx, f, nil); err != nil {
		return nil, a.refused(err)
	}
	// Its answer was received, so the channel is empty.
	s.waiters.Put(f.done)
	if st.err != nil {
		return nil, a.refused(notSent(st.err))
	}
	return a, nil
}

// forget drops an actor that has ended.
func (g *byKey) forget(a *actor) {
	// The name is "kind/key".
	key := a.name[len(g.name)+1:]
	g.live.remove(key, a)
	g.mu.Lock()
	// The start of this actor has failed. Until now senders waited for its end, as its name was
	// taken.
	if st := g.starts[key]; st != nil && st.a == a {
		delete(g.starts, key)
	}
	g.mu.Unlock()
}

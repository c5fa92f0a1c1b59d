package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// How an actor comes to be. launch is the one way, for Spawn, Supervise and a Kind: take the
// name, become a child, run the first start on this goroutine, and then give up the turn, which
// the new actor has from the beginning so that nothing is handled before. A start that fails
// leaves nothing behind. open makes the state, for the first incarnation and for later ones.

// Parent is where an actor is started: a *System; a *Ctx, for a child of the actor
// whose handler runs, where the child ends with that incarnation; or a *Supervisor.
type Parent interface {
	// home returns the parent, and the handler that starts the child, if one does.
	home() (*System, *actor, *Ctx, error)
}

// A child of the System is one of its root.
func (s *System) home() (*System, *actor, *Ctx, error) {
	if s == nil {
		return nil, nil, nil, invalid("the parent is a nil System")
	}
	// An early answer; adopt asks again under the tree's lock.
	if s.shutting.Load() || s.closed.Load() {
		return s, nil, nil, ErrStopped
	}
	return s, s.root, nil, nil
}

// A child of the actor whose handler runs; that handler waits for the start.
func (c *Ctx) home() (*System, *actor, *Ctx, error) {
	if c == nil || !c.valid() {
		return nil, nil, nil, ErrStale
	}
	return c.sys, c.a.Load(), c, nil
}

// A child of a Supervisor. Whether that still takes one is for adopt to say.
func (p *Supervisor) home() (*System, *actor, *Ctx, error) {
	if p == nil {
		return nil, nil, nil, invalid("the parent is a nil Supervisor")
	}
	return p.a.sys(), p.a, nil, nil
}

// Starter is an optional interface of the state: Started is called after each start,
// before the first message. An error counts as an error of the start.
type Starter interface{ Started(c *Ctx) error }

// Stopper is an optional interface of the state: Stop is called when an incarnation
// ends, after its last handler and when its children have ended, unless a handler of the
// incarnation was abandoned or is still in progress at Close. why is what Ref.Err will
// be, or the failure for which the actor is restarted. Panics of Stop are logged.
type Stopper interface{ Stop(c *Ctx, why error) }

// Value returns the start of an actor whose state exists already. It works only once: a
// failure ends such an actor, even under a supervisor.
func Value[S any](state S) func(*Ctx) (S, error) {
	// Not a closure: open has to find out that this start works only once.
	v := &value[S]{state}
	return v.start
}

type value[S any] struct{ state S }

// start tells open that there is no second state.
func (v *value[S]) start(c *Ctx) (S, error) {
	c.once = true
	return v.state, nil
}

var (
	methodStart   = &method{name: "Start"}
	methodStarted = &method{name: "Started"}
	methodStop    = &method{name: "Stop"}
	methodGivesUp = &method{} // of a supervisor
)

// Spawn starts an actor. start makes its state. The first time it runs before Spawn
// returns, on the goroutine that called Spawn, and Spawn returns its error or panic as an
// error: then no child has failed, and a supervisor restarts nothing; later, under a supervisor, it runs once for each incarnation. If name is empty,
// Spawn makes one.
func Spawn[S any](p Parent, name string, start func(*Ctx) (S, error), opts ...Option) (Ref[S], error) {
	if p == nil || start == nil {
		return Ref[S]{}, invalid("Spawn: the parent or start is nil")
	}
	// Which System and parent, and which handler waits while the start runs.
	s, up, c, err := p.home()
	if err != nil {
		return Ref[S]{}, err
	}
	// Checked before anything exists.
	set, err := s.settle(s.childDefaults(up), opts)
	if err != nil {
		return Ref[S]{}, err
	}
	a := newActor(set, up, name, start)
	// The types end here: launch and open know none.
	first := func(c *Ctx) (any, error) { return start(c) }
	if err := s.launch(a, up, c, first, nil); err != nil {
		return Ref[S]{}, err
	}
	return Ref[S]{a: a}, nil
}

// childDefaults are the settings of a child of up, before its own options.
func (s *System) childDefaults(up *actor) *settings {
	if sup := up.supervisor(); sup != nil {
		return sup.child
	}
	return s.defaults
}

// newActor returns an actor that is going to be a child of up. The turn is this goroutine's from the beginning
// (busy): messages may come once the actor has its name, and wait.
func newActor[S any](set *settings, up *actor, name string, start func(*Ctx) (S, error)) *actor {
	a := &actor{set: set, kind: kindOf[S]{}, name: name, turn: busy}
	// Only a supervisor makes another incarnation, so only its children keep the function.
	if up.supervisor() != nil {
		a.start = start
	}
	if set.dedicated {
		a.extra().pool = &pool{}
	}
	return a
}

// launch registers an actor and runs its first start on this goroutine. c is the handler that does
// so, nil: none. told, if it is set, is called with the outcome before the actor handles a message.
func (s *System) launch(a, up *actor, c *Ctx, first func(*Ctx) (any, error), told func(error)) error {
	// Before the actor is a child: Close finds every actor by its name.
	if made := a.name == ""; made {
		s.names.make(a)
	} else if !s.names.add(a.name, a) {
		return ErrNameTaken
	}
	// A supervisor is no actor to Stats.
	if a.kind != nil {
		s.actors.Add(1)
	}
	if a.set.dedicated {
		a.x.pool.init(s, 1, true) // before it is a child: its end closes the pool
	}
	// From here on the parent ends it, and so does Close.
	// The parent has ended in between, or the System ends.
	if err := s.adopt(up, a, c); err != nil {
		// It was never a child, so nothing else takes its name away.
		s.retire(a)
		if a.set.dedicated {
			a.x.pool.close()
		}
		return err
	}
	var err error
	if first != nil {
		own := c
		if c != nil && c.sys != s {
			own = nil // a handler of another System has no Ctx of this one
		}
		// As for a call on this goroutine: the start is a handler inside that of its caller.
		cc := s.childCtx(own)
		// After the end of a start that has failed, too: its walk may still come by this Ctx.
		defer s.doneCtx(own, cc)
		// The turn is here since the actor was made.
		cc.hold = holdTurn
		err = a.open(cc, c, first, true)
	}
	if err != nil {
		a.mu.Lock()
		x := a.extra()
		a.start = nil // and x.fail stays nil: no child has failed, and the siblings stay
		if a.on(failedFinally) || a.life == stopping {
			x.err = err // it is what Spawn returns, even if the actor was killed before
		}
		// Messages can have come from the start itself, or from its children.
		chain := a.empty()
		a.mu.Unlock()
		if told != nil {
			// Before the release: senders that wait for the start of a Kind's actor must not
			// look as if they waited for its end.
			told(err)
		}
		a.deadLetters(chain, ErrStopped)
		a.release()
		// The name is free, and the children of the start are gone, when Spawn returns: so it
		// may be called again.
		a.awaitEnd(c)
		return err
	}
	if told != nil {
		told(nil)
	}
	failpoint.At("started")
	// The turn is still here, so nothing was handled yet; after release messages are.
	isUp := a.started()
	a.release()
	if !isUp {
		return ErrStopped // by Close
	}
	// After the start: the time in which it is idle begins now.
	if a.set.idle != nil {
		a.set.idle.add(a)
	}
	return nil
}

// open makes the state of an incarnation. The caller has the turn. If first is set, this
// is the goroutine that called Spawn, and the actor ends if start calls Goexit.
func (a *actor) open(c, by *Ctx, start func(*Ctx) (any, error), first bool) (err error) {
	// For the rule of deadlocks: a call to this actor waits for its start.
	a.cur.Store(c)
	gone := func(fail error) {
		if first {
			a.mu.Lock()
			a.start = nil // there will be no other incarnation
			a.mu.Unlock()
		}
		a.fail(c.m.Load(), fail, false)
		if first {
			a.mu.Lock()
			a.extra().fail = nil // as in launch; the end comes after this goroutine's turn
			a.mu.Unlock()
		}
		// A worker's goroutine ends: it gives back turn and slot. Another goroutine has only
		// the turn.
		if c.w != nil && by == nil {
			c.w.died(a, c, false)
		} else {
			a.release()
		}
	}
	if by != nil {
		// The handler waits for the start: a walk follows it.
		by.inner.Store(c)
		c.caller.Store(by)
		defer func() {
			// In the reverse order: no walk comes from the caller to a Ctx that is another
			// handler's.
			by.inner.CompareAndSwap(c, nil)
			c.caller.Store(nil)
		}()
	}
	// value.start sets it, through the user's start or without.
	c.once = false
	c.begin(a, methodStart, nil, nil, a.sys().now())
	var state any
	if err = c.guard(func() error { state, err = start(c); return err }, gone); err != nil {
		return err
	}
	// A second handler, with its own Ctx time: what start has asked for by its Ctx is done by
	// now.
	if st, ok := state.(Starter); ok {
		c.begin(a, methodStarted, nil, nil, a.sys().now())
		if err = c.guard(func() error { return st.Started(c) }, gone); err != nil {
			return err
		}
	}
	a.mu.Lock()
	// Close may have ended it while start ran, and does not wait.
	if !a.over() {
		// With the turn and under mu, as every change of it.
		a.state = state
	}
	// There is no second state, so a failure ends the actor.
	if c.once {
		a.start = nil
	}
	a.mu.Unlock()
	return nil
}

// started notes that a start has succeeded; false: Close has ended the actor in between.
func (a *actor) started() bool {
	failpoint.At("raised")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on(started) && a.awaited {
		// Their end was asked for while this start ran, and its state had no row for it.
		a.on(takenDown) // siblings have failed since
	}
	return !a.over()
}

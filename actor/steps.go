package actor

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The steps of a life: what has to happen between two states of life.go, on the goroutine that
// has the actor's turn, with no handler in progress. An incarnation ends in this order: its
// children, the youngest first; its last words; its timers and watches; and then the supervisor
// hears of it, or the actor is gone.

// step takes the next step of the actor's life; the caller has the turn, and no
// handler is in progress. c is for user code.
func (a *actor) step(c *Ctx) {
	failpoint.At("step")
	a.mu.Lock()
	x := a.extra()
	// Before the look at the children: one that ends after that look sets it again.
	a.nudged = false
	// Stop was called, and the mailbox is worked off.
	if a.serves() && a.draining && a.spent() {
		a.on(spent)
	}
	switch a.life {
	case alive:
		// A supervisor, whose work is done in steps: its children have news.
		a.mu.Unlock()
		if x.sup != nil {
			// Without mu: the supervisor takes the locks of its children.
			x.sup.step()
		}
		return
	case rising:
		a.mu.Unlock()
		a.rise(c)
		return
	case restarting, failed, stopping:
		// due said so, and the caller that no handler is in progress; with the turn here none can begin.
		a.on(rests)
	case falling, leaving: // it goes on, as a child has ended
	default:
		a.mu.Unlock()
		return
	}
	// What the last words and the children are told.
	why, final := x.err, a.life == leaving
	if !final {
		// The incarnation ends for its own failure, or else for that of a sibling.
		if why = x.takenDownFor; x.fail != nil {
			why = x.fail
		}
	}
	a.mu.Unlock()
	// Some child still has to end. Its end nudges this actor, whose next step comes here again.
	if !a.endChildren(why, final) {
		return
	}
	a.close(c, why)
	a.settle()
}

// endChildren ends the children of an incarnation, the youngest first; false: there is one whose end
// it waits for, which will nudge a. final: a ends too, and not the incarnation alone.
func (a *actor) endChildren(why error, final bool) bool {
	if a.kind == nil && !final {
		return a.x.sup.endAll(why) // the children of a supervisor stay, and will have other incarnations
	}
	s := a.sys()
	// One after the other, the youngest first, each after its own children: so a child may use
	// older siblings until its end.
	k := s.youngest(a)
	if k == nil {
		return true
	}
	if a.kind == nil {
		// It starts no child any more, also none whose backoff is over.
		a.x.sup.end()
	}
	k.terminate(s.parentEnd())   // and its end nudges this one
	if !a.up.is((*actor).ends) { // else it has looked at all descendants when it came to a
		k.unwait()
	}
	return false
}

// close runs Stop of an incarnation's state, its last words, and drops the state.
func (a *actor) close(c *Ctx, why error) {
	failpoint.At("close")
	s := a.sys()
	a.mu.Lock()
	state, gone := a.state, a.x.abandoned
	// No handler gets this state any more: those begin with the turn, which is here.
	a.state, a.x.abandoned = nil, false
	a.mu.Unlock()
	// Not if an abandoned handler may still be using the state.
	if st, ok := state.(Stopper); ok && !gone {
		// Last words are a handler like others: with a Ctx, and with its rules for waits.
		c.begin(a, methodStop, nil, nil, s.now())
		last := func() error { st.Stop(c, why); return nil }
		// They have no caller, so their failure is only logged.
		failed := func(err error) {
			if err != nil {
				s.log(slog.LevelError, "actor: Stop of a state failed", "actor", a.name, "error", err)
			}
		}
		if c.w == nil { // Close, whose goroutine is the user's and has more to end
			s.apart(func() { failed(c.guard(last, failed)) })
		} else {
			// A worker may say them on its goroutine. If they call Goexit, that ends, and the
			// next turn goes on.
			failed(c.guard(last, func(err error) {
				failed(err)
				a.mu.Lock()
				a.nudged = true // the next turn goes on, without a state
				a.mu.Unlock()
				c.w.died(a, c, false)
			}))
		}
	}
	a.endSources() // of last words too
}

// endSources ends the timers and watches of an incarnation that has ended, or that Close has
// ended while its handler runs.
func (a *actor) endSources() {
	a.mu.Lock()
	x := a.extra()
	// From here on messages of the timers and watches of this incarnation, which may wait
	// in the mailbox, find that it is over, and are skipped.
	x.incarnation++
	for t := range x.timers {
		t.end()
	}
	// Taken out as a whole: from here on none is added, as enter looks at the incarnation.
	watches := x.watches
	x.watches = nil
	for _, w := range watches {
		// A Down that is in the mailbox already finds this.
		w.over = true
	}
	a.mu.Unlock()
	for _, w := range watches { // without mu, as the watched actor's is taken
		w.to.unwatch(w)
	}
}

// settle is the last step of an incarnation, after its last words.
func (a *actor) settle() {
	failpoint.At("rest")
	a.mu.Lock()
	if a.life != falling { // it ends permanently, perhaps since the last words have begun
		a.mu.Unlock()
		a.finish()
		return
	}
	x := a.x
	a.on(fallen)
	// Set if it has failed; nil: it went down with others.
	why := x.fail
	// The next incarnation begins without what this one has met.
	a.awaited, x.fail = false, nil
	// With fallen: no request starts it before the supervisor has counted the failure.
	x.uncounted = why != nil
	// The next incarnation begins with what this one has put aside.
	x.back.takeAllFront(&x.stash)
	a.mu.Unlock()
	failpoint.At("is down")
	// Without mu: the supervisor's lock comes first elsewhere. Which step it takes next is
	// decided in its own turn.
	a.up.x.sup.isDown(a, why)
}

// rise starts the next incarnation.
func (a *actor) rise(c *Ctx) {
	s := a.sys()
	x := a.x
	// A supervisor's incarnation is its children: it is up when they are asked to start.
	if x.sup != nil {
		a.started()
		x.sup.startAll()
		a.up.nudge()
		return
	}
	// Only supervised actors come here, and these have a start. In the actor's own turn: the messages that
	// have waited come after it.
	start := a.start
	err := a.open(c, nil, func(c *Ctx) (any, error) { return a.kind.open(start, c) }, false)
	s.restarts.Add(1) // a failed start is a restart too
	s.metric("Metrics.Restarted", func(m Metrics) { m.Restarted(a.kindName()) })
	if err != nil {
		// One more failure: the supervisor counts it, and tries again after the backoff.
		a.fail(c.m.Load(), err, false)
		return
	}
	a.started()
	// The supervisor may start the next of a group.
	a.up.nudge()
}

// finish ends an actor permanently, after its children and its last words.
func (a *actor) finish() {
	failpoint.At("finish")
	s := a.sys()
	a.mu.Lock()
	// Close and the actor's own turn may both come here; the first one does it.
	if !a.on(finishes) {
		a.mu.Unlock()
		return
	}
	x := a.extra()
	// A Ref that is kept must not keep the state.
	a.state, a.start = nil, nil
	chain := a.empty()
	why := x.err
	a.mu.Unlock()
	// Those of an actor that Close ends while its handler runs, too.
	a.endSources()
	// What came between the first end and this one: a message may have been accepted by an
	// actor that fails.
	a.deadLetters(chain, ErrStopped)
	failpoint.At("retire")
	// Before Done is closed, when the name has to be free.
	s.retire(a)
	if g := a.set.byKey; g != nil {
		g.forget(a) // before Done is closed: senders that wait for that look for another actor
	}
	if a.set.dedicated {
		a.x.pool.close()
	}
	failpoint.At("gone")
	up := a.up
	a.mu.Lock()
	// In one step under mu: a Watch that comes before is among the watchers, a later one sees that
	// the actor is gone. So does AfterFunc.
	a.on(tells)
	followed := a.followed
	watchers := x.watchers
	x.watchers = nil // from now on a Watch tells by itself
	if a.done == nil {
		// No caller has asked for it yet, so all that ask later get one that is closed.
		a.done = closedChan
	} else {
		close(a.done)
	}
	a.mu.Unlock()
	inOrder := func(v, w *Watching) int { return cmp.Compare(watchers[v], watchers[w]) }
	for _, w := range slices.SortedFunc(maps.Keys(watchers), inOrder) {
		// Without any lock: a Down is posted into the mailbox of another actor.
		w.tell(Down{a.name, why})
	}
	if followed {
		s.callAfter(a)
	}
	if up != nil && up.supervisor() != nil {
		// It may have to restart the siblings (RestForOne, OneForAll), though this child has no
		// other incarnation.
		up.supervisor().gone(a, x.fail)
	}
	// Last, as the parent goes on when it has no children left.
	s.orphan(a)
}

package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// A watch has two sides. The actor that watches has it in extra.watches, by what is watched and
// how; its lock guards over. The watched actor has it in extra.watchers, by the order in which
// they came, for the Downs to go out in. No goroutine holds both locks. So
// each side may find that the other has just ended, and forgets: an end of the watching
// incarnation calls unwatch, the end of the watched actor takes the whole list and sends.

// Down is the message of Watch.
type Down struct {
	Name string
	Err  error // as Ref.Err
}

// Watching is a watch of an actor by another one: see Watch.
type Watching struct {
	a, to *actor // a watches to; to may be nil
	born  uint64 // the incarnation that watches
	tell  func(Down)
	key   watchKey
	over  bool // it was stopped, or has told, or its incarnation has ended; a.mu
}

// watchKey identifies a watch of an incarnation: the actor, and the method that gets the Down.
type watchKey struct {
	to *actor
	m  *method
}

// notice is a Down in a mailbox.
type notice[T any] struct {
	tellOf[T, Down, struct{}]
	w *Watching
}

// exec skips a Down that was taken back in between.
func (n *notice[T]) exec(c *Ctx, state any) {
	if !n.w.end(true) {
		c.returned()
		return
	}
	n.tellOf.exec(c, state)
}

func (n *notice[T]) free() bool { return false } // the pool is for tells, and this is none

// end is where a watch ends: it was stopped, or it tells its incarnation. false: it has ended before.
func (w *Watching) end(tells bool) bool {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	x := w.a.extra()
	// A Down in the mailbox of the next incarnation is skipped: that one has not asked for it.
	if w.over || tells && x.incarnation != w.born {
		return false
	}
	// Here Stop, the Down and the end of the incarnation meet: the first wins.
	w.over = true
	// Another watch of the same may have been set since.
	if x.watches[w.key] == w {
		delete(x.watches, w.key)
	}
	return true
}

// Stop ends the watch: no handler gets its Down after Stop has returned true. It returns false
// if the watch has ended already, because the Down has come or with the incarnation that watches.
func (w *Watching) Stop() bool {
	// Its Ctx was stale: it has never begun.
	if w.a == nil || !w.end(false) {
		return false
	}
	w.to.unwatch(w)
	return true
}

// unwatch lets a forget w.
func (a *actor) unwatch(w *Watching) {
	// nil: the watch of the zero Ref, which has told immediately.
	if a != nil {
		a.mu.Lock()
		delete(a.extra().watchers, w) // or the end is on its way to the watcher
		a.mu.Unlock()
	}
}

// Watch sends the actor of c one message when `to` ends permanently, or immediately if it
// has ended already. The message does not count in the mailbox's limit, and no other evicts it. A watch ends with
// the incarnation that watches, or by Stop. To watch an actor again, with the same method,
// changes nothing. Watch panics if down is a method of another state than c's actor has, and for
// the Ref of a Kind, which never ends: watch the one that Self returns.
func Watch[S, T any](c *Ctx, to Ref[S], down *Method[T, Down, struct{}]) *Watching {
	if !c.valid() {
		return &Watching{over: true}
	}
	if to.v != nobody {
		panic("actor: Watch of " + to.Name() + ": the Ref of a Kind never ends")
	}
	a := c.a.Load()
	// The types cannot say it, as a Ctx has none of a state.
	if a.kind != down.kind {
		panic("actor: Watch by " + a.name + ": " + down.name + " is a method of " + down.kind.String() + ", not of " + a.kindName())
	}
	w := &Watching{a: a, to: to.a, key: watchKey{to.a, &down.method}}
	w.tell = func(d Down) {
		// Not a tell of the pool: it is one message per watch.
		n := &notice[T]{w: w}
		n.of, n.req = down, d
		n.m, n.run = &down.method, n
		_ = a.post(&n.envelope, nil, fromSystem) // an error: the watching actor has itself ended
	}
	// First on this side, so that endSources finds it whatever happens next.
	if had := w.enter(c); had != nil {
		return had
	}
	failpoint.At("watch")
	if !to.a.watch(w) {
		// It has ended, in between or long before: the Down comes as any other, through the mailbox.
		w.tell(Down{to.Name(), to.a.err()})
	} else if a.is(func(*actor) bool { return w.over }) {
		// The watching incarnation has ended in between, because its handler was abandoned: endSources may
		// have run between enter and the other side's lock, and has found nothing to forget there.
		to.a.unwatch(w)
	}
	return w
}

// watch notes that a is watched by w; false: it has ended.
func (a *actor) watch(w *Watching) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// Under its lock: finish takes the watchers and sets gone in one step, so this watch is among
	// them, or tells by itself.
	if a.life == gone {
		return false
	}
	// Made with the first watch: most actors are never watched.
	x := a.extra()
	if x.watchers == nil {
		x.watchers = map[*Watching]uint64{}
	}
	// By number, so the Downs go out in the order of the watches.
	x.watched++
	x.watchers[w] = x.watched
	return true
}

// enter notes the watch of c's incarnation, or returns the one that it has already.
func (w *Watching) enter(c *Ctx) *Watching {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	x := w.a.extra()
	// Twice the same watch is one, with one Down.
	if had := x.watches[w.key]; had != nil {
		return had
	}
	w.born = x.incarnation
	// The handler was abandoned or Close has come: nothing would end this watch.
	if w.over = !c.valid() || w.a.over(); w.over {
		return w
	}
	if x.watches == nil {
		x.watches = map[watchKey]*Watching{}
	}
	x.watches[w.key] = w
	return nil
}

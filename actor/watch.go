package actor

import (
	linked "container/list"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A watch has two sides. The actor that watches has it in extra.watches, by what is watched and
// how; its lock guards over. The watched actor has it in extra.watchers, in the order in which
// they came, for the Downs to go out in; its lock guards at. No goroutine holds both locks. So
// each side may find that the other has just ended, and forgets: an end of the watching
// incarnation calls unwatch, the end of the watched actor takes the whole list and sends.

// Down is the message of Watch.
type Down struct {
	Name string
	Err  error // as Ref.Err
}

// Watching is a watch of an actor by another one: see Watch.
// Both ends of the watch: over is this side's, under a.mu, and at the other's, under to.mu.
type Watching struct {
	a, to *actor // a watches to; to may be nil
	born  uint64 // the incarnation that watches
	tell  func(Down)
	key   watchKey
	over  bool            // it was stopped, or has told, or its incarnation has ended; a.mu
	at    *linked.Element // among the watches of to; to.mu
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
	// The watch of the zero Ref, which has told immediately.
	if a == nil {
		return
	}
	a.mu.Lock()
	if x := a.extra(); w.at != nil && x.watchers != nil { // else the end is on its way to the watcher
		x.watchers.Remove(w.at)
	}
	a.mu.Unlock()
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
		panic("actor: Watch by " + a.name + ": " + down.name + " is a method of " + down.kind.name + ", not of " + a.kindName())
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
	if to.a == nil {
		// It has ended long ago: the Down comes as any other, through the mailbox.
		w.tell(Down{Err: ErrStopped})
		return w
	}
	failpoint.At("watch")
	to.a.mu.Lock()
	// Under its lock: finish takes the list and sets gone in one step, so this watch is in the
	// list, or tells by itself.
	if to.a.life != gone {
		// Made with the first watch: most actors are never watched.
		x := to.a.extra()
		if x.watchers == nil {
			x.watchers = linked.New()
		}
		// In order, so the Downs go out in the order of the watches.
		w.at = x.watchers.PushBack(w)
		to.a.mu.Unlock()
		w.check()
		return w
	}
	to.a.mu.Unlock()
	// It has ended, between the two locks or long before.
	w.tell(Down{to.a.name, to.a.err()})
	return w
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

// check lets the watched actor forget w if the watching incarnation has ended in between, because
// its handler was abandoned.
func (w *Watching) check() {
	w.a.mu.Lock()
	// endSources may have run between enter and the other side's lock: then it has found
	// nothing to forget there.
	over := w.over
	w.a.mu.Unlock()
	if over {
		w.to.unwatch(w)
	}
}

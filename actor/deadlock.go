package actor

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The rule of deadlocks is about handlers. A handler waits for a call, Ctx.wait. A call that is being
// served waits for its handler, call.by; one that is not waits for those handlers of its target that
// it may not overtake. So there is a graph whose edges say "the end of this handler comes after the
// end of that one", and a call that closes a cycle would never return.
//
// A goroutine that begins to wait stores its pointer first and looks then: it follows the edges from the call
// (walk). If they lead back to the handler that begins, the pointer is taken back, and the call fails.
//
// Nothing is missed. Of the handlers of a cycle, one is the last to store its pointer. When it looks,
// all pointers of the cycle are there, and it finds its way back. The order of stores and looks is
// total, as Go's atomics are sequentially consistent; where two look at the same time, both see the
// cycle, but they look under one lock (graph), so the first takes its pointer back before the second
// looks.
//
// No alarm is false. Every handler on a path that ends at the walker waits for another handler that
// waits, down to the last one. The last has waited since before the walk began, and cannot be answered
// while the walk lasts, so no pointer on that path changes during the walk. (Pointers of calls on their
// caller's goroutine, Ctx.inner, are written and cleared without graph, and this holds for them too.)
// The replier ends an edge, and not the caller when it wakes up: otherwise the next call in the other
// direction would look like a cycle.
//
// Most handlers wait for one that computes. Such a path ends where it begins, and one look without
// graph shows that (waitsForOne): the target has an incarnation, and its handler does not wait. If that
// handler begins to wait later, it is the one that looks. An edge ends without graph as well, unless a
// walk is in progress, which may still use the call.
//
// An edge may also begin while its handler waits already. Then the goroutine that adds it stores what the
// edge is seen by, and looks then, on behalf of the handlers that it adds it for, under graph (unwait):
//
//   - A call to an actor without an incarnation waits for the next one, which cannot begin before others
//     have ended: the children of the last incarnation, the siblings that the supervisor takes down with
//     the actor, the starts of older siblings. Its side that begins last sees the cycle: the handler, in
//     waitsFor, or the goroutine that ends the handlers' actors, in unwait.
//   - A handler that waits for the end of an actor, in Ref.Stop, or in Spawn if start has failed, waits
//     for all handlers in progress of that actor and of its descendants: they end before it does. So does
//     one that waits for the end of another System. awaitEnd looks.
//   - Room in a mailbox that was promised may be gone: see letsIn.

// graph is one lock for all Systems, because handlers may call actors of another System.
// It is locked before any actor's mu.
var graph sync.Mutex

// walks counts the walks that have begun; guarded by graph.
var walks uint64

// walking is set from the beginning of a walk until graph is unlocked.
var walking atomic.Bool

// endWalk unlocks graph after a walk.
func endWalk() {
	walking.Store(false)
	graph.Unlock()
}

// mark notes whether a handler of f's target has caused f, which is not posted yet.
func (c *Ctx) mark(f *call) {
	if c == nil || f.to.set.reent == None {
		return
	}
	// Without the lock: a chain of one cannot be cut.
	if c.caller.Load() == nil { // the chain is this handler
		f.inChain = c.a.Load() == f.to
		return
	}
	failpoint.Lock(&graph, "chain")
	// Under graph, as a caller that leaves is cut out under it: a chain that is read while it
	// changes might lead anywhere.
	for p := c; p != nil && !f.inChain; p = p.caller.Load() {
		f.inChain = p.a.Load() == f.to
	}
	graph.Unlock()
}

// waitsFor notes that the handler of c is going to wait for f, unless it would wait for
// itself. c may be nil.
func (c *Ctx) waitsFor(f *call) error {
	// Outside of handlers no call waits for the sender, so it closes no cycle; and what goes on in another
	// process is not seen.
	if c == nil || f.to == nil {
		return nil
	}
	noted := c.wait.CompareAndSwap(nil, f) // else another goroutine of the handler waits already
	failpoint.At("look")
	// Most calls end here, without the lock that all Systems share.
	if noted && f.waitsForOne() {
		return nil
	}
	failpoint.Lock(&graph, "waits for")
	defer endWalk()
	return c.vain(f, func() bool { return true })
}

// vain looks whether c waits for f in vain. If so, and leave succeeds, it takes the pointer back and returns the
// error. The caller holds graph, and ends the walk.
func (c *Ctx) vain(f *call, leave func() bool) error {
	w := newWalk(c)
	if !w.call(f) || !leave() {
		return nil
	}
	c.wait.CompareAndSwap(f, nil)
	f.to.sys().deadlocks.Add(1)
	return &DeadlockError{Cycle: w.cycle()}
}

// waitsForOne reports whether the call waits for one handler at most, which waits for nothing itself.
// False if that is not so, or not known without graph.
func (f *call) waitsForOne() bool {
	// A whole tree of actors: only a walk can say.
	if f.ends {
		return false
	}
	// It is being served already.
	if g := f.by.Load(); g != nil {
		return !g.waits()
	}
	a := f.to
	a.mu.Lock()
	defer a.mu.Unlock()
	// Read under mu, with the holders: these are all handlers of the actor at one instant. If
	// one of them begins to wait later, its own look finds this call's pointer.
	g := a.cur.Load()
	return (g == nil || !g.waits()) && (a.x == nil || len(a.x.holders) == 0) && !a.between()
}

// waits reports whether the handler of c waits for something that the rule knows.
func (c *Ctx) waits() bool { return c.wait.Load() != nil || c.inner.Load() != nil }

// noWait undoes waitsFor. Afterwards no walk uses f: those that begin later do not find it, and one
// that has begun is waited for.
func (c *Ctx) noWait(f *call) {
	if c == nil || f == nil {
		return
	}
	failpoint.At("no wait")
	c.wait.CompareAndSwap(f, nil)
	// To lock and unlock is to wait: a walk that has begun may be about to read f, and its
	// caller is going to use it again.
	if walking.Load() {
		failpoint.Lock(&graph, "no wait")
		graph.Unlock()
	}
}

// walk looks for a path from a call to the handler me; nil: it visits all that wait. It visits each handler
// once: there may be cycles that do not lead to me, since a cycle exists for a moment before unwait cuts it.
type walk struct {
	me      *Ctx
	id      uint64   // Ctx.walk of handlers that it has visited
	visited []*Ctx   // if me is nil: the last of a path first
	names   []string // of the cycle, last first
}

// newWalk begins a walk. The caller holds graph until it is over.
func newWalk(me *Ctx) walk {
	walks++
	walking.Store(true) // before it loads a pointer: pairs with noWait
	return walk{me: me, id: walks}
}

// call reports whether f waits for me.
func (w *walk) call(f *call) bool {
	if f.st.Load() > taken {
		return false // it is answered: its caller is about to go on
	}
	if g := f.by.Load(); g != nil {
		return w.handler(g)
	}
	a := f.to
	switch {
	case f.ends && w.any(a.name, a.handlersBelow()), a.is((*actor).between) && w.any(a.name, a.handlersBefore()):
		// The end of an actor comes after all its handlers; a call to one without an incarnation
		// after all that the next one waits for.
		return true
	case f.ends, f.room && a.letsIn(f), !f.room && a.overtakes(f):
		// Nothing else to wait for; or the message may come in although handlers wait, and so waits
		// for none of them.
		return false
	}
	// It waits for the handlers in progress, whatever they wait for.
	return w.any("", a.handlers())
}

// any reports whether the end of one of the handlers waits for me. name is that of the actor whose end or
// next incarnation comes after them all; "": the walk came to them by way of their own actor.
func (w *walk) any(name string, all []*Ctx) bool {
	for _, g := range all {
		if w.handler(g) {
			if name != "" { // a System has none
				w.names = append(w.names, name)
			}
			return true
		}
	}
	return false
}

// handler reports whether the end of g waits for me.
func (w *walk) handler(g *Ctx) bool {
	failpoint.At("walk")
	if g.walk == w.id {
		return false
	}
	// A mark by the number of the walk needs no clearing, and graph guards it.
	g.walk = w.id
	found := g == w.me
	if !found {
		// A call on the handler's own goroutine: g goes on when that has returned.
		if in := g.inner.Load(); in != nil {
			found = w.handler(in)
		}
	}
	if !found {
		if f := g.wait.Load(); f != nil {
			found = w.call(f)
		}
	}
	if w.me == nil {
		w.visited = append(w.visited, g)
	} else if a := g.a.Load(); found && a != nil {
		w.names = append(w.names, a.name)
	}
	return found
}

// cycle returns each name once, in the order of the calls.
func (w *walk) cycle() (once []string) {
	seen := map[string]bool{}
	for _, n := range slices.Backward(w.names) {
		if !seen[n] {
			seen[n] = true
			once = append(once, n)
		}
	}
	return once
}

// unwait ends waits that are in vain since the end of the handlers in all comes before something else, which
// their waits may lead to: the next incarnation of an actor, room in a mailbox, or the end of by, which waits
// for them. Its caller has made that so before, and has all from afterwards: a handler that begins to
// wait later looks itself.
func (s *System) unwait(all []*Ctx, by *Ctx) {
	failpoint.Lock(&graph, "unwait")
	see := newWalk(nil)
	// All handlers that can be reached from these: the cycle is among them, if there is one.
	see.any("", all)
	var cut []*call
	for _, h := range see.visited {
		f := h.wait.Load()
		if f == nil || f.st.Load() != waiting || by == nil && !f.room && !f.to.is((*actor).between) {
			continue // it is served, or an ordinary call: the handler that has closed a cycle of these hears of it
		}
		// Does the wait of h come back to h? If so, nothing but an error ends it.
		w := newWalk(h)
		if !w.call(f) || !f.st.CompareAndSwap(waiting, left) {
			continue
		} // claimed under graph: once its caller has held graph to leave it, f may be another call
		f.err = &DeadlockError{Cycle: w.cycle()}
		cut = append(cut, f)
	}
	endWalk()
	for _, f := range cut {
		s.deadlocks.Add(1)
		// Without graph, which leaving takes.
		f.gone(f.err)
	}
}

// unwait ends the waits of handlers of a and of its descendants for calls that can be served
// only after the end of a, which is to end now.
func (a *actor) unwait() { a.sys().unwait(a.handlersBelow(), nil) }

// unwaitStarts does the same for starts in progress of children that are restarted together:
// it ends their waits for calls that can be served only after those starts.
func (p *supervisor) unwaitStarts() {
	var all []*Ctx
	for _, k := range p.group.set {
		if k.is((*actor).inGroup) {
			all = append(all, k.handlers()...)
		}
	}
	p.a.sys().unwait(all, nil)
}

// lookAgain ends waits for room in the mailbox that have become vain: see letsIn.
func (a *actor) lookAgain() {
	failpoint.At("look again")
	a.sys().unwait(a.handlers(), nil)
}

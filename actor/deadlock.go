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
// Whoever begins to wait stores its pointer first and looks then: it follows the edges from the call
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
// An edge may also begin while its handler waits already. Then the goroutine that adds it looks, on
// behalf of the handlers that it adds it for, under graph (unwait):
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
func (s *System) mark(c *Ctx, f *call) {
	if c == nil || f.to.set.reent == None {
		return
	}
	if c.caller.Load() == nil { // the chain is this handler
		f.inChain = c.a.Load() == f.to
		return
	}
	failpoint.Lock(&graph, "chain")
	for p := c; p != nil && !f.inChain; p = p.caller.Load() {
		f.inChain = p.a.Load() == f.to
	}
	graph.Unlock()
}

// waitsFor notes that the handler of c is going to wait for f, unless it would wait for
// itself. c may be nil.
func (s *System) waitsFor(c *Ctx, f *call) error {
	if c == nil {
		return nil
	}
	noted := c.wait.CompareAndSwap(nil, f) // else another goroutine of the handler waits already
	failpoint.At("look")
	if noted && f.waitsForOne() {
		return nil
	}
	failpoint.Lock(&graph, "waits for")
	defer endWalk()
	w := newWalk(c)
	if !w.call(f) {
		return nil
	}
	c.wait.CompareAndSwap(f, nil)
	s.deadlocks.Add(1)
	return &DeadlockError{Cycle: w.cycle()}
}

// waitsForOne reports whether the call waits for one handler at most, which waits for nothing itself.
// False if that is not so, or not known without graph.
func (f *call) waitsForOne() bool {
	if f.ends {
		return false
	}
	if g := f.by.Load(); g != nil {
		return !g.waits()
	}
	a := f.to
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.cur.Load()
	return (g == nil || !g.waits()) && (a.x == nil || len(a.x.holders) == 0) && !a.betweenLocked()
}

// waits reports whether the handler of c waits for something that the rule knows.
func (c *Ctx) waits() bool { return c.wait.Load() != nil || c.inner.Load() != nil }

// noWait undoes waitsFor. Afterwards no walk uses f: those that begin later do not find it, and one
// that has begun is waited for.
func (s *System) noWait(c *Ctx, f *call) {
	if c == nil {
		return
	}
	failpoint.At("no wait")
	c.wait.CompareAndSwap(f, nil)
	if walking.Load() {
		failpoint.Lock(&graph, "no wait")
		graph.Unlock()
	}
}

// walk looks for a path from a call to the handler me. It visits each handler once: there may
// be cycles that do not lead to me, since a cycle exists for a moment before unwait cuts it.
type walk struct {
	me    *Ctx
	id    uint64   // Ctx.walk of handlers that it has visited
	names []string // of the cycle, last first
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
	if a == nil {
		return false
	}
	if f.ends && w.end(a) || a.between() && w.life(a) {
		return true
	}
	if f.ends || f.room && a.letsIn(f) || !f.room && a.overtakes(f) {
		return false
	}
	for _, g := range a.handlers() {
		if w.handler(g) {
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
	g.walk = w.id
	found := g == w.me
	if !found {
		if in := g.inner.Load(); in != nil {
			found = w.handler(in)
		}
	}
	if !found {
		if f := g.wait.Load(); f != nil {
			found = w.call(f)
		}
	}
	if found {
		if a := g.a.Load(); a != nil {
			w.names = append(w.names, a.name)
		}
	}
	return found
}

// cycle returns each name once, in the order of the calls.
func (w *walk) cycle() []string {
	slices.Reverse(w.names)
	return distinct(w.names)
}

// blockedCall is a call that waits in a mailbox, and the handler that waits for it.
type blockedCall struct {
	f *call
	h *Ctx
}

// waiterSearch follows all waits of handlers, as a walk does, to calls that wait in mailboxes.
type waiterSearch struct {
	walk
	blocked []blockedCall // the last of a path first
}

func (s *waiterSearch) handler(g *Ctx) {
	if g.walk == s.id {
		return
	}
	g.walk = s.id
	if in := g.inner.Load(); in != nil {
		s.handler(in)
	}
	f := g.wait.Load()
	if f == nil || f.st.Load() > taken || f.to == nil {
		return
	}
	if by := f.by.Load(); by != nil {
		s.handler(by)
		return
	}
	if f.ends {
		s.below(f.to)
	} else {
		s.actor(f.to)
	}
	s.blocked = append(s.blocked, blockedCall{f, g})
}

func (s *waiterSearch) actor(a *actor) {
	for _, h := range a.handlers() {
		s.handler(h)
	}
}

// below is actor for a and its descendants.
func (s *waiterSearch) below(a *actor) {
	for _, b := range a.all() {
		s.actor(b)
	}
}

// cut claims the calls that would wait for themselves. The caller has to call over with them
// once it has released graph.
func (s *waiterSearch) cut() (cut []*call) {
	for _, e := range s.blocked {
		f, w := e.f, newWalk(e.h)
		if f.st.Load() != waiting || !w.call(f) || !f.st.CompareAndSwap(waiting, left) {
			continue
		} // claimed under graph: once its caller has held graph to leave it, f may be another call
		f.err = &DeadlockError{Cycle: w.cycle()}
		cut = append(cut, f)
	}
	return cut
}

// over tells the handlers that wait for calls that were cut.
func (s *System) over(cut []*call) {
	for _, f := range cut {
		s.deadlocks.Add(1)
		f.leaving(waiting, f.err)
		f.wake()
	}
}

// comesAfter reports whether the next incarnation of a has to wait for the end of b.
func (a *actor) comesAfter(b *actor) bool {
	for p := a; p != nil; p = p.up {
		if !p.between() {
			continue
		}
		for q := b; q != nil && q != p; q = q.up {
			if q.up == p {
				return true
			}
			if q.up != nil && q.up == p.up && q.isAwaited() {
				return true
			}
		}
	}
	return false
}

// enough is how many actors to look at, of those that an incarnation waits for.
const enough = 1 << 14

// before returns the actors that may have to end before the next incarnation of a.
func (a *actor) before() (list []*actor) {
	s := a.sys()
	s.tree.Lock()
	defer s.tree.Unlock()
	for p := a; p != nil; p = p.up {
		if !p.between() {
			continue
		}
		list = p.below(list)
		if p.up == nil {
			continue
		}
		for q := p.up.last(); q != nil; q = q.older {
			if q != p && q.isAwaited() {
				list = q.below(append(list, q))
			}
		}
	}
	return list
}

// life reports whether the next incarnation of a, which has none, waits for me.
func (w *walk) life(a *actor) bool {
	for _, b := range a.before() {
		if !a.comesAfter(b) {
			continue
		}
		for _, g := range b.handlers() {
			if w.handler(g) {
				w.names = append(w.names, a.name)
				return true
			}
		}
	}
	for _, g := range a.starts() {
		if w.handler(g) {
			w.names = append(w.names, a.name)
			return true
		}
	}
	return false
}

// starts returns the handlers that run starts which come before the next incarnation of a:
// a supervisor starts those that it restarts together one by one, the oldest first.
func (a *actor) starts() (all []*Ctx) {
	s := a.sys()
	s.tree.Lock()
	defer s.tree.Unlock()
	for p := a; p != nil; p = p.up {
		if !p.between() || !p.inLine() {
			continue
		}
		for q := p.older; q != nil; q = q.older {
			if q.inGroup() {
				all = append(all, q.handlers()...)
			}
		}
	}
	return all
}

// unwait ends the waits of handlers of a and of its descendants for calls that can be served
// only after the end of a, which is to end now.
func (a *actor) unwait() { a.sys().unwait(func(see *waiterSearch) { see.below(a) }) }

// unwaitStarts does the same for starts in progress of children that are restarted together:
// it ends their waits for calls that can be served only after those starts.
func (p *supervisor) unwaitStarts() {
	p.a.sys().unwait(func(see *waiterSearch) {
		for _, k := range p.set {
			if k.inGroup() {
				see.actor(k)
			}
		}
	})
}

func (s *System) unwait(from func(*waiterSearch)) {
	failpoint.Lock(&graph, "unwait")
	see := waiterSearch{walk: newWalk(nil)}
	from(&see)
	see.blocked = slices.DeleteFunc(see.blocked, func(v blockedCall) bool { return !v.f.room && !v.f.to.between() })
	cut := see.cut()
	endWalk()
	s.over(cut)
}

// distinct returns each name once, in order.
func distinct(names []string) (once []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			once = append(once, n)
		}
	}
	return once
}

// end reports whether the end of a waits for me.
func (w *walk) end(a *actor) bool {
	for _, b := range a.all() {
		for _, g := range b.handlers() {
			if w.handler(g) {
				if a.name != "" { // else a is the root, which stands for its System
					w.names = append(w.names, a.name)
				}
				return true
			}
		}
	}
	return false
}

// awaitEnd waits until an actor whose start has failed is gone, children first. c, which
// may be nil, is the handler that has started it. That handler has to hear of the failure. So
// where it and other handlers wait for each other, the calls of the others are refused.
func (a *actor) awaitEnd(c *Ctx) {
	s, done := a.sys(), a.ended()
	if c != nil {
		f := &call{to: a, ends: true}
		f.st.Store(taken) // no other goroutine may end it
		failpoint.Lock(&graph, "await end")
		c.wait.CompareAndSwap(nil, f)
		see := waiterSearch{walk: newWalk(nil)}
		see.below(a)
		cut := see.cut()
		endWalk()
		s.over(cut)
		t := c.pause()
		defer c.resume(t)
		defer s.noWait(c, f)
	}
	select {
	case <-done:
	case <-s.stopped:
	}
}

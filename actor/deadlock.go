package actor

import (
	"slices"
	"sync"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The rule of deadlocks is about handlers. A handler waits for a call. A call that is
// being served waits for its handler; a call that is not waits for those handlers of its
// target that it may not overtake. Before a handler begins to wait, it walks along these
// waits, beginning with the call. If the walk comes back to the handler, the call would
// never end.
//
// Pointers of handlers that begin to wait are written under graph, and the walk
// holds it. Those of calls that run on their caller's goroutine are written, and cleared,
// without it. That gives no false alarm: every handler on a path that ends at the walker
// waits for another handler that waits, down to the last one. The last has waited since
// before the walk began, and cannot be answered while the walk lasts, so no pointer on
// that path changes during the walk. And it misses nothing: the last handler of a cycle
// to begin to wait sees the others' pointers, all written before.

// graph is one lock for all Systems, because handlers may call actors of another System.
// It is locked before any actor's mu.
var graph sync.Mutex

// walks counts the walks that have begun; guarded by graph.
var walks uint64

// mark notes whether a handler of f's target has caused f, which is not posted yet.
func (s *System) mark(c *Ctx, f *call) {
	if c == nil || f.to.set.reent == None {
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
	failpoint.Lock(&graph, "waits for")
	defer graph.Unlock()
	w := newWalk(c)
	if w.call(f) {
		s.deadlocks.Add(1)
		return &DeadlockError{Cycle: w.cycle()}
	}
	c.wait.CompareAndSwap(nil, f) // else another goroutine of the handler waits already
	return nil
}

// noWait undoes waitsFor. It locks graph, so that no walk uses f afterwards.
func (s *System) noWait(c *Ctx, f *call) {
	if c == nil {
		return
	}
	failpoint.Lock(&graph, "no wait")
	c.wait.CompareAndSwap(f, nil)
	graph.Unlock()
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

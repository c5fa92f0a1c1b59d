package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// A handler that waits for the end of an actor, in Ref.Stop, or in Spawn if start has failed,
// waits for all handlers in progress of that actor and of its descendants: they end before
// it does. So does one that waits for the end of another System.

// all returns a and its descendants.
func (a *actor) all() []*actor {
	s := a.sys()
	s.tree.Lock()
	defer s.tree.Unlock()
	return a.below([]*actor{a})
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
		graph.Unlock()
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

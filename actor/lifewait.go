package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// A call to an actor without an incarnation waits for the next one, and that waits for
// others to end first: the children of the last one, and the siblings that its supervisor
// takes down with it. A handler of theirs that waits for the call, directly or by way of
// others, would wait for itself. The last one to begin sees it: the handler, in
// waitsFor, or whatever ends its actor, in unwait. Both hold graph while they look.

// vain is a call that waits in the mailbox of an actor which has no incarnation or is about to
// lose it, and the handler that waits for it.
type vain struct {
	f *call
	h *Ctx
}

// search follows all that handlers wait for, as a walk does, to calls that wait for an
// incarnation.
type search struct {
	walk
	ends []vain
}

func (s *search) handler(g *Ctx) {
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
	if f.to.between() {
		s.ends = append(s.ends, vain{f, g})
	}
	for _, h := range f.to.handlers() {
		s.handler(h)
	}
}

// between reports whether the actor has no incarnation, or one that has to end and takes no
// message before that, and will have another one.
func (a *actor) between() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.doomed && (a.life == failed || a.life == down || a.recycle && a.life != ended && a.atRest())
}

// broken reports whether the actor takes no message because it has failed, not even one that
// its handlers in progress wait for. One that is to be taken down does take those.
func (a *actor) broken() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life == failed || a.life == down
}

// recycled reports whether the actor's supervisor takes it down.
func (a *actor) recycled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.recycle
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
			if q.up != nil && q.up == p.up && q.recycled() {
				return true
			}
		}
	}
	return false
}

// enough actors to look at, of those that an incarnation waits for.
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
			if q != p && q.recycled() {
				list = q.below(append(list, q))
			}
		}
	}
	return list
}

// below adds the descendants of a to list. The caller holds System.tree.
func (a *actor) below(list []*actor) []*actor {
	for k := a.last(); k != nil && len(list) < enough; k = k.older {
		list = k.below(append(list, k))
	}
	return list
}

// handlers returns those in progress.
func (a *actor) handlers() (all []*Ctx) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g := a.cur.Load(); g != nil {
		all = append(all, g)
	}
	if a.x != nil {
		all = append(all, a.x.holders...)
	}
	return all
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
	return false
}

// unwait ends what handlers of a and of its descendants wait for, where that comes only
// after the end of a, which is to end now.
func (a *actor) unwait() {
	s := a.sys()
	failpoint.Lock(&graph, "unwait")
	see := search{walk: newWalk(nil)}
	s.tree.Lock()
	all := a.below([]*actor{a})
	s.tree.Unlock()
	for _, b := range all {
		for _, g := range b.handlers() {
			see.handler(g)
		}
	}
	var over []*call
	for _, e := range see.ends {
		f, w := e.f, newWalk(e.h)
		if f.st.Load() != waiting || !w.call(f) || !f.st.CompareAndSwap(waiting, left) {
			continue
		} // claimed under graph: once its caller has been there the call may be another one
		f.err = &DeadlockError{Cycle: w.cycle()}
		over = append(over, f)
	}
	graph.Unlock()
	for _, f := range over {
		s.deadlocks.Add(1)
		f.leaving(f.to.sys(), waiting, f.err)
		f.wake()
	}
}

// unique returns each name once, in order.
func unique(names []string) (once []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			once = append(once, n)
		}
	}
	return once
}

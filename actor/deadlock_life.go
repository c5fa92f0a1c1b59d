package actor

import (
	"slices"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A call to an actor without an incarnation waits for the next incarnation, which cannot
// begin before others have ended: the children of the last incarnation, and the siblings that
// the supervisor takes down with the actor. A handler of one of these that waits for the call,
// directly or through others, would wait for itself. The side that begins last sees the cycle:
// the handler, in waitsFor, or the goroutine that ends the handler's actor, in unwait. Both hold
// graph while they look.

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

// between reports whether the actor has no incarnation, or one that has to end and takes no
// message before that, and will have another one.
func (a *actor) between() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.betweenLocked()
}

// isAwaited reports whether the supervisor waits for the end of the actor's incarnation.
func (a *actor) isAwaited() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.awaited
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

// below adds the descendants of a to list. The caller holds System.tree.
func (a *actor) below(list []*actor) []*actor {
	for k := a.last(); k != nil && len(list) < enough; k = k.older {
		list = k.below(append(list, k))
	}
	return list
}

// handlers returns the handlers in progress.
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

// inGroup reports whether a is down, and is restarted together with siblings.
func (a *actor) inGroup() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isDown() && a.x.restartsInGroup
}

// inLine reports whether its supervisor still has to start a, after older siblings: a is in a
// group, and its start has not been requested. (It may have been, if a sibling has failed since.)
func (a *actor) inLine() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.x != nil && a.x.restartsInGroup && a.life != rising
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
	graph.Unlock()
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

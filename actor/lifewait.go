package actor

import (
	"slices"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A call to an actor without an incarnation waits for the next one, and that waits for
// others to end first: the children of the last one, and the siblings that its supervisor
// takes down with it. A handler of theirs that waits for the call, directly or by way of
// others, would wait for itself. The last one to begin sees it: the handler, in
// waitsFor, or whatever ends its actor, in unwait. Both hold graph while they look.

// vain is a call that waits in a mailbox, and the handler that waits for it.
type vain struct {
	f *call
	h *Ctx
}

// search follows all that handlers wait for, as a walk does, to calls that wait in mailboxes.
type search struct {
	walk
	vain []vain // the last of a way first
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
	if f.ends {
		s.below(f.to)
	} else {
		s.actor(f.to)
	}
	s.vain = append(s.vain, vain{f, g})
}

func (s *search) actor(a *actor) {
	for _, h := range a.handlers() {
		s.handler(h)
	}
}

// below is actor for a and its descendants.
func (s *search) below(a *actor) {
	for _, b := range a.all() {
		s.actor(b)
	}
}

// cut claims the calls that would wait for themselves; over has to be called then, without
// graph.
func (s *search) cut() (cut []*call) {
	for _, e := range s.vain {
		f, w := e.f, newWalk(e.h)
		if f.st.Load() != waiting || !w.call(f) || !f.st.CompareAndSwap(waiting, left) {
			continue
		} // claimed under graph: once its caller has been there the call may be another one
		f.err = &DeadlockError{Cycle: w.cycle()}
		cut = append(cut, f)
	}
	return cut
}

// over tells those that wait about calls that were cut.
func (s *System) over(cut []*call) {
	for _, f := range cut {
		s.deadlocks.Add(1)
		f.leaving(f.to.sys(), waiting, f.err)
		f.wake()
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
	return a.life == down && a.x.together
}

// inLine reports whether its supervisor will start a in its turn: it is in a group, and has
// not been told to start, as it may be where a sibling has failed since.
func (a *actor) inLine() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.x != nil && a.x.together && (a.life != down || !a.x.goUp && !a.x.rises)
}

// unwait ends what handlers of a and of its descendants wait for, where that comes only
// after the end of a, which is to end now.
func (a *actor) unwait() { a.sys().unwait(func(see *search) { see.below(a) }) }

// unwaitStarts does the same for starts in progress of children that are restarted together,
// and where that comes only after those starts.
func (p *supervisor) unwaitStarts() {
	p.a.sys().unwait(func(see *search) {
		for _, k := range p.set {
			if k.inGroup() {
				see.actor(k)
			}
		}
	})
}

func (s *System) unwait(from func(*search)) {
	failpoint.Lock(&graph, "unwait")
	see := search{walk: newWalk(nil)}
	from(&see)
	see.vain = slices.DeleteFunc(see.vain, func(v vain) bool { return !v.f.to.between() })
	cut := see.cut()
	graph.Unlock()
	s.over(cut)
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

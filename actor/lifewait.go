package actor

import "github.com/firq-go/firq/internal/failpoint"

// A call to an actor without an incarnation waits for the next one, and that waits for
// others to end first: the children of the last one, and the siblings that its supervisor
// takes down with it. A handler of theirs that waits for the call, directly or by way of
// others, would wait for itself. Who begins to wait last sees it: the handler, in
// waitsFor, or who ends its actor, in unwait. Both hold graph while they look.

// last returns the call at the end of what g waits for, if it waits in the mailbox of an
// actor that has no incarnation or is about to lose it, and the names on the way there.
// The caller holds graph.
func last(g *Ctx, names []string) (*call, []string) {
	for n := 0; g != nil && n < 1<<16; n++ {
		if a := g.a.Load(); a != nil && g.inner.Load() == nil {
			names = append(names, a.name)
		}
		if in := g.inner.Load(); in != nil {
			g = in
			continue
		}
		f := g.wait.Load()
		if f == nil {
			return nil, nil
		}
		var end bool
		if g, end = f.next(); end {
			return f, append(names, f.to.name)
		}
	}
	return nil, nil
}

// next returns the handler that f waits for; end: it waits for an incarnation.
func (f *call) next() (g *Ctx, end bool) {
	if f.st.Load() > taken || f.to == nil {
		return nil, false
	}
	if g = f.by.Load(); g != nil {
		return g, false
	}
	if f.to.between() {
		return nil, true
	}
	return f.to.cur.Load(), false
}

// between reports whether the actor has no incarnation, or one that has to end, and will
// have another one.
func (a *actor) between() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.doomed && (a.life == failed || a.life == down || a.recycle && a.life != ended)
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
			q.mu.Lock()
			beside := q.recycle && q.up != nil && q.up == p.up
			q.mu.Unlock()
			if beside {
				return true
			}
		}
	}
	return false
}

// endless returns the cycle if the handler of c, which is about to wait for f, or one that
// waits for that handler, has to end before f can be handled. The caller holds graph.
func (c *Ctx) endless(f *call) []string {
	to := f
	var names []string
	switch g, end := f.next(); {
	case end:
		names = []string{f.to.name}
	case g == nil:
		return nil
	default:
		if to, names = last(g, nil); to == nil {
			return nil
		}
	}
	for y, n := c, 0; y != nil && n < 1<<16; y, n = y.caller.Load(), n+1 {
		a := y.a.Load()
		if a == nil {
			return nil
		}
		names = append([]string{a.name}, names...)
		if to.to.comesAfter(a) {
			return unique(names)
		}
	}
	return nil
}

// unwait ends what handlers of a wait for, where that comes only after the end of a, which
// is to end now.
func (a *actor) unwait() {
	s := a.sys()
	failpoint.Lock(&graph, "unwait")
	a.mu.Lock()
	var all []*Ctx
	if g := a.cur.Load(); g != nil {
		all = append(all, g)
	}
	if a.x != nil {
		all = append(all, a.x.holders...)
	}
	a.mu.Unlock()
	type wait struct {
		f   *call
		err error
	}
	var vain []wait
	for _, g := range all {
		if f, names := last(g, nil); f != nil && f.to.comesAfter(a) {
			vain = append(vain, wait{f, &DeadlockError{Cycle: unique(names)}})
		}
	}
	graph.Unlock()
	for _, v := range vain {
		s.deadlocks.Add(1)
		v.f.interrupt(v.f.to.sys(), v.err)
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

package firqfleet

import (
	"github.com/firq-go/firq/gate"
)

// check reports whether the lease is valid, and ends what it stood for if it has run out. Under mu. All that gives out slots asks
// it first.
func (g *Gate) check() bool {
	if g.leased && g.expired() {
		g.lose()
	}
	return g.leased
}

// lapse is called when the lease ends.
func (g *Gate) lapse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check()
	g.settle()
}

// lose ends what the lease stood for: permits that are out stay out, and everything else belongs to others. Under mu.
func (g *Gate) lose() {
	l := g.lease()
	g.leased, g.known = false, false
	g.counters.lost++
	if f := g.cfg.OnLost; f != nil {
		go f(l)
	}
	g.yieldFree() // counted, as a round trip that joins may be on its way that has declared it
	g.refresh()
	g.withoutServer()
	g.poke()
}

// down reports whether the server is away and the lease has run out. Under mu.
func (g *Gate) down() bool { return !g.check() && g.away }

// withoutServer does what Config.Down says, if it is time. Under mu.
func (g *Gate) withoutServer() {
	if g.cfg.Down == Wait || !g.down() {
		return
	}
	if g.cfg.Down == Refuse {
		g.refuse(ErrUnavailable)
		return
	}
	share := g.ownShare()
	for e := g.waiting.Front(); e != nil; {
		t, next := e.Value.(*tenant), e.Next()
		c := t.head()
		switch {
		case g.mayShare(t, c.weight):
			g.waiting.MoveToBack(e)
			p := g.share(t, c.weight, c.cost)
			p.waited = g.now() - c.since
			g.finish(c, gate.PermitOf[string](p), nil)
			next = g.waiting.Front()
		case c.weight <= share && (t.most == 0 || t.turns < t.most):
			return // it gets slots as they come
		}
		e = next
	}
}

// refuse ends all calls that wait. Under mu.
func (g *Gate) refuse(err error) {
	for _, t := range g.tenants {
		for c := t.head(); c != nil; c = t.head() {
			g.finish(c, gate.Permit[string]{}, err)
		}
		g.refuseHeavy(t, err)
	}
	g.settle()
}

// refuseHeavy ends the calls of a tenant that wait aside. Under mu.
func (g *Gate) refuseHeavy(t *tenant, err error) {
	for e := t.heavy.Front(); e != nil; e = t.heavy.Front() {
		g.finish(e.Value.(*call), gate.Permit[string]{}, err)
	}
}

// ownShare is how many slots Share gives out here. Under mu.
func (g *Gate) ownShare() int { return max(1, g.limit/max(1, g.members)) }

// mayShare reports whether Share has n slots for the tenant. Under mu.
func (g *Gate) mayShare(t *tenant, n int) bool {
	return g.cfg.Down == Share && g.down() && g.inUse()+n <= g.ownShare() && (t.most == 0 || t.turns < t.most)
}

// share gives out n slots without the server, as a turn that it hears of later. Under mu.
func (g *Gate) share(t *tenant, n int, cost int64) *permit {
	g.counters.alone++
	t.turns++
	g.turns += n
	t.ended-- // that is how it hears of it, unless it is declared by joining
	t.backSlots -= n
	g.mark(t)
	return g.permit(t, turn{slots: n, start: g.now()}, n, cost)
}

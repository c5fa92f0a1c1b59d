package firqfleet

import (
	"github.com/firq-go/firq/gate"
)

// begin begins a turn of a tenant that the server has given, with the call that is next. Under mu.
func (g *Gate) begin(t *tenant, tn turn) {
	g.counters.turns++
	t.turns++
	g.turns += tn.slots
	t.told = max(0, t.told-1)
	c := t.head()
	if c == nil || c.weight > tn.slots {
		g.endTurn(t, tn)
		return
	}
	if more := tn.slots - c.weight; more > 0 { // a lighter call is next than the server knows of
		tn.slots -= more
		g.turns -= more
		t.backSlots += more
		g.mark(t)
		g.poke()
	}
	g.grant(c, tn)
	if 2*t.told < t.n {
		g.poke()
	}
}

// grant gives a call the permit of a turn. Under mu.
func (g *Gate) grant(c *call, tn turn) {
	p := g.permit(c.t, tn, c.weight, c.cost)
	p.waited = g.now() - c.since
	g.finish(c, gate.PermitOf[string](p), nil)
}

// endPermit takes back the permit of a turn, which goes on with the tenant's next call, or ends.
func (g *Gate) endPermit(p *permit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, tn := p.t, p.turn
	tn.cost += float64(p.cost)
	g.turnUse -= p.slots
	if !g.reuse(t, tn) {
		g.endTurn(t, tn)
		g.withoutServer()
	}
	g.settle()
}

// reuse goes on with a turn, unless it was long enough for the calls that wait. Under mu.
func (g *Gate) reuse(t *tenant, tn turn) bool {
	c := t.head()
	if c == nil || c.weight != tn.slots || g.cfg.Slice < 0 || g.over || t.most > 0 && t.turns > t.most || !g.check() {
		return false
	}
	if now := g.now(); now-tn.start >= g.cfg.Slice {
		if g.hungry || now < t.wanted {
			return false
		}
		g.reckon(t, tn)
		tn = turn{slots: tn.slots, start: now}
	}
	g.counters.reused++
	g.grant(c, tn)
	return true
}

// reckon notes what a turn cost. Under mu.
func (g *Gate) reckon(t *tenant, tn turn) {
	t.charge += tn.cost - tn.charged
	if tn.cost > 0 {
		t.cost += (tn.cost - t.cost) / 4
	}
	g.mark(t)
}

// endTurn ends a turn that no permit has: its slots are parked for the tenant's next call, or free here, or go back. Under mu.
func (g *Gate) endTurn(t *tenant, tn turn) {
	if t.most > 0 && g.keeps() && g.now() >= t.wanted {
		g.reckon(t, tn)
		t.parked = append(t.parked, turn{slots: tn.slots})
		return
	}
	g.drop(t, tn, t.most == 0 && g.keeps())
}

// keeps reports whether slots that come free may stay here. Under mu.
func (g *Gate) keeps() bool { return g.check() && !g.hungry && !g.closed }

// drop ends a turn; its slots are kept here, or go back. Under mu.
func (g *Gate) drop(t *tenant, tn turn, keep bool) {
	g.reckon(t, tn)
	t.turns--
	t.ended++
	g.turns -= tn.slots
	if keep {
		g.here.add(tn.slots)
		g.serve()
		return
	}
	t.backSlots += tn.slots
	g.poke()
}

// unpark ends the turns of a tenant that no permit has. Under mu.
func (g *Gate) unpark(t *tenant) {
	for _, tn := range t.parked {
		g.drop(t, tn, false)
	}
	t.parked = nil
}

// setHungry notes whether calls wait somewhere: then all that is free here goes back. Under mu.
func (g *Gate) setHungry(hungry bool) {
	g.hungry = hungry
	if hungry {
		g.yieldFree()
	}
}

// yieldFree gives back what is free here. Under mu.
func (g *Gate) yieldFree() {
	if n := g.here.drain(0); n > 0 {
		g.giveBack(n)
	}
	if g.limited {
		for _, t := range g.tenants {
			g.unpark(t)
		}
	}
}

// serve gives free slots of this process to calls that wait here, a tenant after another, while none waits elsewhere. Under mu.
func (g *Gate) serve() {
	if g.hungry || !g.check() {
		return
	}
	for e := g.waiting.Front(); e != nil && g.here.load().idle() > 0; {
		t, next := e.Value.(*tenant), e.Next()
		if t.most == 0 {
			c := t.head()
			if !g.here.take(c.weight, false) {
				return
			}
			g.immediate.Inc()
			p := g.permits.Get().(*permit)
			p.name, p.slots, p.waited = t.name, c.weight, g.now()-c.since
			g.waiting.MoveToBack(e)
			g.finish(c, gate.PermitOf[string](p), nil)
			next = g.waiting.Front()
		}
		e = next
	}
}

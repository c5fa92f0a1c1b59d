package firqfleet

import (
	"sync"
	"time"

	"github.com/firq-go/firq/gate"
)

// permit stands behind one gate.Permit after another. It belongs to its gate's pool, or to the permit that is out.
type permit struct {
	gate *Gate // immutable

	mu  sync.Mutex // guards gen, and cost while a permit is out; the others do not change then
	gen uint64     // changes when the permit is released

	name   string
	t      *tenant // nil: it has no turn
	turn   turn
	slots  int   // of the permit; its turn may have more
	cost   int64 // of a permit with a turn, as corrected by Charge
	waited time.Duration
}

var _ gate.Reused = (*permit)(nil)

// Generation is of gate.Reused.
func (p *permit) Generation() uint64 { return p.gen }

// Release is of gate.Holder; a gate.Permit calls ReleaseOf.
func (p *permit) Release() { p.ReleaseOf(p.gen) }

// Charge is of gate.Holder; a gate.Permit calls ChargeOf.
func (p *permit) Charge(delta int64) { p.ChargeOf(p.gen, delta) }

// Waited is of gate.Holder; a gate.Permit calls WaitedOf.
func (p *permit) Waited() time.Duration { return p.WaitedOf(p.gen) }

// ReleaseOf is gate.Permit.Release. It never waits for the server.
func (p *permit) ReleaseOf(gen uint64) {
	p.mu.Lock()
	if p.gen != gen {
		p.mu.Unlock()
		return
	}
	p.gen++ // from here on p is ours alone
	p.mu.Unlock()
	g := p.gate
	if p.t != nil {
		g.endPermit(p)
	} else if n := p.slots; !g.here.put(n, true) {
		g.releaseSlow(n)
	}
	p.name, p.t, p.waited = "", nil, 0
	g.permits.Put(p)
}

// ChargeOf is gate.Permit.Charge. The server learns what a permit of a turn costs when its turn ends. A permit without a turn was paid by
// no tenant's share: a lower cost gives nothing back, a higher one is a debt.
func (p *permit) ChargeOf(gen uint64, delta int64) {
	p.mu.Lock()
	if p.gen != gen {
		p.mu.Unlock()
		return
	}
	g, name := p.gate, p.name
	turn := p.t != nil
	if turn {
		if sum := p.cost + delta; delta > 0 && sum < 0 {
			p.cost = 1<<63 - 1
		} else {
			p.cost = max(sum, 0)
		}
	}
	p.mu.Unlock()
	if turn || delta <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.find(name)
	t.charge += float64(delta)
	g.mark(t)
}

// WaitedOf is gate.Permit.Waited.
func (p *permit) WaitedOf(gen uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen != gen {
		return 0
	}
	return p.waited
}

// releaseSlow takes back the n slots of a permit without a turn.
func (g *Gate) releaseSlow(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.keeps() {
		g.here.end(n)
		g.giveBack(n)
	} else {
		g.here.put(n, false)
		g.serve()
	}
	g.settle()
}

// giveBack has n slots go back with the next round trip. Under mu.
func (g *Gate) giveBack(n int) {
	g.back += n
	g.poke()
}

// settle sees to it that Shutdown hears of the end. Under mu, after something may have become less.
func (g *Gate) settle() {
	if g.closed && !g.drained && g.calls == 0 && g.inUse() == 0 {
		g.drained = true
		close(g.idle)
		g.poke()
	}
	g.refresh()
}

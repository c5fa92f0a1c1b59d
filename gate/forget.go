package gate

import (
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// What a gate remembers of a tenant (that it had to wait, and its debts) is
// forgotten when a call looks; the scheduler looks at each of its calls. While
// permits are given immediately, no call reaches it. So, as long as there is something to
// forget, a release sets a timer, of half a TenantIdle, which looks:
//
//	nothing ──> something ──> timed ──> nothing, or something
//
// The call that makes the gate remember something makes it do so before it looks at the state;
// the timer sets it to nothing before it looks for something. So one of the two sees the other.
const (
	nothing   = iota // to forget
	something        // and no timer
	timed
)

// remembers notes that there is something to forget.
func (g *Gate[K]) remembers() {
	failpoint.At("remembers?")
	if g.memory.Load() == nothing {
		g.memory.CompareAndSwap(nothing, something)
	}
}

// forgetLater sets the timer, unless it is set.
func (g *Gate[K]) forgetLater() {
	if g.memory.CompareAndSwap(something, timed) {
		time.AfterFunc(g.forgetEvery, g.forget)
	}
}

// forget forgets what is old enough. If something is left the next release sees to
// it; where none is to be expected the timer goes on by itself, until nothing is.
func (g *Gate[K]) forget() {
	g.memory.Store(nothing)
	failpoint.At("forget")
	g.debts.sweep()
	if g.s.Stats().Tenants == 0 && !g.debts.some.Load() {
		return
	}
	g.remembers()
	if w := g.load(); w.inUse()+w.waiting() == 0 && !w.closed() {
		g.forgetLater()
	}
}

package actor

import (
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// How a supervisor takes a group of children down and up again, one by one: from the youngest
// to the oldest down, from the oldest to the youngest up, so that a child finds the older
// siblings it may use. Each function takes one step and is called again when the child that it
// has asked is down, or up. Above them is what the child does when it is asked.

// endIncarnation ends the incarnation of a child that is to be restarted. A child that gets no
// other incarnation ends permanently.
func (a *actor) endIncarnation(why error) {
	failpoint.At("take down")
	a.mu.Lock()
	if a.life == down { // it has just come down, and its supervisor hears of that
		a.mu.Unlock()
		return
	}
	// For the rule of deadlocks, and for head: calls to this actor wait for its next
	// incarnation once its handlers are over.
	a.awaited = true
	if !a.again() {
		a.mu.Unlock()
		// Its state cannot be made again (Value), or its start has ended it: this is its last
		// incarnation.
		a.terminate(why)
		a.unwait()
		return
	}
	// The rest of a batch is the next incarnation's.
	a.recall()
	// In the states in which it goes down anyway this changes nothing.
	a.on(takenDown)
	a.extra().takenDownFor = why
	// Fewer messages pass the handlers that wait from now on.
	a.sortRoom()
	a.unlockWake(nil)
	a.unwait()
}

// requestStart lets a child that is down start its next incarnation.
func (a *actor) requestStart() {
	failpoint.At("raise")
	a.mu.Lock()
	// Nothing changes unless it is down: it may have ended, or be up by another request.
	if !a.x.uncounted {
		a.on(wanted)
	}
	a.unlockWake(nil)
}

// setInGroup notes whether a is restarted in a group of siblings, one by one.
func (a *actor) setInGroup(yes bool) {
	a.mu.Lock()
	a.extra().restartsInGroup = yes
	a.mu.Unlock()
}

// endNext ends the youngest incarnation of the set that is up; true: all are down.
func (p *supervisor) endNext(g *group) bool {
	if !g.endYoungest() {
		return false
	}
	// All of the group are down. Their messages wait in the mailboxes.
	g.phase = backingOff
	p.unwaitStarts() // of those that were down before
	wait := p.delay.next(p.a.sys(), &p.v, time.Now())
	// The wait belongs to the restart that has begun it: restarts does not count this time as
	// up.
	if n := len(p.recent); n > 0 {
		p.recent[n-1].wait = wait
	}
	p.a.sys().later(wait, func() {
		g.rang.Store(true)
		p.a.nudge()
	})
	return true
}

// startNext starts the oldest of the set that is down; true: none is.
func (p *supervisor) startNext(g *group) bool {
	for len(g.set) > 0 {
		// The oldest that was not looked at: those before it are up.
		k := g.set[0]
		k.mu.Lock()
		life := k.life
		k.mu.Unlock()
		switch life {
		case down, rising:
			// The next one of the group. Its start nudges this supervisor when it is up, or has
			// failed.
			k.requestStart()
			return false
		case restarting, failed, falling:
			k.endIncarnation(g.why) // for its handlers, which must not wait for those that come up after it
			return false            // it comes down again, and says so
		}
		// It is up, or it has ended for good.
		k.setInGroup(false)
		g.set = g.set[1:]
	}
	p.group = nil
	return true
}

// endAll ends the incarnations of all children because that of the supervisor ends; false: one of
// them is still up.
func (p *supervisor) endAll(why error) bool {
	// The first step of this end; later ones go on where it was.
	if p.group == nil || p.group.phase != endingAll {
		all := p.a.sys().children(p.a) // no child is added before startAll
		p.group = &group{phase: endingAll, set: all, up: len(all), why: why}
	}
	return p.group.endYoungest()
}

// endYoungest ends the youngest incarnation of the set that is up; true: all are down. It goes on
// from up, as those behind it have ended. But the end of a backoff may have started one of them again,
// so the last look is at all.
func (g *group) endYoungest() bool {
	for last := g.up == 0; ; last = true {
		for ; g.up > 0; g.up-- {
			k := g.set[g.up-1]
			if !k.is((*actor).isDown) && !k.is((*actor).over) {
				// Its end nudges the supervisor, whose next step goes on below it.
				k.endIncarnation(g.why)
				return false
			}
		}
		if last {
			return true
		}
		g.up = len(g.set)
	}
}

// startAll starts all children, as if the supervisor had just been made.
func (p *supervisor) startAll() {
	p.mu.Lock()
	// Failures of incarnations that ended with the supervisor's own.
	p.losses = nil
	p.mu.Unlock()
	// As if just made: what its children did before its own failure does not count.
	p.recent, p.delay = nil, backoff{}
	// The steps of a group's restart do the rest, in the next turn of the supervisor: all, the oldest
	// first, and with a new backoff for each.
	p.group = &group{phase: startingSet, set: p.a.sys().children(p.a)}
	for _, k := range p.group.set {
		k.mu.Lock()
		// restartsInGroup for the rule of deadlocks: the start of one waits for those of the
		// older ones.
		x := k.extra()
		x.delay, x.restartsInGroup, x.uncounted = backoff{}, true, false
		k.mu.Unlock()
	}
	p.unwaitStarts()
	p.a.nudge()
}

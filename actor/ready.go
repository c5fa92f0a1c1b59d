package actor

import (
	"slices"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// How a turn changes hands. The goroutine that brings work (a message, a step, a handler that has waited)
// wakes the actor; the one that gives up the turn looks for work once more. Both happen under mu,
// and the actor goes into the run queue after mu is free.

// wake makes an idle actor ready if it has something to do, and reports whether it did.
// The caller holds a.mu, and has to schedule an actor that was made ready.
func (a *actor) wake() bool {
	// Ready or busy: the goroutine that has the turn, or will have it, sees the work when it
	// gives the turn back.
	if a.turn != idle || !a.runnable() {
		return false
	}
	a.turn = ready
	return true
}

// runnable reports whether a goroutine that gets the turn has something to do. The
// caller holds a.mu.
func (a *actor) runnable() bool {
	if a.owesTurn() {
		return true // also after Close has ended the actor
	}
	if a.due() && a.atRest() {
		return true
	}
	// Messages that a suspended handler may wait for come before a step. Without one, it is due only
	// once those who read have left.
	return a.serves() && a.head() != nil && (!a.due() || a.x.suspended > 0)
}

// unlockWake frees a.mu, and schedules the actor if it was idle and has something to do. c is the
// handler that has caused that; nil: none has.
func (a *actor) unlockWake(c *Ctx) { a.unlockReady(a.wake(), c) }

// unlockReady frees a.mu, and puts an actor that was made ready under it into its run queue: after a.mu, as
// the queue may wake a worker, which takes a.mu first of all.
func (a *actor) unlockReady(ready bool, c *Ctx) {
	a.mu.Unlock()
	if ready {
		failpoint.At("schedule")
		a.pool().ready(a, c)
	}
}

// pool is where the actor waits for a slot.
func (a *actor) pool() *pool {
	if a.set.dedicated {
		return a.x.pool
	}
	return &a.set.sys.pool
}

// release gives up the turn: to a handler that wants it back, to the run queue, or to
// no goroutine.
func (a *actor) release() {
	a.cur.Store(nil)
	failpoint.At("release")
	a.mu.Lock()
	a.unlockReady(a.releaseLocked(), nil)
}

// releaseLocked is release for a caller that holds a.mu. It reports whether the actor is ready.
func (a *actor) releaseLocked() bool {
	a.recall()
	if a.owesTurn() {
		a.handOver()
		return false
	}
	// First idle, and then the same question that a sender asks: what came while the turn was
	// taken is found now.
	a.turn = idle
	return a.wake()
}

// dropped takes back a turn that no worker will take, because the pool is closed. A handler
// that Close does not wait for may want that turn.
func (a *actor) dropped() {
	a.mu.Lock()
	if a.turn == ready {
		a.turn = idle
		if a.owesTurn() {
			// The handler that takes it was waiting for exactly this turn.
			a.turn = busy
			a.handOver()
		}
	}
	a.mu.Unlock()
}

// owesTurn reports whether a handler that has waited wants the turn back, and may have it. The caller holds a.mu.
func (a *actor) owesTurn() bool { return a.x != nil && len(a.x.resume) > 0 && a.x.readers == 0 }

// handOver gives the turn to a handler that wants it back. The caller holds a.mu and
// has the turn, which stays busy.
func (a *actor) handOver() {
	x := a.x
	c := x.resume[0]
	// The slice is cut from the front, and would keep the Ctx.
	x.resume[0] = nil
	x.resume = x.resume[1:]
	a.resumed(c)
	// It has room for one, and c waits for one: this does not block under mu.
	c.turn <- struct{}{}
}

// resumed makes c the handler that has the turn. The caller holds a.mu.
func (a *actor) resumed(c *Ctx) {
	a.x.suspended--
	a.dropHolder(c)
	c.hold = holdTurn
	// Under mu, as the turn is: a walk that reads cur under mu sees the handler that has it.
	a.cur.Store(c)
}

// dropHolder takes c out of the handlers in addition to the one with the turn. The caller holds a.mu.
func (a *actor) dropHolder(c *Ctx) {
	// Absent only if the handler has just been taken out by the goroutine that abandons it.
	if i := slices.Index(a.x.holders, c); i >= 0 {
		a.x.holders = slices.Delete(a.x.holders, i, i+1)
	}
}

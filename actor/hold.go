package actor

import (
	"slices"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// What a handler holds of its actor: the turn, a place among the readers, or nothing while it
// waits. It gets it when it begins, gives it up when it waits in a reentrant actor (suspend),
// gets it back (regain), and gives it back at its end: by its worker's turn, or by leave where
// no turn of a worker is in progress. A timeout may take it away at any of these moments, so
// hold changes under the actor's mu only.

// hold says whether a handler has its actor's turn, reads, or waits.
type hold uint8

const (
	holdTurn hold = iota
	holdRead
	holdNothing // it waits, or was abandoned
)

// enter makes c one of the handlers that are in progress in addition to the one that has
// the turn. The caller holds a.mu.
func (a *actor) enter(c *Ctx) {
	x := a.extra()
	// Before the turn is given up: as long as this counts, no writer begins and no step of the
	// life is taken.
	x.readers++
	x.holders = append(x.holders, c)
	c.hold = holdRead
}

// letGo takes from a handler what it holds of its actor, and reports whether the actor is ready now. The
// caller holds a.mu.
func (a *actor) letGo(c *Ctx) (ready bool) {
	// What c holds is decided under mu: its timeout may take it at the same time.
	hold := c.hold
	// From here on no other goroutine takes it from c a second time.
	c.hold = holdNothing
	// Its turn is free; whether a message or a handler that has waited gets it is decided in
	// the same step.
	if hold == holdTurn {
		a.cur.Store(nil)
		return a.releaseLocked()
	}
	a.dropHolder(c)
	if hold == holdRead {
		// The last reader makes way for writers, steps, and handlers that want the turn.
		a.x.readers--
	} else {
		a.x.suspended--
		// It was abandoned while it waited for the turn.
		if i := slices.Index(a.x.resume, c); i >= 0 {
			a.x.resume = slices.Delete(a.x.resume, i, i+1)
			c.turn <- struct{}{} // it was abandoned, and goes on without the turn
		}
	}
	// With one handler less the actor may have something to do: a step, a writer, a message.
	return a.wake()
}

// leave ends a handler whose turn no worker charges: one that reads, or whose goroutine ends.
func (a *actor) leave(c *Ctx) {
	failpoint.At("leave reader")
	a.mu.Lock()
	// The next turn of the actor pays.
	a.extra().owed += c.acct.used(c.start.Load(), c.sys.now())
	a.unlockReady(a.letGo(c), nil)
}

// died is called on a goroutine that ends because the handler of c has called Goexit.
func (w *worker) died(a *actor, c *Ctx, lost bool) {
	if w == nil || lost {
		return
	}
	// The turn, or what it holds instead.
	a.leave(c)
	w.lose()
}

// suspend gives up the turn of a handler that is going to wait.
func (a *actor) suspend(c *Ctx) {
	failpoint.At("suspend")
	a.mu.Lock()
	x := a.extra()
	if c.pauses++; c.pauses > 1 || c.hold == holdNothing { // a goroutine of the handler waits too, or it was abandoned
		a.mu.Unlock()
		return
	}
	x.suspended++ // first: what the actor may do next depends on it
	ready := a.letGo(c)
	// By the rule of deadlocks it is still one of the handlers that a message which may not
	// pass waits for.
	x.holders = append(x.holders, c)
	// A handler that waits lets fewer messages through, so room that was promised may be gone
	// (letsIn).
	look := a.crowdedOut()
	a.unlockReady(ready, c)
	if look {
		a.lookAgain()
	}
}

// regain takes the turn back, before any message that waits.
func (a *actor) regain(c *Ctx) {
	failpoint.At("regain")
	a.mu.Lock()
	if c.pauses--; c.pauses > 0 || c.st.Load() == abandoned {
		a.mu.Unlock()
		return // if it was abandoned, abandon has taken it from the suspended ones
	}
	// No other handler has the turn: it is taken here, without a worker.
	if a.turn == idle && a.x.readers == 0 {
		a.turn = busy
		a.resumed(c)
		a.mu.Unlock()
		return
	}
	// Made with the first wait that needs it, and kept with the Ctx: it has room for one, and
	// the goroutine that hands over does not block.
	if c.turn == nil {
		c.turn = make(chan struct{}, 1)
	}
	// The next goroutine that gives up the turn hands it over, before any message.
	a.x.resume = append(a.x.resume, c)
	a.mu.Unlock()
	if c.w != nil && c.sys.shuffle != nil {
		c.w.lose() // the handler that has the turn may want the slot
	}
	<-c.turn
}

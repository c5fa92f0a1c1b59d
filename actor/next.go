package actor

import (
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The actor that waits for a handler's own slot, past the queue: who may wait there, and when the queue has
// to go first all the same.

// short is the mean time per message below which a handler may leave an actor that it makes
// ready to wait for the handler's own slot. A longer handler would keep that actor waiting while
// another slot is idle. (If a short handler turns out to be long, the actor waits until the
// monitor takes the slot away; without a monitor no actor waits for a handler's slot.)
const short = int64(20 * time.Microsecond)

// ready queues an actor that has become ready. The first actor that a short handler makes
// ready waits for the slot of that handler, like Go's runnext: no sleeper has to be woken.
func (p *pool) ready(a *actor, c *Ctx) {
	// Only for a handler of this pool, and with a monitor that takes the slot away if the
	// handler turns out to be long.
	if c != nil && c.w != nil && c.w.pool == p && p.sys.shuffle == nil && p.sys.cfg.Handoff > 0 {
		w, sl := c.w, c.w.slot.Load()
		// The slot is still this handler's, and its actor's messages are quick.
		if sl != nil && sl.short.Load() && sl.owner.Load() == w {
			failpoint.At("next")
			// One actor may wait there; the second one goes to the queue, and wakes a slot that
			// sleeps.
			if sl.next.CompareAndSwap(nil, a) {
				// The slot may have been lost since the first look, and its new owner may
				// sleep: then no goroutine would come to next. Whichever of the two takes the
				// actor out has it.
				failpoint.At("next again")
				if sl.owner.Load() == w && sl.since.Load() != 0 || !sl.next.CompareAndSwap(a, nil) {
					p.sys.watch() // for the slot may have to be taken away
					return
				} // the slot was lost, or the handler is over, and the slot's owner may sleep already
			}
		}
	}
	p.push(turnOf(a))
}

// takeNext returns the actor that waits for this slot of w, unless the queue has to go first.
// That is so when the actor is ahead of the virtual time, and is ahead by at least a slice or
// the slot has been passed from one actor to the next for a slice. So the queue waits for a
// slice at most, as it does for a turn.
func (p *pool) takeNext(w *worker, sl *slot) *actor {
	a := sl.next.Load()
	if a != nil {
		failpoint.At("take next")
	}
	// The handler that has put it there may take it back (ready), and the monitor's next owner
	// may come first.
	if a == nil || !sl.next.CompareAndSwap(a, nil) {
		return nil
	}
	// Behind the virtual time it would be the first of the queue in any case.
	if ahead := a.used - p.q.Now(); ahead > 0 && (ahead >= p.sys.slice || w.now-w.took >= p.sys.slice) && p.q.Any() {
		p.push(turnOf(a))
		return nil
	}
	return a
}

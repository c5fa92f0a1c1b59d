package actor

import (
	"runtime"
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A worker, its slot and the monitor. Three fields say which worker has a slot: worker.slot, slot.owner
// and slot.since, the time of the handler in progress. The owner changes them without the
// slot's lock where it can; takeAway, of the monitor, takes the lock and may come at any time
// while since is not 0. So each step of a worker that relies on its slot looks at owner again
// afterwards.

// worker is a goroutine of the System. It runs turns while it has a slot; if it loses the slot, it
// still goes on with its handler.
type worker struct {
	pool     *pool
	slot     atomic.Pointer[slot] // its own, unless the slot's owner says that it was lost
	ctx      *Ctx
	at       *actor     // the actor whose turn it has or had last, perhaps without a handler
	now      int64      // a little before, while it looks for an actor
	took     int64      // when it took an actor from the queue last, or got its slot
	give     chan *slot // passes a slot to this worker when it is spare or wants one; nil: closed
	acct     account
	recycler recycler
	batch    batch
	nth      uint64 // the number of its handler; see shuffle

	blocked atomic.Bool // its slot was taken because its handler blocks
}

// loop is the life of a worker.
func (w *worker) loop(sl *slot) {
	failpoint.At("worker")
	if w.pool.locked {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	}
	normal := false
	defer func() {
		// Its Ctxs are no longer among those that Running and Close look at.
		w.pool.sys.dropCtx(w.ctx)
		if !normal {
			w.giveBack()
		}
	}()
	for sl != nil {
		// From here on it runs turns, until the slot is gone.
		w.own(sl)
		if !w.turns(sl) {
			break
		}
		// The slot has another owner by now, and this goroutine waits until it gets one.
		w.slot.Store(nil)
		sl = w.spare()
	}
	normal = true
}

// gone gives back what w has when its goroutine ends because user code has called Goexit. If
// that was a handler, died has given it back already; if it was a hook, nothing has. Ctx.abandon
// gives back what an abandoned handler had; to do so here as well would queue the actor twice.
func (w *worker) giveBack() {
	// The CompareAndSwap decides: cur is this worker's Ctx exactly as long as it has the turn.
	if a := w.at; a != nil && w.ctx.st.Load() != abandoned && a.cur.CompareAndSwap(w.ctx, nil) {
		a.release()
	}
	w.lose()
}

// own makes w the owner of a slot that was passed to it.
func (w *worker) own(sl *slot) {
	w.now = w.pool.sys.now()
	w.took = w.now
	// What the monitor has noted was about the slot before.
	w.blocked.Store(false)
	w.slot.Store(sl)
	failpoint.At("own")
	// Last: a goroutine that sees the owner sees the worker's slot and clock.
	sl.owner.Store(w)
}

// spare waits for a slot; nil: the pool is closed, or has enough spares.
func (w *worker) spare() *slot {
	p := w.pool
	failpoint.At("spare")
	p.mu.Lock()
	// More are not kept: a burst of handlers that waited must not leave their goroutines
	// behind.
	if p.closed || len(p.spares) >= spares {
		p.mu.Unlock()
		return nil
	}
	p.spares = append(p.spares, w)
	p.mu.Unlock()
	// pass sends a slot; close closes the channel, which gives nil.
	return <-w.give
}

// has reports whether w still has its slot.
func (w *worker) has() bool {
	sl := w.slot.Load()
	return sl != nil && sl.owner.Load() == w
}

// keeps reports whether w still has sl. No turn of w is in progress any more, so from now on
// the monitor does not take the slot. The monitor may have taken it after the last handler of
// w: then the slot's new owner runs the actor in sl.next, and w must not.
func (w *worker) keeps(sl *slot) bool {
	failpoint.At("keeps")
	// Mostly without the slot's lock; that is only for the case that the monitor is at this
	// slot too.
	return w.restamp(sl, 0) || w.stamp(sl, 0)
}

// restamp is stamp without the lock, between turns of w. It pairs with takeAway: only one of the
// two changes since from its value for the last handler. false: stamp has to look.
func (w *worker) restamp(sl *slot, since int64) bool {
	last := sl.since.Load()
	// 0: the monitor has set it, or no handler was stamped since.
	if last == 0 || sl.owner.Load() != w {
		return false
	}
	failpoint.At("restamp")
	// The monitor first changes since and then the owner, under the lock: where it was first
	// the CompareAndSwap fails.
	return sl.since.CompareAndSwap(last, since) && sl.owner.Load() == w
}

// next returns the actor that waits for sl, if there is one. The slot then stays stamped, so
// the change from one handler to the next costs no look at the queue. nil: keeps has to say
// whether w goes on.
func (w *worker) next(sl *slot) *actor {
	if sl.next.Load() == nil || !w.restamp(sl, w.now) {
		return nil
	}
	a := w.pool.takeNext(w, sl)
	if a != nil && sl.owner.Load() != w { // taken away in between, and so a may wait for any slot
		w.pool.push(turnOf(a))
		return nil
	}
	return a
}

// stamp records since when a handler has been in progress on sl; 0: none is. false: w has lost
// sl, and only its new owner may stamp it. If a time were left behind on a slot whose owner
// sleeps, the monitor would take the slot from the sleeper.
func (w *worker) stamp(sl *slot, since int64) bool {
	failpoint.Lock(&sl.mu, "slot")
	defer sl.mu.Unlock()
	if sl.owner.Load() != w {
		return false
	}
	sl.since.Store(since)
	return true
}

// lose takes the slot away from w, if it has one, and passes it on.
func (w *worker) lose() bool {
	failpoint.At("lose")
	sl := w.slot.Load()
	if sl == nil || sl.owner.Load() != w {
		return false
	}
	failpoint.Lock(&sl.mu, "slot")
	// Under the lock, so takeAway sees either this owner with its handler, or none.
	took := sl.owner.CompareAndSwap(w, nil)
	if took {
		sl.since.Store(0)
	}
	sl.mu.Unlock()
	if took {
		w.pool.pass(sl)
	}
	return took
}

// turns runs turns until the slot is lost (true), or the pool closes (false).
func (w *worker) turns(sl *slot) bool {
	p := w.pool
	// Each round is one turn: of the actor that waits for this slot, or else of the first in
	// the queue.
	for ; ; sl = w.slot.Load() { // a handler that called Yield may have come back with another slot
		e := entry{Of: claim{a: w.next(sl)}, Tag: p.q.Now(), Since: w.now}
		if e.Of.a == nil {
			// No handler runs from here on, and the slot says so: the monitor leaves it alone
			// while this goroutine looks for work, or sleeps.
			if !w.keeps(sl) {
				return true
			}
			if e.Of.a = p.takeNext(w, sl); e.Of.a == nil { // it may have come just before keeps
				var ok bool
				if e, ok = p.pop(w, sl); !ok {
					return false
				}
				// pop has found that the slot is lost.
				if e.Of.a == nil {
					return true
				}
				// From here the time counts for which the slot is passed from actor to actor
				// past the queue.
				w.took = w.now
			}
			if e.Of.w != nil { // a handler wants a slot
				// That goroutine goes on with its handler; this one has no slot any more.
				e.Of.w.give <- sl
				return true
			}
			// Without the lock: while since was 0 the monitor has not touched the slot, and its
			// owner is this goroutine.
			sl.since.Store(w.now)
		}
		// The start tag: an actor that was idle begins at the virtual time, without credit for
		// the time it was idle.
		e.Of.a.used = max(e.Of.a.used, e.Tag)
		before := w.now
		end := w.turn(sl, e.Of.a, max(w.now-e.Since, 0))
		// Now, as this goroutine may sleep or wait for long: others can use the envelopes.
		w.recycler.clear()
		switch end {
		case turnLost:
			return true
		case turnGone:
			w.lose() // a slot that it may have got since, in Yield
			return false
		}
		if w.now-before >= p.sys.slice/2 {
			runtime.Gosched() // the other goroutines of the process: timers, connections, senders
			w.now = p.sys.now()
		}
	}
}

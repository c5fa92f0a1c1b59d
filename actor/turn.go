package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// One turn of an actor. A turn begins with the actor taken from the run queue and ends in one
// of three ways (turnEnd): in again, which gives the turn back and puts the actor into the
// queue if there is work; with the slot lost, while the handler waited or blocked; or with the
// handler abandoned, and then the turn and the slot are with others. What the turn has used is
// charged exactly once, by charge or, where there was no turn to charge, by owed.

// turnEnd says how a turn ends for its worker.
type turnEnd uint8

const (
	// What the worker may still touch depends on it: all, nothing of the slot, or nothing at
	// all.
	turnOver turnEnd = iota // the worker still has its slot
	turnLost                // the worker has lost it
	turnGone                // its handler was abandoned: the goroutine ends
)

// turn runs messages of a until the slice or the number of messages is spent. The slot is stamped.
func (w *worker) turn(sl *slot, a *actor, waited int64) turnEnd {
	s := w.pool.sys
	// The account of this turn begins when the worker has taken the actor.
	t := tally{a: a, start: w.now, waited: waited}
	// For ready: whether actors that this one tells may wait for its slot. Stored only if it
	// changes, as other processors read it.
	if s := a.mean > 0 && int64(a.mean) < short; s != sl.short.Load() {
		sl.short.Store(s)
	}
	w.acct.reset()
	failpoint.At("turn")
	a.mu.Lock()
	if a.turn != ready { // Close has it, or had it
		a.mu.Unlock()
		if !w.has() {
			return turnLost
		}
		return turnOver
	}
	// From here on this goroutine has the turn: the state, used and mean are its to use.
	a.turn, w.at = busy, a
	if a.owesTurn() {
		// The turn goes to a handler that has waited, before any message: it is older, and
		// others may wait for it. That handler needs no slot to go on, so this one stays here.
		a.handOver()
		a.mu.Unlock()
		return turnOver
	}
	if x := a.x; x != nil && x.owed > 0 {
		// Readers and abandoned handlers had no turn that they could charge: this one pays.
		a.used += x.owed / a.set.weight
		x.owed = 0
	}
	// Under mu: by the rule of deadlocks, a call that waits for this actor waits for the handlers
	// with this Ctx.
	a.cur.Store(w.ctx)
	for check := a.firstCheck(); ; a.mu.Lock() { // which is held here
		// The tells of a batch that were not claimed go back first, or messages would change places.
		a.recall()
		// Steps of the life come before messages, once no handler is in progress that they
		// would have to wait for.
		if a.due() && a.atRest() {
			a.mu.Unlock()
			// The step may have used the slice, or lost the slot; otherwise the loop goes on
			// with the lock.
			if end, done := w.live(sl, a, &t); done {
				return end
			}
			continue
		}
		var e *envelope
		// A handler that wants the turn back waits for the readers; until then no message may
		// begin.
		if a.serves() && (a.x == nil || len(a.x.resume) == 0) {
			e = a.head()
			if s.shuffle != nil && e != nil {
				// An order by seed takes another one than the first, of those that may go
				// first.
				e = s.shuffle.next(w, a, e)
			}
		}
		if e == nil {
			// Nothing to do, or nothing that may be done now: a handler that waits, or a
			// reader, wakes the actor.
			return w.again(sl, a, &t, TurnIdle)
		}
		if e.m.readOnly {
			// The first message of the turn is a reader: it runs without the turn, so the turn
			// ends here.
			if t.n == 0 && t.read == 0 {
				return w.read(sl, a, e, &t)
			}
			a.mu.Unlock() // the messages before e are charged now, what e takes is charged separately
			// The writers before it are paid for by this turn; the reader pays by owed.
			w.charge(&t, TurnIdle)
			// A new account with the same turn, in which the reader is the first.
			t, check = tally{a: a, start: w.now}, 1
			continue
		}
		// The handler was abandoned: turn and slot are with others already, and this goroutine
		// touches neither.
		if w.handle(a, e, check-t.n, &t) {
			w.tellLater(&t, TurnLost)
			return turnGone
		}
		if !w.has() {
			// The handler has waited or blocked, and its slot is gone. The turn is still here,
			// unless the actor is reentrant; release gives it on.
			w.charge(&t, TurnLost)
			a.release()
			w.tellBlocked()
			return turnLost
		}
		failpoint.At("next message")
		// The clock is read after 1, 2, 4, ... messages, as long as that needs at most a
		// quarter of a slice: reading it costs as much as a short handler.
		if t.n < check {
			continue
		}
		w.now, t.read = s.now(), t.n
		// What the actor has used: without the waits of its handlers.
		switch used := w.now - t.start - w.acct.lent.Load(); {
		case used >= s.slice:
			a.mu.Lock()
			return w.again(sl, a, &t, TurnSlice)
		case t.n >= a.set.throughput:
			a.mu.Lock()
			return w.again(sl, a, &t, TurnThroughput)
		case used < s.slice/4:
			// Twice as many need half a slice at most, if they go on as they did.
			check = min(2*t.n, a.set.throughput)
		default:
			check = t.n + 1
		}
		// For the monitor, the handler in progress is younger than the turn.
		w.stamp(w.slot.Load(), w.now) // Yield may have changed it
	}
}

// firstCheck is the number of messages of a turn after which the clock is first read: more
// than one if these, taking as long as the last ones did, need a quarter of a slice at most.
func (a *actor) firstCheck() int {
	if a.mean > 0 && 8*int64(a.mean) <= a.set.sys.slice/4 {
		return min(8, a.set.throughput)
	}
	return 1
}

// handle runs the handler of e, the head; if e is a pack, of k of its tells at most. The
// caller holds a.mu, which is free afterwards. lost: as with serve.
func (w *worker) handle(a *actor, e *envelope, k int, t *tally) (lost bool) {
	c, state := w.ctx, a.state
	// A pack: k of its tells under this one lock.
	if b := e.run.bundle(); b != nil {
		a.grab(&w.batch, e, b.packed(), k)
		a.mu.Unlock()
		return w.runBatch(a, e, b, state, t)
	}
	ok := a.take(e, c)
	a.mu.Unlock()
	if !ok {
		return false
	}
	c.hold = holdTurn
	// After mu, as it takes the Ctx's lock, and before begin, which makes the Ctx valid.
	c.serves(e.ctx)
	c.begin(a, e.m, e.call, state, w.now)
	t.n++
	return c.serve(a, e)
}

// again ends a turn: the actor queues again if it has work. The caller holds a.mu.
func (w *worker) again(sl *slot, a *actor, t *tally, why TurnEnd) turnEnd {
	// It may call Goexit or Tell this actor, and both need mu.
	if w.pool.sys.cfg.Metrics != nil { // user code
		a.mu.Unlock()
		w.charge(t, why)
		a.mu.Lock()
	} else {
		w.charge(t, why)
	}
	a.cur.Store(nil)
	a.unlockReady(a.releaseLocked(), nil)
	if !w.has() {
		return turnLost
	}
	return turnOver
}

// read runs a read-only handler. The turn is passed on, so that the next handler, if it
// only reads too, may run concurrently. The caller holds a.mu.
func (w *worker) read(sl *slot, a *actor, e *envelope, t *tally) turnEnd {
	c := w.ctx
	w.acct.reset()
	// Taken under mu with the message: the handler may be abandoned, and the state replaced, at any
	// time later.
	state := a.state
	// Its caller has left.
	if !a.take(e, c) {
		return w.again(sl, a, t, TurnIdle)
	}
	// Under the same lock as take: no writer finds the turn free and this reader unseen.
	a.enter(c)
	a.cur.Store(nil)
	a.unlockReady(a.releaseLocked(), nil)
	one := tally{a: a, start: w.pool.sys.now(), waited: t.waited, n: 1}
	c.serves(e.ctx)
	c.begin(a, e.m, e.call, state, one.start)
	if c.serve(a, e) {
		w.tellLater(&one, TurnLost)
		return turnGone
	}
	// The reader has no turn that it could charge, so the actor owes what it has used (turn
	// pays).
	a.leave(c)
	w.now = w.pool.sys.now()
	if !w.has() {
		w.tellLater(&one, TurnLost)
		w.tellBlocked()
		return turnLost
	}
	// Metrics counts each reader as a turn.
	w.tellLater(&one, TurnIdle)
	return turnOver
}

// live takes steps of the life of a. done: the turn is over.
func (w *worker) live(sl *slot, a *actor, t *tally) (end turnEnd, done bool) {
	w.ctx.hold = holdTurn
	// Steps are no messages, and their time is charged: charge has to read the clock.
	t.read = -1
	// On this goroutine, with this Ctx: user code of a step (start, Started, Stop) may wait and
	// call like a handler.
	a.step(w.ctx)
	if !w.has() {
		w.charge(t, TurnLost)
		a.release()
		w.tellBlocked()
		return turnLost, true
	}
	// For the monitor: the step is over, and the next handler has not begun.
	w.stamp(w.slot.Load(), w.pool.sys.now())
	a.mu.Lock()
	// There is more to do, and the slice is checked by the loop.
	if a.due() && a.atRest() || a.serves() && a.head() != nil {
		a.mu.Unlock()
		return turnOver, false
	}
	return w.again(sl, a, t, TurnIdle), true
}

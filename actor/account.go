package actor

import (
	"math"
	"sync/atomic"
	"time"
)

// What a turn costs its actor: the time since its messages began, without that which its handlers have waited.

// account is the time that a goroutine has not spent on the actor whose turn it has. Waits of a
// handler may be inside each other (a Call in Await), and overlap (goroutines of the handler): the
// time from the beginning of the first to the end of the last is lent once.
type account struct {
	// All atomic, as goroutines of a handler may wait at the same time. Only the goroutine
	// itself reads lent to charge it.
	lent  atomic.Int64
	waits atomic.Uint64 // low half: waits in progress; high half: how often reset has dropped some
	since atomic.Int64  // when the first of these waits began
}

// wait begins a wait; the result is for over.
func (t *account) wait(now int64) (nth uint64) {
	// The low half counts up. 2^32 waits in progress do not happen.
	v := t.waits.Add(1)
	if uint32(v) == 1 {
		t.since.Store(now)
	}
	return v >> 32
}

// over ends a wait, unless it was dropped.
func (t *account) over(nth uint64, now int64) {
	since := t.since.Load() // before the wait ends, as the next one may begin then
	// With another count in the high half, reset has dropped this wait: it lends nothing to the turn of now.
	for v := t.waits.Load(); v>>32 == nth && uint32(v) > 0; v = t.waits.Load() {
		if t.waits.CompareAndSwap(v, v-1) {
			if uint32(v) == 1 {
				t.lent.Add(now - since)
			}
			return
		}
	}
}

// used is how much of the time from start to now was spent on the actor.
func (t *account) used(start, now int64) int64 {
	if t.waiting() {
		// A wait is in progress, and what is spent on the actor ends where it began.
		now = t.since.Load()
	}
	return max(now-start-t.lent.Load(), 0)
}

// waiting reports whether a wait is in progress.
func (t *account) waiting() bool { return uint32(t.waits.Load()) > 0 }

// reset begins the account of a turn. Waits in progress are those of a goroutine that a handler has
// left behind: they are dropped.
func (t *account) reset() {
	if t.lent.Load() != 0 { // a store costs more
		t.lent.Store(0)
	}
	if v := t.waits.Load(); uint32(v) > 0 {
		t.waits.CompareAndSwap(v, (v>>32+1)<<32)
	}
}

// tally counts what a turn has used.
type tally struct {
	a      *actor
	start  int64
	waited int64
	n      int // messages
	read   int // messages when the clock was read last
}

// charge ends the account of a turn. The caller has the turn of the actor.
func (w *worker) charge(t *tally, why TurnEnd) {
	// The clock was not read since the last message.
	if t.read != t.n {
		w.now = w.pool.sys.now()
	}
	// The time since the turn began, without what handlers have waited.
	used := max(w.now-t.start-w.acct.lent.Load(), 0)
	w.acct.reset()
	t.a.used += used / t.a.set.weight
	if t.n > 0 {
		// A moving average over some turns: an actor whose messages become long is noticed with
		// the next turn or two.
		t.a.mean += (int32(min(used/int64(t.n), math.MaxInt32)) - t.a.mean) / 4
	}
	w.tell(t, used, why)
}

// tell reports a turn to Config.Metrics, if that is set.
func (w *worker) tell(t *tally, used int64, why TurnEnd) {
	s := w.pool.sys
	if m := s.cfg.Metrics; m != nil {
		s.hookHere("Metrics.Turn", func() {
			m.Turn(t.a.kindName(), t.n, time.Duration(used), time.Duration(t.waited), why)
		})
		w.now = s.now()
	}
}

// tellLater is tell for a handler without a turn that it could charge: a reader, whose actor owes
// the time, or one that was abandoned.
func (w *worker) tellLater(t *tally, why TurnEnd) {
	if w.pool.sys.cfg.Metrics != nil {
		w.tell(t, w.acct.used(t.start, w.pool.sys.now()), why)
	}
}

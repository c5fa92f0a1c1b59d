package actor

import "sync/atomic"

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

package actor

import "sync/atomic"

// account is the time that a goroutine has not spent on the actor whose turn it has. Waits of a
// handler may be inside each other (a Call in Await), and overlap (goroutines of the handler): the
// time from the beginning of the first to the end of the last is lent once.
type account struct {
	lent  atomic.Int64
	waits atomic.Uint64 // low half: waits in progress; high half: counts the times that these were dropped
	since atomic.Int64  // when the first of these waits began
}

// wait begins a wait; the result is for over.
func (t *account) wait(now int64) (nth uint64) {
	v := t.waits.Add(1)
	if uint32(v) == 1 {
		t.since.Store(now)
	}
	return v >> 32
}

// over ends a wait, unless it was dropped.
func (t *account) over(nth uint64, now int64) {
	since := t.since.Load() // before the wait ends, as the next one may begin then
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
	if uint32(t.waits.Load()) > 0 {
		now = t.since.Load()
	}
	return max(now-start-t.lent.Load(), 0)
}

// reset begins the account of a turn. Waits in progress are those of a goroutine that a handler has
// left behind.
func (t *account) reset() {
	if t.lent.Load() != 0 { // a store costs more
		t.lent.Store(0)
	}
	t.drop()
}

// drop lets no wait in progress count.
func (t *account) drop() {
	if v := t.waits.Load(); uint32(v) > 0 {
		t.waits.CompareAndSwap(v, (v>>32+1)<<32)
	}
}

// inside is an account while a call runs on the goroutine that it belongs to.
type inside struct {
	lent, since int64
	waits       uint64
}

// enter begins the account of a call on this goroutine.
func (t *account) enter() inside {
	in := inside{lent: t.lent.Swap(0), waits: t.waits.Load()}
	if uint32(in.waits) > 0 {
		in.since = t.since.Load()
		t.drop()
	}
	return in
}

// leave ends it: the caller has lent the time that the call took, unless its own wait lends that.
func (t *account) leave(in inside, took int64) {
	if uint32(in.waits) > 0 {
		t.since.Store(in.since)
		t.waits.Store(in.waits)
		took = 0
	}
	t.lent.Store(in.lent + took)
}

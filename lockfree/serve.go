package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// serve delivers into dst, of which the call has filled have already, until it is
// full, serve.MaxHold is reached, the shard is empty, or the next delivery is in a
// round after the limit. It returns how many it has delivered. It is called with the
// lease held and releases it; hint is the caller's cpu.Hint, now the time a moment ago.
func (sh *shard[K, T]) serve(dst []firq.Item[K, T], have, hint int, now int64) int {
	sh.begin()
	return sh.serveOn(dst, have, hint, now)
}

// serveOn is serve once L1 is done.
func (sh *shard[K, T]) serveOn(dst []firq.Item[K, T], have, hint int, now int64) int {
	s, n := sh.s, 0
	all, dst := dst, dst[have:]
	failpoint.At("serve closed?")
	if s.life.State() == serve.Closed {
		sh.unlockWith(all[:have])
		return 0
	}
	sh.Queue.Control(s.life.State() == serve.Open)
	sh.Unwait(now)
	limit := sh.Limit() // it may have changed before the lease was ours
	sh.affinity.touch(hint, now)
	sh.ServedBy(hint)
	var visited *tenant[K, T]
	for most := min(len(dst), serve.MaxHold); n < most; {
		t := sh.next(&dst[n], now, limit)
		if t == nil {
			break // empty, ahead, or enough for one hold: the caller comes back
		}
		if t != visited {
			if visited != nil {
				sh.endVisit(visited)
			}
			visited = t
		}
		if !t.leaveBehind() {
			sh.owe(t, roomUnit)
		}
		if n++; n < most {
			limit = sh.Onward(limit)
		}
	}
	if visited != nil {
		sh.endVisit(visited)
		failpoint.At("serve credit")
		s.credit.GiveAt(hint, n)
		failpoint.At("serve released")
		if s.shared.Waiters.Waiting() {
			for i := range dst[:n] {
				s.shared.Waiters.Released(dst[i].Tenant, 1)
			}
		}
	}
	sh.flush()
	sh.unlockWith(all[:have+n])
	s.sweep(now)
	return n
}

// endVisit changes the word of a tenant that was served, and makes it unpolled if it
// has no task left, even in its inbox.
func (sh *shard[K, T]) endVisit(t *tenant[K, T]) {
	if t.behind {
		t.NeedsFill = t.crowded(t.word.Load())
		return
	}
	looked := false
	if t.polled && t.Len() == 0 {
		failpoint.At("visit look")
		if tailOf(t.word.Load()) != t.taker.Head() { // spares going unpolled and polled again
			sh.drainAll(t)
		}
		if t.Len() == 0 {
			sh.unpoll(t)
			looked = true
		}
	}
	sh.owe(t, 0)
	word := sh.flush()
	t.NeedsFill = t.crowded(word)
	if looked {
		if tailOf(word) != t.taker.Head() {
			sh.lookAgain(t)
			sh.flush()
		}
		t.shrink()
	}
}

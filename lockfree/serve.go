package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// serve delivers into dst, of which the call has filled have already, until it is
// full, serve.MaxHold is reached, the shard is empty, or the next delivery is in a
// round after the limit. It returns how many it has delivered. It is called with the
// lock held and releases it; hint is the caller's cpu.Hint, now the time a moment ago.
func (sh *shard[K, T]) serve(dst []firq.Item[K, T], have, hint int, now int64) int {
	sh.begin()
	return sh.serveOn(dst, have, hint, now)
}

// serveOn is serve once the hold has begun.
func (sh *shard[K, T]) serveOn(dst []firq.Item[K, T], have, hint int, now int64) int {
	s, n := sh.s, 0
	all, dst := dst, dst[have:]
	failpoint.At("serve closed?")
	if s.life.State() == serve.Closed {
		sh.unlockWith(all[:have], false)
		return 0
	}
	sh.Queue.Control(s.life.State() == serve.Open) // CoDel drops nothing while the scheduler drains
	sh.Unwait(now)
	limit := sh.Limit() // it may have changed before the lock was ours
	sh.affinity.touch(hint, now)
	sh.ServedBy(hint)
	for most := min(len(dst), serve.MaxHold); n < most; {
		if sh.next(&dst[n], now, limit) == nil {
			break // empty, ahead, or enough for one hold: the caller comes back
		}
		if n++; n < most {
			limit = sh.Onward(limit) // in another round the other shards are asked again
		}
	}
	// All credits in one step, and then the waiters: see takeOne.
	if n > 0 {
		sh.DeliveredAll(dst[:n])
		failpoint.At("serve credit")
		s.credit.GiveAt(hint, n)
		failpoint.At("serve released")
		if s.shared.Waiters.Waiting() {
			for i := range dst[:n] {
				s.shared.Waiters.Released(dst[i].Tenant, 1)
			}
		}
	}
	sh.unlockWith(all[:have+n], n > 0)
	s.sweep(now)
	return n
}

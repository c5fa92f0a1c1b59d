package lockfree

import (
	"math"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// takeOne is take for one item, and how a call begins. Its first branch is the usual case, without
// what only others need: a shard may be served now, its lock is free, and no shard that may not be
// has news.
func (s *Scheduler[K, T]) takeOne(it *firq.Item[K, T]) bool {
	s.shared.Rethrow()
	// One time for the call: it says which tasks have expired, and how long the task has waited.
	now := s.shared.Clock.Now()
	sh := s.alone
	if sh == nil {
		sh = s.fastShard(now)
	} else if !s.rounds.Ready(0) {
		sh = nil
	}
	if sh == nil {
		return s.take(unsafe.Slice(it, 1)) == 1
	}
	// Where goroutines do not meet, no other processor is at the shard: its word need not be read, and it
	// does not matter which processor this one is.
	uncontended, hint, elsewhere := sh.contention.none(now), 0, false
	if !uncontended {
		hint = cpu.Hint()
		elsewhere = sh.affinity.elsewhere(hint, now)
	}
	if elsewhere || !sh.try() {
		sh.contention.note(now)
		return s.take(unsafe.Slice(it, 1)) == 1
	}
	if uncontended {
		hint = sh.LastServedBy()
	} else {
		sh.ServedBy(hint)
		sh.affinity.touch(hint, now)
	}
	if sh.isBehind() {
		sh.begin()
	}
	limit := uint64(math.MaxUint64)
	if s.alone == nil {
		limit = sh.Limit() // it may have changed before the lock was ours
	}
	// The state under the lock: Close sets it, and takes the lock after that, so a hold that finds it open
	// delivers before Close drops anything. Draining needs serveOn, as CoDel drops nothing then.
	if s.life.State() != serve.Open || sh.next(it, now, limit) == nil {
		return sh.serveOn(unsafe.Slice(it, 1), 0, hint, now) == 1 || s.take(unsafe.Slice(it, 1)) == 1
	}
	sh.Delivered(it.Wait)
	failpoint.At("serve credit")
	// Before: the credit is the task's. After: any call's. Then the look for waiters, which look at the
	// credits after they have announced themselves (waitq).
	s.credit.GiveAt(hint, 1)
	failpoint.At("serve released")
	if s.shared.Waiters.Waiting() {
		s.shared.Waiters.Released(it.Tenant, 1)
	}
	if drops, after := sh.release(true); after {
		s.afterHold(drops, unsafe.Slice(it, 1))
	}
	if s.shared.SweepDue(now) {
		s.sweep(now)
	}
	return true
}

// fastShard returns the first shard from the cursor on that may be served now; nil if
// there is none, or one that may not be has something in its ring, as it is not known yet when those
// can be served, or is due to be asked (shardsel.Rounds.AskAt).
func (s *Scheduler[K, T]) fastShard(now int64) (to *shard[K, T]) {
	cursor := s.cursors.Here()
	start, mask := int(cursor.Load()), len(s.shards)-1
	for i := range s.shards {
		j := (start + i) & mask
		sh := s.shards[j]
		failpoint.At("take active?")
		switch {
		case to == nil && s.rounds.InTime(j):
			if to = sh; i > 0 {
				cursor.Store(uint32(j))
			}
		case sh.ring.ready() || s.rounds.AskAt(j) < now: // before its round is looked at; see shard.work
			failpoint.At("take pending?")
			if !s.rounds.InTime(j) {
				return nil
			}
		}
	}
	return to
}

// next gives out the next task, and completes the item that the consumer gets of it; nil
// if there is none within the limit, or after a good deal of looking. Under the lock. The caller counts
// the shard's delivery.
func (sh *shard[K, T]) next(it *firq.Item[K, T], now int64, limit uint64) *tenant[K, T] {
	failpoint.At("serve next")
	dt, cost, enqueued := sh.Queue.NextPlain(now, limit, &it.Payload)
	if dt != nil {
		serve.CompletePlain(it, cost, now-enqueued)
	} else if dt = sh.NextOfAll(it, now, limit); dt == nil {
		return nil
	}
	// The task is this goroutine's now.
	t := ownerOf(dt)
	it.Tenant = t.Key
	if t.Delivered(now) {
		sh.Rank(&t.Tenant)
	}
	// The place is owed now. lookAtLane may push the tenant's next tasks, so Fly comes after it: it blocks
	// a tenant that has a task.
	if t.freePlaces(1); t.laned != noLane {
		sh.lookAtLane(t)
	}
	token := serve.TokenOf(it.Priority)
	if sh.Exacts() {
		token |= sh.Fly(&t.Tenant)
	}
	it.Bind(t, token)
	return t
}

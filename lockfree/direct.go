package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// enqueueDirect is the way of a task past the inbox, straight into the queue: for a task
// that has nothing but a payload and a cost, of a tenant that is known and has nothing
// in its inbox, on a shard that is uncontended and whose lease is free. It reports false, and has
// changed nothing, if one of that is not so, or the task cannot be admitted; then the
// caller takes the way of admit.
//
// h is the caller's handle, nil by key.
func (s *Scheduler[K, T]) enqueueDirect(k K, h *handle[K, T], task *firq.Task[T], now int64) bool {
	if !s.direct || task.Ticket != nil || task.Cost < 0 || task.Flow != 0 || !task.Deadline.IsZero() ||
		task.Priority != 0 && task.Priority != firq.PriorityNormal {
		return false
	}
	t := s.find(k, h)
	if t == nil || !t.shard.contention.none(now) {
		return false
	}
	word := t.word.Load()
	if !canSkip(word) {
		return false
	}
	if s.env.Asks && word&polledBit == 0 {
		conf := s.ask(t, k)
		t.note(&conf)
	}
	sh := t.shard
	if !sh.try() {
		sh.contention.note(now)
		return false
	}
	sh.begin()
	done := sh.pushDirect(t, task, now)
	sh.unlockFast(nil)
	return done
}

// canSkip reports whether a task may pass by the inbox of a tenant with this word: it is
// alive, has room, and no ticket is out. Every so many tickets all slots are used in
// their turn; see piggybacks.
func canSkip(word uint64) bool {
	return word&(deadBit|usedMask) == 0 && word&roomBit != 0 && tailOf(word)%slotsEvery >= inboxSize
}

// pushDirect queues a task. Its ticket is a hole in the inbox until it is certain that
// nobody refuses the task, so that a call which finds the tenant full meanwhile waits (tenant.full);
// then it is passed by. Under the lease.
func (sh *shard[K, T]) pushDirect(t *tenant[K, T], task *firq.Task[T], now int64) bool {
	for {
		w := t.word.Load()
		if !canSkip(w) {
			return false
		}
		failpoint.At("direct ticket")
		if t.word.CompareAndSwap(w, w+tailUnit+usedUnit-roomUnit) { // [E1]
			break
		}
	}
	_, err := sh.s.takeCredit(1, cpu.Hint()) // [E2], [E3]
	t.inbox.Load().Skip(&t.taker)
	failpoint.At("direct skip")
	if err != nil {
		t.word.Add(^uint64(usedUnit-1) + roomUnit)
		sh.s.env.Waiters.Released(t.Key, 1)
		sh.know(t)
		return false
	}
	t.word.Add(^uint64(usedUnit - 1))
	sh.know(t)
	sh.takeIn() // tenants that were announced before the task had its credit goes first
	sh.admits(t)
	sh.PushPlain(&t.Tenant, &task.Payload, max(task.Cost, 1), now)
	return true
}

// directOf reports whether tasks of this scheduler may pass by the inbox: whether a
// task that asks for nothing gets nothing (no age limit), is behind all others of its
// tenant, and is not subject to a limit that has to be worked out.
func directOf[K comparable, T any](cfg *firq.Config[K, T]) bool {
	return cfg.Order == firq.FIFO && cfg.PriorityScope == firq.PriorityWithinTenant &&
		cfg.MaxQueueAge == 0 && cfg.DynamicThreshold == 0
}

package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// enqueueDirect is the way of a task past the inbox, straight into the queue: for a task
// that has nothing but a payload and a cost, of a tenant that is known and has nothing
// in its inbox, on a shard that is uncontended and whose lease is free. It reports false, and has
// changed nothing, if one of that is not so, or the task cannot be admitted; then the
// caller takes the way of admit.
//
// t is what the caller has found the tenant to be, nil for nothing.
func (s *Scheduler[K, T]) enqueueDirect(t *tenant[K, T], task *firq.Task[T], now int64) bool {
	if t == nil || !s.direct || !t.shard.contention.none(now) || !serve.IsPlain(task) {
		return false
	}
	limit := t.limit.word.Load()
	word := t.word.Load()
	if !canSkip(word) {
		return false
	}
	if s.shared.Asks && word&polledBit == 0 {
		conf := s.ask(t, t.Key)
		t.noteFirst(&conf, word, limit)
	}
	sh := t.shard
	if !sh.try() {
		sh.contention.note(now)
		return false
	}
	sh.wakeUp()
	done := sh.enterDirect(t, word, 1) > 0
	if done {
		sh.PutPlain(&t.Tenant, &task.Payload, max(task.Cost, 1), now)
	}
	if sh.tookIn || sh.owing != nil || len(sh.emptied) > 0 || len(sh.freed) > 0 || sh.Bounded() {
		sh.unlock()
	} else {
		sh.unlockQuiet() // what expires, and whether a Shutdown is over, a push does not change
	}
	return done
}

// canSkip reports whether a task may pass by the inbox of a tenant with this word: it is
// alive, has room, and no ticket is out, or only one that was passed by, while the word is
// behind. Once in slotsEvery tickets all slots are used in their turn; see piggybacks.
func canSkip(word uint64) bool {
	return word&deadBit == 0 && word&usedMask <= usedUnit && word&roomBit != 0 && tailOf(word)%slotsEvery >= lendSize
}

// enterDirect admits up to n tasks, which its caller then queues, and returns how many: 0 if
// the tenant's word is not the given one any more, or a ticket is out. Their ticket is a hole
// in the inbox until it is certain that they are not refused, so that a call which finds the
// tenant full before that waits (tenant.full); then it is passed by. Under the lease.
//
// That the slot is free again the word need not say immediately. A call that waits on account of
// it takes the lease, which makes the word say so. So the word is one step for each task that
// goes this way, and none when it leaves.
func (sh *shard[K, T]) enterDirect(t *tenant[K, T], word uint64, n int) (got int) {
	s := sh.s
	missing := t.missing()
	if (word+missing)&usedMask != 0 {
		return 0
	}
	places := min(n, roomIn(word))
	failpoint.At("direct ticket")
	if !t.word.CompareAndSwap(word, word+missing+tailUnit+usedUnit-uint64(places)*roomUnit) { // [E1]
		return 0
	}
	t.catchUp()
	got, _ = s.takeCredit(places, cpu.Hint()) // [E2], [E3]
	t.taker.Pass()
	failpoint.At("direct skip")
	if t.behind = got == places && !t.polled; !t.behind {
		t.word.Add(^uint64(usedUnit-1) + uint64(places-got)*roomUnit)
	}
	sh.register(t)
	if got < places {
		s.shared.Waiters.Released(t.Key, places-got)
	}
	if got > 0 {
		sh.takeIn()       // a tenant that was announced before the tasks had their credit goes first
		if t.Lent() > 0 { // this one was, too
			sh.empty(t)
		}
		sh.admits(t)
	}
	return got
}

// bareOf reports whether a plain task of this scheduler needs no more than a slot: whether a
// task that asks for nothing gets nothing (no age limit), is behind all others of its
// tenant, and is not subject to a limit that has to be worked out.
func bareOf[K comparable, T any](cfg *firq.Config[K, T]) bool {
	return cfg.Order == firq.FIFO && cfg.PriorityScope == firq.PriorityWithinTenant &&
		cfg.MaxQueueAge == 0 && cfg.DynamicThreshold == 0
}

package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// overThreshold looks at DynamicThreshold.
func (s *Scheduler[K, T]) overThreshold(t *tenant[K, T]) bool {
	if s.shared.Config.DynamicThreshold == 0 {
		return false
	}
	free, sure := s.credit.Free()
	for i := 0; i < 64 && !sure; i++ { // an unsure sum may be too small
		failpoint.Gosched("threshold unsure")
		free, sure = s.credit.Free()
	}
	return s.shared.OverThreshold(t.holds(), free)
}

// settleTries is how often a call that finds a tenant full, and a hole in its inbox, lets
// others run between two looks under the lease whether the word is behind.
const settleTries = 8

// full reports whether there was an instant during the call at which tasks, and
// not calls that may yet be refused, took all places of the tenant. It yields to
// such calls.
func (t *tenant[K, T]) full() bool {
	for tries := 0; ; tries++ {
		direct := t.direct.Load()
		w := t.word.Load()
		if w&roomBit != 0 || w&deadBit != 0 {
			return false
		}
		failpoint.At("full holes?")
		// No call took a place without a ticket in between: that could have made the
		// word what it was, after a place had come free.
		tail := tailOf(w)
		holes := t.inbox.Load().Holes(tail-usedIn(w), tail)
		if !holes && t.word.Load() == w && direct&1 == 0 && t.direct.Load() == direct {
			return true
		}
		// A task that is in the ring looks like a hole. Taking it out makes it a task for
		// good. A ticket that was passed by looks like one, too, while the word is behind.
		if holes && (t.shard.activations.Ready() || t.shard.s.direct && tries%settleTries == 0) {
			failpoint.At("full waits")
			t.shard.lock()
			t.settle()
			t.shard.unlock()
			continue
		}
		failpoint.Gosched("full waits")
	}
}

// Replace implements serve.Admitter. It takes the lease.
func (s *Scheduler[K, T]) Replace(k K, task drr.Task[T], newest bool) (bool, error) {
	for {
		err := s.admit(k, s.find(k, nil), &task) // there may be room by now
		if err == nil {
			return true, nil
		}
		failpoint.At("replace look up")
		t, _ := s.tenants.Load(k)
		if t == nil || err == firq.ErrClosed || err == serve.ErrTicketInUse {
			return false, err
		}
		sh := t.shard
		sh.lock()
		sh.drainAll(t)
		sh.flush()
		t.settle()
		done, ok, ticketErr := sh.replace(t, &task, newest)
		sh.unlock()
		if ticketErr != nil {
			return false, ticketErr
		}
		if done {
			return ok, err
		}
		failpoint.Gosched("replace waits")
	}
}

// noRoom reports whether some limit stands in the way of one more task of a
// tenant, which is nil if it is not known.
func (s *Scheduler[K, T]) noRoom(t *tenant[K, T]) bool {
	if t == nil {
		return s.credit.None()
	}
	return t.word.Load()&roomBit == 0 || s.credit.None() || s.overThreshold(t)
}

// replace evicts a task of the tenant and queues the new one in its place, with
// its credit. It reports done false if it is worth trying again, because the
// tenant was forgotten, room has come in between, or what takes the room is still on its way
// into the queue, and ok false if there was nothing to evict. Under the lease.
func (sh *shard[K, T]) replace(t *tenant[K, T], task *drr.Task[T], newest bool) (done, ok bool, err error) {
	if t.word.Load()&deadBit != 0 {
		return false, false, nil
	}
	if sh.s.life.State() != serve.Open {
		return true, false, firq.ErrClosed
	}
	if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
		return true, false, serve.ErrTicketInUse
	}
	failpoint.At("replace evict")
	noRoom := sh.s.noRoom(t) // else it has come in between
	if !noRoom || !sh.Evict(&t.Tenant, task.Priority, newest) {
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		return noRoom && t.held(t.word.Load()) <= t.Len(), false, nil
	}
	if task.Due != clock.Never {
		sh.s.sawDeadline()
	}
	sh.push(t, task)
	sh.owe(t, 0)
	return true, true, nil
}

// makeRoom drops expired tasks after an admission failed for want of room, and
// forgets an idle tenant if there were too many. It reports whether it is worth
// trying again.
func (s *Scheduler[K, T]) makeRoom(k K, full error) bool {
	switch full {
	case firq.ErrTooManyTenants:
		if s.roomForTenant() || s.sweepAll() {
			return true
		} // else a tenant's tasks may have expired, and be all that it has
	case firq.ErrGlobalFull, firq.ErrTenantFull, firq.ErrTenantThreshold:
	default:
		return false
	}
	if !s.deadlines.Load() {
		return false // nothing can have expired
	}
	failpoint.At("make room")
	now := s.shared.Clock.Now()
	t, _ := s.tenants.Load(k)
	if t != nil && t.nextDue() < now && t.shard.reclaim(t, now) {
		return true
	}
	if full != firq.ErrTenantFull {
		for _, sh := range s.shards {
			if sh.nextDue() < now && sh.reclaim(nil, now) {
				return true
			}
		}
	}
	// What had expired may have been dropped by another call just now: then there
	// was no instant at which this task had to be refused.
	return full != firq.ErrTooManyTenants && !s.noRoom(t)
}

// reclaim drops a number of expired tasks of the shard, and reports whether there
// were any. Inboxes are looked through as well: t's, or, if t is nil, all that
// may have one. To find the first one can take several holds of the lease.
func (sh *shard[K, T]) reclaim(t *tenant[K, T], now int64) (found bool) {
	for more := true; more && !found; {
		sh.lock()
		if t != nil {
			sh.drainAll(t)
		}
		if min(sh.boxDue.Load(), sh.kept) < now {
			sh.drainPolled()
		}
		before := len(sh.freed)
		more = sh.Queue.Reclaim(now, serve.MaxHold)
		found = len(sh.freed) > before
		sh.unlock()
	}
	return found
}

// NextDueOf implements serve.Admitter.
func (s *Scheduler[K, T]) NextDueOf(k K) int64 {
	if t, _ := s.tenants.Load(k); t != nil {
		return t.nextDue()
	}
	return clock.Never
}

// NextDue implements serve.Admitter.
func (s *Scheduler[K, T]) NextDue() int64 {
	due := int64(clock.Never)
	for _, sh := range s.shards {
		due = min(due, sh.nextDue())
	}
	return due
}

// nextDue returns a time before which no task expires that is in the tenant's inbox, or in
// the queue of its shard. The inbox comes first: a consumer that takes a task from there lowers the
// queue's time before it resets the inbox's.
func (t *tenant[K, T]) nextDue() int64 {
	box := t.boxDue.Load()
	failpoint.At("due?")
	return min(box, t.shard.due.Load())
}

// nextDue is nextDue for all tenants of the shard.
func (sh *shard[K, T]) nextDue() int64 {
	box := sh.boxDue.Load()
	failpoint.At("due?")
	return min(box, sh.due.Load())
}

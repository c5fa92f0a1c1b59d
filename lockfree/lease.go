package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// enqueueLocked takes the lease, drains the inbox, and queues the task itself: also when the
// inbox stays full because a producer was stopped between ticket and publishing.
// It reports done false if the tenant was forgotten or filled up in between. The
// task's ticket is acquired.
func (sh *shard[K, T]) enqueueLocked(t *tenant[K, T], task *drr.Task[T], conf *serve.TenantConfig) (done bool, err error) {
	sh.lock()
	defer sh.unlock()
	crowded := !t.behind // else its only slot may have been free
	sh.drainAll(t)
	if crowded {
		sh.emptyAndGrow(t)
	} else {
		sh.flush()
	}
	t.settle()
	t.direct.Add(1) // see tenant.full
	defer t.direct.Add(1)
	for {
		w := t.word.Load()
		if w&deadBit != 0 || w&roomBit == 0 {
			return false, nil
		}
		failpoint.At("put place")
		if t.word.CompareAndSwap(w, w-roomUnit) {
			break
		}
	}
	if _, err := sh.s.takeCredit(1, cpu.Hint()); err != nil {
		t.word.Add(roomUnit)
		sh.s.shared.Waiters.Released(t.Key, 1)
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		return true, err
	}
	if conf != nil && t.Len() == 0 {
		t.note(conf)
	}
	if task.Due != clock.Never {
		sh.s.sawDeadline()
	}
	sh.takeIn() // tenants that were announced before the task had its credit goes first
	sh.push(t, task)
	return true, nil
}

// CancelTicket takes a task of this tenant out of the queue. It takes the lease.
func (t *tenant[K, T]) CancelTicket(tk *firq.Ticket) bool {
	sh := t.shard
	sh.lock()
	sh.drainAll(t)
	failpoint.At("cancel")
	ok := sh.Cancel(&t.Tenant, tk)
	if ok {
		sh.left(t)
	}
	sh.unlock()
	sh.s.sweep(sh.s.shared.Clock.Now())
	return ok
}

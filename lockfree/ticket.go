package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/clock"
	"github.com/firq-go/firq/internal/failpoint"
)

// put takes the lease, drains the inbox, and queues the task itself: also when the
// inbox stays full because a producer was stopped between ticket and publishing.
// It reports done false if the tenant was forgotten or filled up meanwhile. The
// task's ticket is acquired.
func (sh *shard[K, T]) put(t *tenant[K, T], task *drr.Task[T], q quantumAsked) (done bool, err error) {
	sh.lock()
	defer sh.unlock()
	sh.drainAll(t)
	sh.flush()
	t.direct.Add(1) // see tenant.full
	defer t.direct.Add(1)
	for {
		w := t.word.Load()
		if w&deadBit != 0 || w&roomMask == 0 {
			return false, nil
		}
		failpoint.At("put place")
		if t.word.CompareAndSwap(w, w-roomUnit) {
			break
		}
	}
	if err := sh.s.takeCredit(); err != nil {
		t.word.Add(roomUnit)
		sh.s.env.Room.Released(t.Key, 1)
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		return true, err
	}
	if q.ok {
		t.quantum.Store(q.quantum)
	}
	if task.Due != clock.Never {
		sh.s.sawDeadline()
	}
	sh.push(t, task)
	return true, nil
}

// What take says.
const (
	ticketTaken = iota
	tenantFull  // no place left
	inboxFull   // no slot left
	tenantDead  // look it up again
)

// take draws a ticket of the inbox and takes a place of the tenant: [E1].
func (t *tenant[K, T]) take() (ticket uint32, took int) {
	for {
		w := t.word.Load()
		ticket = tailOf(w)
		switch {
		case w&deadBit != 0:
			return 0, tenantDead
		case w&roomMask == 0:
			return 0, tenantFull
		case usedIn(w) == inboxSize:
			return 0, inboxFull
		}
		failpoint.At("E1 draw")
		if t.word.CompareAndSwap(w, w+tailUnit+usedUnit-roomUnit) {
			return ticket, ticketTaken
		}
	}
}

// void is the priority of what is published for a ticket whose task was refused.
const void firq.Priority = 0

// publishVoid gives back the place of a task that was refused after E1, and fills
// its slot with nothing. The place comes first: who finds no hole may rely on
// every place being taken by a task.
func (s *Scheduler[K, T]) publishVoid(t *tenant[K, T], ticket uint32, task *drr.Task[T]) {
	if task.Ticket != nil {
		task.Ticket.Abandon()
	}
	failpoint.At("void place")
	t.word.Add(roomUnit)
	failpoint.At("void slot")
	t.inbox.Put(ticket, drr.Task[T]{Priority: void})
	failpoint.At("void released")
	s.env.Room.Released(t.Key, 1)
	failpoint.At("void quiet?")
	if t.word.Load()&quietBit == 0 {
		t.shard.announce(t, ticket) // so that it is drained, and the tenant known
	}
}

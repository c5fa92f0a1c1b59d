package lockfree

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// put takes the lease, drains the inbox, and queues the task itself: also when the
// inbox stays full because a producer was stopped between ticket and publishing.
// It reports done false if the tenant was forgotten or filled up meanwhile. The
// task's ticket is acquired.
func (sh *shard[K, T]) put(t *tenant[K, T], task *drr.Task[T], conf *serve.TenantConfig) (done bool, err error) {
	sh.lock()
	defer sh.unlock()
	crowded := !t.behind // else its only slot may have been free
	sh.drainAll(t)
	sh.flush()
	t.settle()
	t.direct.Add(1) // see tenant.full
	defer t.direct.Add(1)
	if crowded {
		t.grow()
	}
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
		sh.s.env.Waiters.Released(t.Key, 1)
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		return true, err
	}
	if conf != nil {
		t.note(conf)
	}
	if task.Due != clock.Never {
		sh.s.sawDeadline()
	}
	sh.takeIn() // tenants that were announced before the task had its credit goes first
	sh.push(t, task)
	return true, nil
}

// The outcomes of take.
const (
	ticketTaken = iota
	tenantFull  // no place left
	inboxFull   // no slot left
	tenantDead  // look it up again
)

// take draws a ticket of the inbox and takes a place of the tenant, or up to n
// places for the tasks of one message: [E1]. It returns the word that it drew the
// ticket from.
func (t *tenant[K, T]) take(n int) (w uint64, places, took int) {
	for {
		w = t.word.Load()
		switch {
		case w&deadBit != 0:
			return w, 0, tenantDead
		case w&roomBit == 0:
			return w, 0, tenantFull
		case w&usedMask != 0 && int(usedIn(w)) >= t.inbox.Load().Size():
			return w, 0, inboxFull
		}
		failpoint.At("E1 draw")
		places = min(n, roomIn(w))
		if t.word.CompareAndSwap(w, w+tailUnit+usedUnit-uint64(places)*roomUnit) {
			return w, places, ticketTaken
		}
	}
}

// slotsEvery is a power of two, far below the tickets' wrap.
const slotsEvery = 1 << 20

// piggybacks reports whether the task of the ticket that was drawn from this word
// goes into the activation ring instead of the inbox: the inbox is empty, and the
// task has to be announced anyway. This spares the cache lines of the inbox, which
// for a tenant that is seldom busy are in no cache.
//
// Slots that are passed by keep what they said about an older ticket. So every so
// many tickets all slots are used in their turn; nothing is as old as the wrap.
func piggybacks(word uint64) bool {
	return word&(usedMask|polledBit) == 0 && tailOf(word)%slotsEvery >= inboxSize
}

// giveBack gives back places of tasks that were refused.
func (s *Scheduler[K, T]) giveBack(t *tenant[K, T], places int) {
	failpoint.At("void place")
	t.word.Add(uint64(places) * roomUnit)
}

// void is the priority of what is published for a ticket whose task was refused.
const void firq.Priority = 0

// publishVoid gives back the places of tasks that were refused after E1, and fills
// their slot with nothing. The places come first: a producer that finds no hole may rely on
// every place being taken by a task.
func (s *Scheduler[K, T]) publishVoid(t *tenant[K, T], ticket uint32, places int) {
	s.giveBack(t, places)
	failpoint.At("void slot")
	t.inbox.Load().Publish(ticket) // as it is: a zero message is void
	failpoint.At("void released")
	s.env.Waiters.Released(t.Key, places)
	failpoint.At("void polled?")
	if t.word.Load()&polledBit == 0 {
		t.shard.announce(t, ticket) // so that it is drained, and the tenant known
	}
}

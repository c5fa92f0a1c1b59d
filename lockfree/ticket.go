package lockfree

import (
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/inbox"
	"github.com/firq-go/firq/lockfree/internal/ring"
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
		sh.s.env.Waiters.Released(t.Key, 1)
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

// The outcomes of take.
const (
	ticketTaken = iota
	tenantFull  // no place left
	inboxFull   // no slot left
	tenantDead  // look it up again
)

// take draws up to n tickets of the inbox, one after the other, and takes as many places of
// the tenant: [E1]. It returns the word that it drew them from.
func (t *tenant[K, T]) take(n int) (w uint64, places, took int) {
	for {
		w = t.word.Load()
		switch {
		case w&deadBit != 0:
			return w, 0, tenantDead
		case w&roomBit == 0:
			return w, 0, tenantFull
		}
		places = min(n, roomIn(w))
		if places > 1 || w&usedMask != 0 {
			if places = min(places, t.inbox.Load().Size()-int(usedIn(w))); places <= 0 {
				return w, 0, inboxFull
			}
		}
		failpoint.At("E1 draw")
		if t.word.CompareAndSwap(w, w+uint64(places)*(tailUnit+usedUnit-roomUnit)) {
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
	return word&(usedMask|polledBit) == 0 && tailOf(word)%slotsEvery >= lendSize
}

// publishVoid gives back the places of n tasks that were refused after E1, and fills
// their slots with nothing. The places come first: a producer that finds no hole may rely on
// every place being taken by a task.
func (s *Scheduler[K, T]) publishVoid(t *tenant[K, T], ticket uint32, n int) {
	s.giveBack(t, n)
	failpoint.At("void slot")
	box := t.inbox.Load()
	for i := range uint32(n) {
		box.PutVoid(ring.Cut(ticket + i))
	}
	last := publishAll(box, ticket, n)
	failpoint.At("void released")
	s.env.Waiters.Released(t.Key, n)
	failpoint.At("void polled?")
	if t.word.Load()&polledBit == 0 {
		t.shard.announce(t, last) // so that it is drained, and the tenant known
	}
}

// giveBack gives back places of tasks that were refused.
func (s *Scheduler[K, T]) giveBack(t *tenant[K, T], places int) {
	failpoint.At("void place")
	t.word.Add(uint64(places) * roomUnit)
}

// publishAll publishes what was put for n tickets, and returns the last one.
func publishAll[T any](box *inbox.Inbox[T], ticket uint32, n int) (last uint32) {
	for i := range uint32(n) {
		last = ring.Cut(ticket + i)
		box.Publish(last)
	}
	return last
}

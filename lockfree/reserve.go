package lockfree

import (
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/inbox"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// The outcomes of reserve.
const (
	ticketTaken = iota
	tenantFull  // no place left
	inboxFull   // no slot left
	tenantDead  // look it up again
)

// reserve draws up to n tickets of the inbox, one after the other, and takes as many places of
// the tenant: [E1]. It returns the word that it drew them from.
func (t *tenant[K, T]) reserve(n int) (w uint64, places, took int) {
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
	s.shared.Waiters.Released(t.Key, n)
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

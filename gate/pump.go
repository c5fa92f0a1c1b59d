package gate

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/failpoint"
)

// pump hands free slots to those whose turn it is, until no slot is free or
// nobody may have one. See Gate for why nobody is forgotten.
func (g *Gate[K]) pump() {
	for {
		w := g.load()
		if w.waiting() == 0 || !w.free() {
			return
		}
		failpoint.At("P1 take")
		if !g.word.CompareAndSwap(uint64(w), uint64(w+oneInUse)) { // [P1]
			continue
		}
		failpoint.At("P2 seen")
		seen := g.arrivals.Load() // [P2]
		failpoint.At("P3 dequeue")
		it, ok := g.s.TryDequeue() // [P3]
		if ok {
			g.grant(&it)
			continue
		}
		failpoint.At("P4 give back")
		g.ended(word(g.word.Add(^uint64(oneInUse - 1)))) // [P4]
		failpoint.At("P5 again?")
		if g.arrivals.Load() == seen { // [P5]
			return
		}
	}
}

// grant gives a slot that was taken to the waiter that was dequeued.
func (g *Gate[K]) grant(it *firq.Item[K, *holder[K]]) {
	h := it.Payload
	it.Payload = nil
	if g.debts.some.Load() {
		it.Charge(g.debts.take(it.Tenant))
	}
	h.tenant, h.item, h.queued = it.Tenant, *it, true
	failpoint.At("grant")
	g.leave()
	h.end <- granted // hands h over
}

// release gives a slot back, and lets the next one in.
func (g *Gate[K]) release() {
	failpoint.At("release")
	w := word(g.word.Add(^uint64(oneInUse - 1)))
	if w.waiting() > 0 {
		g.pump()
	} else {
		g.ended(w)
	}
}

// leave counts one less who waits.
func (g *Gate[K]) leave() { g.ended(word(g.word.Add(^uint64(oneWaiting - 1)))) }

// dropped is the scheduler's OnDrop: it ends the waiter. Who cancelled knows it.
func (g *Gate[K]) dropped(_ K, h *holder[K], why firq.DropReason) {
	failpoint.At("dropped")
	g.leave()
	switch why {
	case firq.DropExpired:
		h.end <- expired
	case firq.DropEvicted:
		h.end <- evicted
	case firq.DropClosed:
		h.end <- closed
	}
}

package gate

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// This is the protocol of a Gate.
//
// A call of Acquire is in one of these states:
//
//	decide ──┬─> holds a permit ──> released
//	         ├─> refused (closed)
//	         ├─> aside (heavier than the limit) ──┬─> decide
//	         │                                    └─> gave up, expired
//	         └─> announced ──┬─> queued ──┬─> next ──┬─> granted ──> holds a permit
//	                         │            │          ├─> gave up, expired, closed
//	                         │            │          └─> decide (now heavier than the limit)
//	                         └─> refused  └─> gave up, expired, evicted, overload, closed
//
// waiting, in word, counts the calls that are announced, queued or next. At most one is
// next: it has had its turn, and waits until all its slots are free; until then no other
// call is taken out of the queue. It holds none of these slots: new calls leave them
// alone because a call waits. A waiter and the slots that it may have always find each
// other, because every goroutine that changes something by which a call may be let in
// looks afterwards (pump), and only one looks at a time (mu):
//
//	a call that waits    one that gives slots back    one that raises the limit
//	[W1] Enqueue         [R1] Item.Done               [L1] word
//	[W2] pump            [R2] word                    [L2] pump
//	                     [R3] pump, if a call waits
//	the next one, leaving
//	[N1] not next, not counted
//	[N2] pump
//
//	pump
//	[P1] no call waits, or no slot is free? leave
//	[P2] lock; take the next one out of the queue, if no call is next
//	[P3] too few slots are free? it stays next; leave
//	[P4] take the slots and count the waiter as let in, in one step; again
//
// Of two pumps the second to get the lock sees what was changed before either. A pump
// that leaves at P1 or P3 for want of slots leaves it to the call that gives some back,
// or raises the limit: that changes word, so either the pump has seen it there, or it
// comes later, sees that a call waits, and pumps. A pump that finds no call at P2
// leaves it to the call that enqueues, or ends what kept the tenant from its turn (R1).

// maxLet is how many are let in under one hold of the lock.
const maxLet = 64

// pump lets in those whose turn it is, until too few slots are free for the next
// one, or no call may have any. See above for why no call is forgotten.
func (g *Gate[K]) pump() {
	for more := true; more; {
		if w := g.load(); w.waiting() == 0 || !w.fits(1) { // [P1]
			return
		}
		failpoint.Lock(&g.mu, "P2 lock")
		for n := 0; more && n < maxLet; n++ {
			more = g.letIn()
		}
		g.mu.Unlock()
	}
}

// letIn lets in the next one, or sends it away if it can never have its slots now.
// It reports false if no call waits, or too few slots are free. Under mu.
func (g *Gate[K]) letIn() bool {
	if w := g.load(); w.waiting() == 0 || !w.fits(1) {
		return false // in the queue it may still be evicted, or overtaken by priority
	}
	if g.next == nil {
		failpoint.At("P2 dequeue")
		it, ok := g.s.TryDequeue() // [P2]
		if !ok {
			return false
		}
		g.next, it.Payload = it.Payload, nil
		g.next.item, g.next.queued = it, true
	}
	h := g.next
	for {
		w := g.load()
		switch {
		case w.tooHeavy(h.weight):
			h.item.Charge(-h.item.Cost) // it will queue again
			g.unseat()
			g.aside.add(h, w)
			return true
		case !w.fits(h.weight):
			h.short()
			return false // [P3]
		}
		failpoint.At("P4 take")
		if g.word.CompareAndSwap(uint64(w), uint64(w+word(h.weight)-oneWaiting)) { // [P4]
			break
		}
	}
	if g.debts.some.Load() {
		it := h.item
		it.Flow = 0 // it is not known which of the tenant's flows it was
		it.Charge(g.debts.take(h.tenant))
	}
	g.next = nil
	h.waited = h.spent()
	failpoint.At("grant")
	h.end <- granted // hands h over
	return true
}

// unseat ends the turn of the next one without a permit. Under mu; the caller pumps
// afterwards, unless it is the pump.
func (g *Gate[K]) unseat() (h *holder[K]) {
	h, g.next = g.next, nil
	g.forgone.Add(1)
	if g.queueAll {
		h.item.Done()
	}
	g.leave()
	return h
}

// release gives n slots back, and lets the next ones in.
func (g *Gate[K]) release(n int) {
	failpoint.At("release")
	w := word(g.word.Add(^uint64(n - 1))) // [R2]
	if w.waiting() > 0 {
		g.pump() // [R3]
	} else {
		g.ended(w)
	}
}

// leave counts one waiter less.
func (g *Gate[K]) leave() { g.ended(word(g.word.Add(^uint64(oneWaiting - 1)))) }

// dropped is the scheduler's OnDrop: it ends the waiter. A call that cancelled knows it.
// The pump may be calling, with mu held.
func (g *Gate[K]) dropped(_ K, h *holder[K], why firq.DropReason) {
	failpoint.At("dropped")
	g.leave()
	failpoint.At("dropped, and left")
	switch why {
	case firq.DropExpired:
		h.end <- expired
	case firq.DropEvicted:
		h.end <- evicted
	case firq.DropOverload:
		h.end <- overload
	case firq.DropClosed:
		h.end <- closed
	}
}

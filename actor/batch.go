package actor

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A worker does not lock the actor for each tell of a pack: it takes the pack out of the
// mailbox (grab), and claims the tells one by one with an atomic. The others can still take the
// rest away from it (recall), when the actor fails, ends, or gets something that goes before.
// In the books, and for the limit, a tell waits until it is claimed.

// batch is the pack that a worker has taken out of a mailbox under one lock. The worker owns each of
// the pack's tells once it has claimed it; until then the tell counts as waiting. A goroutine that
// changes what the actor is to do next recalls the rest, under the actor's mu.
type batch struct {
	e     *envelope    // of the pack; written under the actor's mu, while no goroutine can recall
	p     *pack        // as e
	n     int          // tells of it; as e
	left  int          // how many the worker may still claim
	begun atomic.Int32 // claimed; recalled or more: there is no batch
}

const recalled = 1 << 30

// claim claims the next message for the worker; false: the worker has claimed as many as it may,
// or the rest was recalled.
func (b *batch) claim() bool {
	failpoint.At("claim")
	// The worker has claimed all that it may before the turn looks at the clock.
	if b.left == 0 {
		return false
	}
	// Only this worker looks at left, so it needs no atomic.
	b.left--
	// One atomic per message, in place of a lock and a list. If recall was first, begun is past
	// recalled for good, and this tell is back in the mailbox.
	return b.begun.Add(1) <= recalled
}

// next claims the next message directly after a handler; false also if the handler has left something to do
// first.
func (b *batch) next(c *Ctx) bool {
	// live, not slow: a slow Ctx has to be cleaned first. claim is last, for what is claimed must be handled.
	return c.st.Load() == live && !c.alone && !c.out.any() && c.w.has() && b.claim()
}

// grab takes e, the head, which is a pack, out of the mailbox, to claim up to k of its
// messages. The caller holds a.mu and has the turn.
func (a *actor) grab(b *batch, e *envelope, p *pack, k int) {
	e.unlink()
	// Out of the list, but still in the books as waiting: handled adds what was claimed.
	b.e, b.p, b.n = e, p, p.waits()
	b.left, p.at = min(k, b.n), p.done
	b.begun.Store(0)
	// From here on a goroutine with mu can recall.
	a.batch = b
}

// recall puts the tells of a batch that were not claimed back where they were. The caller
// holds a.mu.
func (a *actor) recall() {
	b := a.batch
	if b == nil {
		return
	}
	// First: a second recall finds nothing to do.
	a.batch = nil
	// Pairs with claim: a tell is claimed before this, or goes back.
	begun := b.begun.Swap(recalled)
	// What the worker has claimed becomes part of the actor's own books, where handled has
	// counted it from the beginning.
	a.begun(uint64(begun))
	if int(begun) < b.n {
		// The pack goes back in front, where it came from, without what was claimed.
		b.p.done += begun
		b.p.shared = true
		a.mail.pushFront(b.e)
	}
	b.e, b.p = nil, nil
}

// waits is how many tells of the pack have not been claimed. The caller holds the actor's mu.
func (p *pack) waits() int { return int(p.n - p.done) }

// bundle is a pack, to code that does not know its types.
type bundle interface {
	runner
	packed() *pack
	single(i int32) *envelope
	discard()
}

// messages is how many messages an envelope holds.
func (e *envelope) messages() uint64 {
	if b := e.run.bundle(); b != nil {
		return uint64(b.packed().waits())
	}
	return 1
}

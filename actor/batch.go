package actor

import (
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/failpoint"
)

// batched is how many messages a hand takes out of a mailbox at once, at most.
const batched = 32

// batch is some plain tells that a hand has taken out of a mailbox under one lock: each
// is the hand's as soon as it is claimed, and counts as waiting until then. Who changes
// what the actor is to do next recalls the rest, under the actor's mu.
type batch struct {
	msgs  [batched]*envelope // written under the actor's mu, while nobody can recall
	n     int
	begun atomic.Int32 // claimed; recalled or more: there is no batch
}

const recalled = 1 << 30

// claim makes the next message the hand's; false: the rest was recalled.
func (b *batch) claim() bool {
	failpoint.At("claim")
	return b.begun.Add(1) <= recalled
}

// grab takes up to k messages like e, the head, out of the mailbox; false: that is not
// worth it, or each has to be taken by itself, as it matters to somebody when: it has a
// timeout, others wait for its place or would evict it, or others come in while its
// handler waits. The caller holds a.mu and has the turn.
func (a *actor) grab(b *batch, e *envelope, k int) bool {
	set := a.set
	if k < 2 || e.next == nil || e.in != &a.mail || e.call != nil || set.sys.shuffle != nil ||
		set.reent != None || set.box.Policy != firq.Reject || set.slowAfter > 0 {
		return false
	}
	if d, _ := a.timeout(e.m); d > 0 {
		return false
	}
	n, m := 0, e.m
	for ; e != nil && n < k && e.m == m && e.call == nil; e = e.next {
		b.msgs[n], e.in = e, nil
		n++
	}
	if a.mail.first = e; e != nil {
		e.prev = nil
	} else {
		a.mail.last = nil
	}
	b.n = n
	b.begun.Store(0)
	a.batch = b
	return true
}

// recall puts what was not claimed of a batch back where it was. The caller holds a.mu.
func (a *actor) recall() {
	b := a.batch
	if b == nil {
		return
	}
	a.batch = nil
	begun := int(b.begun.Swap(recalled))
	a.out += uint64(begun)
	for i := b.n - 1; i >= begun; i-- {
		a.mail.pushFront(b.msgs[i])
		b.msgs[i] = nil
	}
}

// handled is how many messages were handled, or are being. The caller holds a.mu.
func (a *actor) handled() uint64 {
	if b := a.batch; b != nil {
		return a.out + uint64(b.begun.Load())
	}
	return a.out
}

// waits is how many messages wait. The caller holds a.mu.
func (a *actor) waits() uint64 { return a.in - a.handled() }

// several handles w's batch, or what nobody recalls. The Ctx stays valid from message to
// message, as if the next handler had got it at once. lost: as with serve.
func (w *hand) several(a *actor, state any, t *tally) (lost bool) {
	b, c := &w.batch, w.ctx
	c.hold = holdTurn
	for i, n := 0, b.n; i < n && b.claim(); i++ {
		e := b.msgs[i]
		b.msgs[i] = nil
		if !c.more {
			c.begin(a, e.m, nil, state, w.now)
		}
		c.more = i+1 < n
		t.n++
		if c.serve(a, e) {
			return true
		}
		if !w.has() {
			break
		}
	}
	if c.more {
		c.more = false
		c.returned()
		c.state = nil
	}
	return false // and who takes the actor's mu next ends the batch
}

package gate

import (
	"container/list"
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// aside are the calls that ask for more slots than the limit. They are not in the
// queue, and are not counted as waiting in word: they delay no other call. Each
// gets one message, recalled, when the limit or the end of the gate changes what
// there is to wait for; what that is its call finds out by itself.
//
// The limit rises, or the gate closes, in word; then recall looks at the calls aside. A
// call looks at word again when it has the lock. So it sees the change, or recall
// sees the call.
//
// The calls of one tenant come back one after the other, each when the one before
// is in the queue, so that their order stays what it was. No call waits for another
// tenant's, whose QuantumFor may take its time.
type aside[K comparable] struct {
	n     atomic.Int64                        // how many; written under Gate.mu
	most  struct{ all, tenant atomic.Int64 }  // limits
	full  struct{ all, tenant atomic.Uint64 } // refused for want of a place
	calls list.List                           // of *holder[K]: calls that do not fit, first come first. Under Gate.mu
	of    map[K]*asideOf                      // likewise
}

// asideOf holds the calls aside of one tenant.
type asideOf struct {
	n    int       // how many
	fit  list.List // of *holder[K]: those that may come back
	busy bool      // one is coming back
}

// stepAside puts a call aside that asks for n slots.
func (g *Gate[K]) stepAside(tenant K, n int) *holder[K] {
	h := g.holder(tenant, n)
	failpoint.Lock(&g.mu, "aside")
	g.aside.add(h, g.load())
	g.mu.Unlock()
	return h
}

// add puts h aside, or tells it why not: perhaps the word says that there is no
// need any more. Under Gate.mu.
func (a *aside[K]) add(h *holder[K], w word) {
	t := a.of[h.tenant]
	switch {
	case w.closed() || !w.tooHeavy(h.weight):
		h.end <- again
		return
	case a.n.Load() >= a.most.all.Load():
		a.full.all.Add(1)
		h.end <- fullAll
		return
	case t == nil:
		t = new(asideOf)
		a.of[h.tenant] = t
	case t.n >= int(a.most.tenant.Load()):
		a.full.tenant.Add(1)
		h.end <- fullTenant
		return
	}
	h.aside = a.calls.PushBack(h)
	t.n++
	a.n.Add(1)
	h.short()
}

// drop takes h out, and reports whether it was there. Under Gate.mu.
func (a *aside[K]) drop(h *holder[K]) bool {
	if h.aside == nil {
		return false
	}
	t := a.of[h.tenant]
	a.calls.Remove(h.aside) // it is in one of the two; the other does nothing
	t.fit.Remove(h.aside)
	h.aside = nil
	t.n--
	a.n.Add(-1)
	a.forget(h.tenant, t)
	return true
}

// forget forgets the tenant if none of its calls is left.
func (a *aside[K]) forget(tenant K, t *asideOf) {
	if t.n == 0 && !t.busy {
		delete(a.of, tenant)
	}
}

// recall lets those come back whom the word does not keep aside.
func (g *Gate[K]) recall() {
	failpoint.Lock(&g.mu, "recall")
	defer g.mu.Unlock()
	a, w := &g.aside, g.load()
	for e := a.calls.Front(); e != nil; {
		h, at := e.Value.(*holder[K]), e
		e = e.Next() // before Remove
		if !w.closed() && w.tooHeavy(h.weight) {
			continue
		}
		t := a.of[h.tenant]
		a.calls.Remove(at)
		h.aside = t.fit.PushBack(h)
		a.call(t, false)
	}
	for _, t := range a.of {
		for w.closed() && a.call(t, true) { // they have no order to keep any more
		}
	}
}

// call lets the first of a tenant's come back, unless one is on its way. Under
// Gate.mu.
func (a *aside[K]) call(t *asideOf, anyway bool) bool {
	e := t.fit.Front()
	if e == nil || t.busy && !anyway {
		return false
	}
	h := e.Value.(*holder[K])
	t.busy = true
	a.drop(h)
	h.end <- recalled
	return true
}

// back says that a call which was recalled is in the queue, or has gone.
func (g *Gate[K]) back(tenant K) {
	failpoint.Lock(&g.mu, "back")
	defer g.mu.Unlock()
	a := &g.aside
	if t := a.of[tenant]; t != nil {
		t.busy = false
		a.call(t, false)
		a.forget(tenant, t)
	}
}

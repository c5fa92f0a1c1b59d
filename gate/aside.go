package gate

import (
	"container/list"
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/failpoint"
)

// aside are the calls that ask for more slots than the limit. They are not in the
// queue, and are not counted as waiting in word: they stand in nobody's way. Each
// gets one message, again, when the limit or the end of the gate changes what
// there is to wait for; what that is its call finds out by itself.
//
// The limit rises, or the gate closes, in word; then recall looks who is aside. A
// call looks at word again when it has the lock. So it sees the change, or recall
// sees the call.
type aside[K comparable] struct {
	n      atomic.Int64                        // len(calls); written under Gate.mu
	calls  list.List                           // of *holder[K], first come first; guarded by Gate.mu, as is
	tenant map[K]int                           // how many of a tenant
	most   struct{ all, tenant int }           // immutable
	full   struct{ all, tenant atomic.Uint64 } // refused for want of a place
}

// stepAside puts a call aside that asks for n slots. If n is not more than the
// limit any more, its message is there at once.
func (g *Gate[K]) stepAside(tenant K, n int) (*holder[K], error) {
	h := g.holder(tenant, n)
	failpoint.Lock(&g.mu, "aside")
	err := g.aside.add(h, g.load())
	g.mu.Unlock()
	if err != nil {
		h.put()
		return nil, err
	}
	return h, nil
}

// add puts h aside, unless the word says that there is no need. Under Gate.mu.
func (a *aside[K]) add(h *holder[K], w word) error {
	if a.tenant == nil {
		a.tenant = map[K]int{}
	}
	switch {
	case w.closed() || !w.tooHeavy(h.weight):
		h.end <- again
		return nil
	case a.calls.Len() >= a.most.all:
		a.full.all.Add(1)
		return firq.ErrGlobalFull
	case a.tenant[h.tenant] >= a.most.tenant:
		a.full.tenant.Add(1)
		return firq.ErrTenantFull
	}
	h.aside = a.calls.PushBack(h)
	a.tenant[h.tenant]++
	a.n.Add(1)
	h.short()
	return nil
}

// drop takes h out, and reports whether it was there. Under Gate.mu.
func (a *aside[K]) drop(h *holder[K]) bool {
	if h.aside == nil {
		return false
	}
	a.calls.Remove(h.aside)
	h.aside = nil
	if a.tenant[h.tenant]--; a.tenant[h.tenant] == 0 {
		delete(a.tenant, h.tenant)
	}
	a.n.Add(-1)
	return true
}

// recall lets those who are aside start afresh whom the word does not keep there.
func (g *Gate[K]) recall() {
	failpoint.Lock(&g.mu, "recall")
	defer g.mu.Unlock()
	w := g.load()
	for e := g.aside.calls.Front(); e != nil; {
		h := e.Value.(*holder[K])
		e = e.Next() // before drop
		if w.closed() || !w.tooHeavy(h.weight) {
			g.aside.drop(h)
			h.end <- again
		}
	}
}

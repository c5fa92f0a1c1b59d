package gate

import (
	"container/list"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// Permit is one slot of a gate, or as many as Request.Weight said. It is a plain
// value: copies stand for the same permit. The zero Permit stands for none; its
// methods do nothing. Safe for concurrent use.
type Permit[K comparable] struct {
	h     *holder[K] // nil: other's, or of no permit
	gen   uint64
	other Holder // see PermitOf
}

// Release gives all its slots back, for the calls that wait next. A second call, on the
// permit or on a copy, does nothing, so that it can be deferred in addition to an early
// Release.
func (p Permit[K]) Release() {
	h := p.h
	if h == nil {
		p.releaseOther()
		return
	}
	h.mu.Lock()
	if h.gen != p.gen {
		h.mu.Unlock()
		return
	}
	h.gen++ // from here on h is ours alone
	h.mu.Unlock()
	g, n := h.gate, h.weight
	if g.queueAll {
		h.item.Done() // [R1]
	}
	h.put()
	g.release(n)
	if g.memory.Load() == something {
		g.forgetLater()
	}
}

// Charge says that the actual cost was Request.Cost (or Weight, where that is 0) +
// delta, so that over time each tenant is granted its share of actual cost. After
// Release it does nothing.
//
// A permit that waited corrects the tenant's deficit immediately, as Item.Charge does: a
// debt outlives an idle spell of the tenant, a credit does not. A permit that was given
// immediately, while no call waited, was paid from no tenant's share, so a lower cost than
// was asked for gives nothing back. A higher cost is a debt, which is kept until the
// tenant's next permit. If the next permit has to queue, the debt is charged to the
// tenant's deficit when that permit is granted, and delays the permits after it. (Among
// the tenant's flows it is charged to flow 0, because the gate does not keep which flow
// owed it.) If the next permit is given immediately, the debt is paid off, as it would be
// by a turn in a scheduler where no other call waits. A debt that no permit takes is
// forgotten after TenantIdle, at the latest after twice that.
func (p Permit[K]) Charge(delta int64) {
	h := p.h
	if h == nil {
		p.chargeOther(delta)
		return
	}
	h.mu.Lock()
	if h.gen != p.gen {
		h.mu.Unlock()
		return
	}
	item, queued, tenant := h.item, h.queued, h.tenant
	h.mu.Unlock()
	if queued {
		item.Charge(delta)
	} else {
		h.gate.debts.add(tenant, delta)
		h.gate.remembers()
	}
}

// Waited returns how long the permit's call waited, for its turn and then for
// enough slots to be free; 0 if it did not wait, and after Release.
func (p Permit[K]) Waited() time.Duration {
	if p.h == nil {
		return p.waitedOther()
	}
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	if p.h.gen != p.gen {
		return 0
	}
	return p.h.waited
}

// holder is a call of Acquire that waits, then the permit that it was given. It
// belongs to its gate's pool, then to the call, while it is queued, next or aside
// also to the goroutine that ends that (it says so in end, exactly once unless the call
// itself gave up), then to the permit.
type holder[K comparable] struct {
	gate   *Gate[K]      // immutable
	end    chan end      // capacity 1: how the waiting ended; hands the fields below over
	ticket firq.Ticket   // of the task
	timer  *time.Timer   // nil: not needed yet
	aside  *list.Element // of one of the lists of Gate.aside; nil: not there. Guarded by Gate.mu

	mu  sync.Mutex // guards gen, and the fields below while a permit is out
	gen uint64     // changes when the permit is released

	tenant K
	weight int
	item   firq.Item[K, *holder[K]] // as dequeued; zero if it did not queue
	queued bool
	since  time.Time // when it came to wait for slots: being next, or aside; zero: it did not
	waited time.Duration
}

// end says how a task ended.
type end uint8

const (
	granted end = iota
	gaveUp      // its call left; never sent
	expired
	evicted
	overload
	closed
	fullAll    // no place left aside
	fullTenant // likewise, for this tenant
	again      // the limit has changed: its call has to start afresh
	recalled   // likewise, from aside: and say when it is back
)

// after returns a channel that gets the time in d. The caller stops h.timer.
func (h *holder[K]) after(d time.Duration) <-chan time.Time {
	if h.timer == nil {
		h.timer = time.NewTimer(d)
	} else {
		h.timer.Reset(d)
	}
	return h.timer.C
}

// short notes that h has to wait for slots.
func (h *holder[K]) short() {
	if h.since.IsZero() {
		h.since = time.Now()
	}
}

// spent returns how long h waited, for its turn and for slots.
func (h *holder[K]) spent() time.Duration {
	d := h.item.Wait
	if !h.since.IsZero() {
		d += time.Since(h.since)
	}
	return d
}

// put gives h back to the pool. It forgets what it held.
func (h *holder[K]) put() {
	var zero K
	h.tenant, h.item, h.queued = zero, firq.Item[K, *holder[K]]{}, false
	h.since, h.waited = time.Time{}, 0
	h.gate.holders.Put(h)
}

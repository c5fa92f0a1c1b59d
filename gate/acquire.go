package gate

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/failpoint"
)

// Request is what a call of Acquire asks for. The zero value is fine.
type Request struct {
	// Cost in work units, for fairness; a permit is one slot whatever it costs.
	// 0 means 1; negative is firq.ErrInvalidTask.
	Cost int64
	// Priority, 0 means firq.PriorityNormal; above firq.PriorityCritical is
	// firq.ErrInvalidTask.
	Priority firq.Priority
	// Deadline after which the permit is of no use: Acquire returns none later, but
	// firq.ErrTimeout. Zero: none, or Config.MaxQueueAge from now.
	Deadline time.Time
}

func (r *Request) validate() error {
	if r.Cost >= 0 && r.Priority <= firq.PriorityCritical {
		return nil
	}
	t := firq.Task[struct{}]{Cost: r.Cost, Priority: r.Priority}
	return t.Validate()
}

func (r *Request) late() bool { return !r.Deadline.IsZero() && time.Now().After(r.Deadline) }

// Acquire waits for the tenant's turn and returns a permit, to be released. Else
// it returns the zero Permit and
//
//   - ctx.Err(), if ctx is done first (also if it is done already);
//   - firq.ErrTimeout, if the Deadline passes first;
//   - firq.ErrGlobalFull, ErrTenantFull, ErrTenantThreshold, ErrTooManyTenants or
//     ErrEvicted if the queue is full, as Config says. These and ErrTimeout match
//     firq.ErrRejected;
//   - firq.ErrClosed after Close or Shutdown;
//   - firq.ErrInvalidTask or firq.ErrInvalidArgument if the request makes no sense.
func (g *Gate[K]) Acquire(ctx context.Context, tenant K, req Request) (Permit[K], error) {
	if ctx == nil {
		return Permit[K]{}, errNilContext
	}
	if err := req.validate(); err != nil {
		return Permit[K]{}, err
	}
	select {
	case <-ctx.Done():
		return Permit[K]{}, ctx.Err()
	default:
	}
	if req.late() {
		g.timedOut.Add(1)
		return Permit[K]{}, firq.ErrTimeout
	}
	took, err := g.decide()
	switch {
	case err != nil:
		return Permit[K]{}, err
	case took:
		return g.atOnce(tenant), nil
	}
	h, err := g.enqueue(tenant, &req)
	if err != nil {
		return Permit[K]{}, err
	}
	return g.await(ctx, h, req.Deadline)
}

// TryAcquire returns a permit if it can have one now, without waiting and without
// overtaking anybody. It also says no when the Deadline has passed, when the gate
// is closed, or when a slot is just being handed over. A negative Cost or an
// unknown Priority panics. With MaxInFlightPerTenant it queues for a moment like
// everybody, so the limits of the queue and Policy apply.
func (g *Gate[K]) TryAcquire(tenant K, req Request) (Permit[K], bool) {
	if err := req.validate(); err != nil {
		panic(err.Error())
	}
	if req.late() {
		return Permit[K]{}, false
	}
	for w := g.load(); w.free() && !w.closed(); w = g.load() {
		if g.queueAll {
			return g.tryQueue(tenant, &req)
		}
		if w.waiting() > 0 {
			return Permit[K]{}, false
		}
		failpoint.At("try")
		if g.word.CompareAndSwap(uint64(w), uint64(w+oneInUse)) {
			return g.atOnce(tenant), true
		}
	}
	return Permit[K]{}, false
}

// tryQueue is TryAcquire where every permit goes through the queue: it queues, and
// leaves again unless it was its turn.
func (g *Gate[K]) tryQueue(tenant K, req *Request) (Permit[K], bool) {
	if took, err := g.decide(); took || err != nil {
		return Permit[K]{}, false // closed; it takes nothing where all queue
	}
	h, err := g.enqueue(tenant, req)
	if err != nil {
		return Permit[K]{}, false
	}
	how := gaveUp
	select {
	case how = <-h.end:
	default:
		if !h.ticket.Cancel() {
			how = <-h.end
		}
	}
	if how != granted {
		h.put()
		return Permit[K]{}, false
	}
	return Permit[K]{h, h.gen}, true
}

// decide takes a free slot if nobody waits; else the caller is announced as one
// who waits, unless the gate is closed or more wait than word can count.
func (g *Gate[K]) decide() (took bool, err error) {
	for {
		w := g.load()
		next := w + oneWaiting
		took = !g.queueAll && w.waiting() == 0 && w.free()
		switch {
		case w.closed():
			return false, firq.ErrClosed
		case took:
			next = w + oneInUse
		case w.waiting() == fieldMax:
			return false, firq.ErrGlobalFull
		}
		failpoint.At("decide")
		if g.word.CompareAndSwap(uint64(w), uint64(next)) {
			return took, nil
		}
	}
}

// atOnce makes the permit of who took a slot while nobody waited.
func (g *Gate[K]) atOnce(tenant K) Permit[K] {
	g.immediate.Inc()
	if g.debts.some.Load() {
		g.debts.take(tenant) // a turn that nobody else wants pays off what is owed
	}
	h := g.holders.Get().(*holder[K])
	h.tenant = tenant
	return Permit[K]{h, h.gen}
}

// enqueue puts one who is announced into the queue, and looks for a slot: [W1] to
// [W3]. The deadline that MaxQueueAge means is filled in.
func (g *Gate[K]) enqueue(tenant K, req *Request) (*holder[K], error) {
	if g.maxAge > 0 && req.Deadline.IsZero() {
		req.Deadline = time.Now().Add(g.maxAge)
	}
	h := g.holders.Get().(*holder[K])
	failpoint.At("W1 enqueue")
	err := g.s.Enqueue(tenant, firq.Task[*holder[K]]{
		Payload:  h,
		Cost:     req.Cost,
		Priority: req.Priority,
		Deadline: req.Deadline,
		Ticket:   &h.ticket,
	}) // [W1]
	if err != nil {
		h.put()
		g.leave()
		return nil, err
	}
	failpoint.At("W2 arrived")
	g.arrivals.Add(1) // [W2]
	g.pump()          // [W3]
	return h, nil
}

// await sleeps until h's place in the queue has come to an end.
func (g *Gate[K]) await(ctx context.Context, h *holder[K], deadline time.Time) (Permit[K], error) {
	var how end
	select {
	case how = <-h.end: // the slot was there
	default:
		failpoint.At("sleep")
		how = g.sleep(ctx, h, deadline)
	}
	if how != granted {
		h.put()
		return Permit[K]{}, g.why(ctx, how)
	}
	p := Permit[K]{h, h.gen}
	select {
	case <-ctx.Done(): // as semaphore does: it came too late
		p.Release()
		return Permit[K]{}, ctx.Err()
	default:
	}
	if !deadline.IsZero() && time.Now().After(deadline) {
		p.Release()
		return Permit[K]{}, g.why(ctx, expired)
	}
	return p, nil
}

// sleep waits for h's end, or makes one.
func (g *Gate[K]) sleep(ctx context.Context, h *holder[K], deadline time.Time) end {
	var late <-chan time.Time
	if !deadline.IsZero() {
		late = h.after(time.Until(deadline))
		defer h.timer.Stop()
	}
	how := gaveUp
	select {
	case how := <-h.end:
		return how
	case <-ctx.Done():
	case <-late:
		how = expired
	}
	failpoint.At("give up")
	if h.ticket.Cancel() {
		return how
	}
	return <-h.end // it was over before; the message is there, or on its way
}

// why is the error of a call that did not get its permit.
func (g *Gate[K]) why(ctx context.Context, how end) error {
	switch how {
	case expired:
		g.timedOut.Add(1)
		return firq.ErrTimeout
	case evicted:
		return ErrEvicted
	case closed:
		return firq.ErrClosed
	}
	return ctx.Err()
}

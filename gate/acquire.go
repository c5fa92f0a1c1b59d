package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Request describes a call of Acquire. The zero value is fine.
type Request struct {
	// Weight is how many slots the permit takes, all together, 1 to MaxSlots. 0 means 1;
	// anything else is firq.ErrInvalidTask. While it is above the limit, the call waits
	// aside: see Acquire.
	Weight int
	// Cost in work units, for fairness. 0 means Weight, so that a permit of five
	// slots counts as five of one; negative is firq.ErrInvalidTask.
	Cost int64
	// Priority, 0 means firq.PriorityNormal; above firq.PriorityCritical is
	// firq.ErrInvalidTask.
	Priority firq.Priority
	// Flow is a number for the user or route within the tenant that the call belongs
	// to. The flows of a tenant share what the tenant is granted (Config.MaxFlows). 0:
	// none in particular.
	Flow uint64
	// Deadline after which the permit is of no use: from then on Acquire returns
	// firq.ErrTimeout instead. Zero: none, or Config.MaxQueueAge from now.
	Deadline time.Time
}

// resolve fills in what 0 means.
func (r *Request) resolve() error {
	if r.Cost < 0 || r.Priority > firq.PriorityCritical || uint(r.Weight) > MaxSlots {
		return r.invalid()
	}
	r.Weight = max(r.Weight, 1)
	if r.Cost == 0 {
		r.Cost = int64(r.Weight)
	}
	return nil
}

func (r *Request) invalid() error {
	t := firq.Task[struct{}]{Cost: r.Cost, Priority: r.Priority}
	if err := t.Validate(); err != nil {
		return err
	}
	return fmt.Errorf("%w: Weight is %d, must be 0 (which means 1) to %d", firq.ErrInvalidTask, r.Weight, MaxSlots)
}

func (r *Request) late() bool { return !r.Deadline.IsZero() && time.Now().After(r.Deadline) }

// Acquire waits for the tenant's turn, then until as many slots are free as the request
// weighs, and returns a permit for them, which the caller has to release. Otherwise it
// returns the zero Permit and
//
//   - ctx.Err(), if ctx is done first, or already;
//   - firq.ErrTimeout, if the Deadline passes first;
//   - firq.ErrGlobalFull, ErrTenantFull, ErrTenantThreshold, ErrTooManyTenants or
//     ErrEvicted if the queue is full, as Config says. These and ErrTimeout match
//     firq.ErrRejected;
//   - firq.ErrClosed after Close or Shutdown;
//   - firq.ErrInvalidTask if the request makes no sense, or if the tenant is not
//     equal to itself (NaN); firq.ErrInvalidArgument if ctx is nil.
//
// A call is next when it is its turn but it needs more slots than are free: slots that
// come free are left for it, and no call overtakes it. If it leaves instead, its turn
// is spent, and others are let in immediately.
//
// A call that is heavier than the limit blocks no other call: it waits aside, without a
// turn, until SetLimit has raised the limit far enough; then it queues like a new call.
// (With a limit of 0 no call can be let in, and all calls queue.) As many calls may
// wait aside as may queue, in all and per tenant. Shutdown ends them with
// firq.ErrClosed, because it does not wait for them.
//
// If QuantumFor, PolicyFor or a method of ctx panics, so does Acquire, and leaves
// nothing behind; likewise for a tenant that cannot be compared, and for
// runtime.Goexit.
func (g *Gate[K]) Acquire(ctx context.Context, tenant K, req Request) (Permit[K], error) {
	if ctx == nil {
		return Permit[K]{}, errNilContext
	}
	if err := req.resolve(); err != nil {
		return Permit[K]{}, err
	}
	if err := g.keys.Tenant(tenant); err != nil {
		return Permit[K]{}, err
	}
	done := ctx.Done()
	select {
	case <-done:
		return Permit[K]{}, g.why(ctx, gaveUp)
	default:
	}
	if req.late() {
		g.timedOut.Add(1)
		return Permit[K]{}, firq.ErrTimeout
	}
	v, err := g.decide(req.Weight)
	switch {
	case err != nil:
		return Permit[K]{}, err
	case v == taken:
		return g.atOnce(tenant, req.Weight), nil
	}
	return g.wait(ctx, done, tenant, &req, v)
}

// TryAcquire returns a permit if it can have one now, without waiting and without
// overtaking another call. It also returns false when the Deadline has passed or when
// the gate is closed. It panics where Acquire would return firq.ErrInvalidTask. With
// MaxInFlightPerTenant it queues for a moment like any other call, so the limits of the
// queue and Policy apply.
func (g *Gate[K]) TryAcquire(tenant K, req Request) (Permit[K], bool) {
	if err := req.resolve(); err != nil {
		panic(err.Error())
	}
	if err := g.keys.Tenant(tenant); err != nil {
		panic(err.Error())
	}
	if req.late() {
		return Permit[K]{}, false
	}
	for w := g.load(); w.fits(req.Weight) && !w.closed(); w = g.load() {
		if g.queueAll {
			return g.tryQueue(tenant, &req)
		}
		if w.waiting() > 0 {
			return Permit[K]{}, false
		}
		failpoint.At("try")
		if g.word.CompareAndSwap(uint64(w), uint64(w+word(req.Weight))) {
			return g.atOnce(tenant, req.Weight), true
		}
	}
	return Permit[K]{}, false
}

// tryQueue is TryAcquire where every permit goes through the queue: it queues, and
// leaves again unless it was its turn.
func (g *Gate[K]) tryQueue(tenant K, req *Request) (Permit[K], bool) {
	if v, err := g.decide(req.Weight); v != announced || err != nil {
		return Permit[K]{}, false // closed, or the limit has fallen; it takes nothing where all queue
	}
	h, err := g.enqueue(tenant, req)
	if err != nil {
		return Permit[K]{}, false
	}
	how := gaveUp
	select {
	case how = <-h.end:
	default:
		if !g.withdraw(h) {
			how = <-h.end
		}
	}
	if how != granted {
		h.put()
		return Permit[K]{}, false
	}
	return Permit[K]{h: h, gen: h.gen}, true
}

// verdict is the result of decide.
type verdict uint8

const (
	taken     verdict = iota + 1 // the slots are the caller's
	announced                    // the caller is counted as a waiter
	heavy                        // the caller asks for more than the limit; nothing has changed
)

// decide takes n free slots if no call waits; else the caller is announced as one
// that waits, unless n is more than the limit, the gate is closed, or more wait
// than word can count.
func (g *Gate[K]) decide(n int) (verdict, error) {
	for {
		w := g.load()
		v, next := announced, w+oneWaiting
		switch {
		case w.closed():
			return 0, firq.ErrClosed
		case w.tooHeavy(n):
			return heavy, nil
		case !g.queueAll && w.waiting() == 0 && w.fits(n):
			v, next = taken, w+word(n)
		case w.waiting() == fieldMax:
			return 0, firq.ErrGlobalFull
		}
		failpoint.At("decide")
		if g.word.CompareAndSwap(uint64(w), uint64(next)) {
			return v, nil
		}
	}
}

// atOnce makes the permit of a call that took n slots while none waited.
func (g *Gate[K]) atOnce(tenant K, n int) Permit[K] {
	g.immediate.Inc()
	if g.debts.some.Load() {
		g.debts.take(tenant) // a turn that no other tenant wants pays off what is owed
	}
	h := g.holder(tenant, n)
	return Permit[K]{h: h, gen: h.gen}
}

// holder returns a holder from the pool.
func (g *Gate[K]) holder(tenant K, n int) *holder[K] {
	h := g.holders.Get().(*holder[K])
	h.tenant, h.weight = tenant, n
	return h
}

// enqueue puts an announced call into the queue, and looks for slots: [W1] and
// [W2].
func (g *Gate[K]) enqueue(tenant K, req *Request) (_ *holder[K], err error) {
	h, queued := g.holder(tenant, req.Weight), false
	defer func() { // whatever QuantumFor and PolicyFor do
		if !queued {
			g.leave()
		}
	}()
	failpoint.At("W1 enqueue")
	err = g.s.Enqueue(tenant, firq.Task[*holder[K]]{
		Payload:  h,
		Cost:     req.Cost,
		Priority: req.Priority,
		Deadline: req.Deadline,
		Flow:     req.Flow,
		Ticket:   &h.ticket,
	}) // [W1]
	if err != nil {
		h.put()
		return nil, err
	}
	queued = true
	g.remembers()
	failpoint.At("W2 pump")
	g.pump() // [W2]
	return h, nil
}

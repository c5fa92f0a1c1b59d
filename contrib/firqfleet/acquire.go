package firqfleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Acquire waits for the tenant's turn in the fleet, then until as many slots are free as the request weighs, and returns a
// permit for them, which the caller has to release. Otherwise it returns the zero Permit and
//
//   - ctx.Err(), if ctx is done first, or already;
//   - firq.ErrTimeout, if the Deadline passes first, or MaxQueueAge;
//   - firq.ErrGlobalFull or ErrTenantFull if too many calls wait in this process;
//   - ErrUnavailable while the server is away, if Down is Refuse and the lease has run out;
//   - firq.ErrClosed after Close or Shutdown;
//   - firq.ErrInvalidTask if the request or the tenant's name makes no sense (up to 128 bytes without line breaks);
//     firq.ErrInvalidArgument if ctx is nil.
//
// A request's Priority counts among the calls of its tenant in this process; its Flow does not count. A call that is heavier
// than the limit waits aside, and blocks no other call, until SetLimit has raised the limit.
func (g *Gate) Acquire(ctx context.Context, tenant string, req gate.Request) (gate.Permit[string], error) {
	if ctx == nil {
		return gate.Permit[string]{}, errNilContext
	}
	if err := check(tenant, &req); err != nil {
		return gate.Permit[string]{}, err
	}
	select {
	case <-ctx.Done():
		return gate.Permit[string]{}, ctx.Err()
	default:
	}
	if late(&req) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.counters.timedOut++
		return gate.Permit[string]{}, firq.ErrTimeout
	}
	if p := g.quick(tenant, req.Weight); p != nil {
		return gate.PermitOf[string](p), nil
	}
	if g.cfg.MaxQueueAge > 0 && req.Deadline.IsZero() {
		req.Deadline = time.Now().Add(g.cfg.MaxQueueAge)
	}
	c, p, err := g.enter(tenant, &req)
	if c == nil {
		return p, err
	}
	return g.await(ctx, c, req.Deadline)
}

// TryAcquire returns a permit if one can be had without asking the server, without waiting and without overtaking another
// call. It panics where Acquire would return firq.ErrInvalidTask.
func (g *Gate) TryAcquire(tenant string, req gate.Request) (gate.Permit[string], bool) {
	if err := check(tenant, &req); err != nil {
		panic(err.Error())
	}
	if late(&req) {
		return gate.Permit[string]{}, false
	}
	if p := g.quick(tenant, req.Weight); p != nil {
		return gate.PermitOf[string](p), true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.atHand(g.find(tenant), &req); p != nil {
		return gate.PermitOf[string](p), true
	}
	return gate.Permit[string]{}, false
}

// check fills in what 0 means.
func check(tenant string, r *gate.Request) error {
	if err := checkTenant(tenant); err != nil {
		return err
	}
	if r.Cost < 0 || r.Priority > firq.PriorityCritical {
		t := firq.Task[struct{}]{Cost: r.Cost, Priority: r.Priority}
		return t.Validate()
	}
	if uint(r.Weight) > gate.MaxSlots {
		return fmt.Errorf("%w: firqfleet: Weight is %d, must be 0 (which means 1) to %d", firq.ErrInvalidTask, r.Weight, gate.MaxSlots)
	}
	r.Weight = max(r.Weight, 1)
	if r.Cost == 0 {
		r.Cost = int64(r.Weight)
	}
	if r.Priority == 0 {
		r.Priority = firq.PriorityNormal
	}
	return nil
}

func checkTenant(tenant string) error {
	if len(tenant) > MaxName || strings.IndexByte(tenant, '\n') >= 0 || strings.IndexByte(tenant, '\r') >= 0 {
		return fmt.Errorf("%w: firqfleet: tenant: %q, must have up to %d bytes, and no line breaks", firq.ErrInvalidTask, tenant, MaxName)
	}
	return nil
}

func late(r *gate.Request) bool { return !r.Deadline.IsZero() && time.Now().After(r.Deadline) }

// quick returns a permit of slots that are here while no call waits anywhere; nil: it has to be asked under mu.
func (g *Gate) quick(tenant string, n int) *permit {
	if !g.here.take(n, true) {
		return nil
	}
	if g.expired() { // looked at with the slots in hand, so that no pause lies between
		g.releaseSlow(n)
		return nil
	}
	g.immediate.Inc()
	p := g.permits.Get().(*permit)
	p.name, p.slots = tenant, n
	return p
}

// atHand returns a permit of slots that are here, or, without the server, of this process's share; nil: there is none that no
// other call has to get first. Under mu.
func (g *Gate) atHand(t *tenant, r *gate.Request) *permit {
	switch {
	case g.closed || t.n > 0:
	case !g.check():
		if g.mayShare(t, r.Weight) && g.waiting.Len() == 0 {
			return g.share(t, r.Weight, r.Cost)
		}
	case t.most > 0:
		if n := len(t.parked) - 1; n >= 0 && t.parked[n].slots >= r.Weight {
			tn := t.parked[n]
			t.parked = t.parked[:n]
			tn.start = g.now()
			g.counters.reused++
			return g.permit(t, tn, r.Weight, r.Cost)
		}
	case g.hungry || g.waiting.Len() > 0:
	case g.here.take(r.Weight, false):
		g.immediate.Inc()
		p := g.permits.Get().(*permit)
		p.name, p.slots = t.name, r.Weight
		return p
	}
	return nil
}

// permit returns a permit of a turn. Under mu.
func (g *Gate) permit(t *tenant, tn turn, slots int, cost int64) *permit {
	g.turnUse += slots
	p := g.permits.Get().(*permit)
	p.name, p.t, p.turn, p.slots, p.cost = t.name, t, tn, slots, cost
	return p
}

// enter returns a permit, or an error, or a call that waits.
func (g *Gate) enter(name string, req *gate.Request) (*call, gate.Permit[string], error) {
	var none gate.Permit[string]
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.find(name)
	if g.closed {
		return nil, none, firq.ErrClosed
	}
	if p := g.atHand(t, req); p != nil {
		return nil, gate.PermitOf[string](p), nil
	}
	switch {
	case g.cfg.Down == Refuse && g.down():
		return nil, none, ErrUnavailable
	case t.n+t.heavy.Len() >= g.cfg.MaxPerTenant:
		g.counters.rejectedTenant++
		return nil, none, firq.ErrTenantFull
	case g.calls >= g.cfg.MaxGlobal:
		g.counters.rejectedGlobal++
		return nil, none, firq.ErrGlobalFull
	}
	c := &call{t: t, weight: req.Weight, cost: req.Cost, priority: req.Priority, since: g.now(), got: make(chan struct{})}
	g.calls++
	g.push(c)
	g.refresh()
	return c, none, nil
}

// await sleeps until the waiting of c has come to an end.
func (g *Gate) await(ctx context.Context, c *call, deadline time.Time) (gate.Permit[string], error) {
	var passed <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		passed = timer.C
	}
	var why error
	select {
	case <-c.got:
		if why = ctx.Err(); why == nil && !deadline.IsZero() && time.Now().After(deadline) {
			why = firq.ErrTimeout
		}
		if c.err != nil || why == nil {
			return c.permit, c.err
		}
	case <-ctx.Done():
		why = ctx.Err()
	case <-passed:
		why = firq.ErrTimeout
	}
	g.mu.Lock()
	if why == firq.ErrTimeout {
		g.counters.timedOut++
	}
	if c.place == nil { // its turn had come
		g.mu.Unlock()
		c.permit.Release()
		if c.err != nil {
			why = c.err
		}
		return gate.Permit[string]{}, why
	}
	g.finish(c, gate.Permit[string]{}, why)
	if c.t.told > 0 {
		g.poke()
	}
	g.settle()
	g.mu.Unlock()
	return gate.Permit[string]{}, why
}

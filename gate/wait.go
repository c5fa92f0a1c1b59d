package gate

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// wait is Acquire from where it has to wait, in the queue or aside. It starts
// afresh whenever the limit makes it.
func (g *Gate[K]) wait(ctx context.Context, done <-chan struct{}, tenant K, req *Request, v verdict) (Permit[K], error) {
	if g.maxAge > 0 && req.Deadline.IsZero() {
		req.Deadline = time.Now().Add(g.maxAge)
	}
	var waited time.Duration
	var returns bool // from aside; other calls of its tenant come after it
	defer func() {
		if returns { // not into the queue, as it happens
			g.back(tenant)
		}
	}()
	for {
		var h *holder[K]
		var err error
		switch v {
		case taken:
			p := g.atOnce(tenant, req.Weight)
			p.h.waited = waited
			return p, nil
		case announced:
			h, err = g.enqueue(tenant, req)
		case heavy:
			h = g.stepAside(tenant, req.Weight)
		}
		if err != nil {
			return Permit[K]{}, err
		}
		if returns {
			returns = false
			g.back(tenant)
		}
		how := g.await(done, h, req.Deadline)
		if how == granted {
			h.waited += waited
			return g.inTime(ctx, done, h, req)
		}
		waited += h.spent()
		h.put()
		if how == recalled {
			returns, how = true, again
		}
		if how == again {
			how = gone(done, req)
		}
		if how != again {
			return Permit[K]{}, g.why(ctx, how)
		}
		if v, err = g.decide(req.Weight); err != nil {
			return Permit[K]{}, err
		}
	}
}

// await sleeps until the waiting of h has come to an end.
func (g *Gate[K]) await(done <-chan struct{}, h *holder[K], deadline time.Time) end {
	select {
	case how := <-h.end: // the slots were there
		return how
	default:
	}
	failpoint.At("sleep")
	var late <-chan time.Time
	if !deadline.IsZero() {
		late = h.after(time.Until(deadline))
		defer h.timer.Stop()
	}
	how := gaveUp
	select {
	case how := <-h.end:
		return how
	case <-done:
	case <-late:
		how = expired
	}
	failpoint.At("give up")
	if g.withdraw(h) {
		return how
	}
	return <-h.end // it was over before; the message is there, or on its way
}

// withdraw ends the waiting of h by its own call: it leaves the queue, or stops
// being next, or aside. False: another goroutine has ended it.
func (g *Gate[K]) withdraw(h *holder[K]) bool {
	if h.ticket.Cancel() {
		return true
	}
	failpoint.Lock(&g.mu, "N1 lock")
	was := g.next == h
	if was {
		g.unseat() // [N1]
	}
	aside := g.aside.drop(h)
	g.mu.Unlock()
	if was {
		failpoint.At("N2 pump")
		g.pump() // [N2]
	}
	return was || aside
}

// inTime returns the permit of h, unless it has come too late.
func (g *Gate[K]) inTime(ctx context.Context, done <-chan struct{}, h *holder[K], req *Request) (Permit[K], error) {
	p := Permit[K]{h: h, gen: h.gen}
	if how := gone(done, req); how != again { // as semaphore does
		p.Release()
		return Permit[K]{}, g.why(ctx, how)
	}
	return p, nil
}

// gone says why a call cannot go on: gaveUp or expired; again if it can.
func gone(done <-chan struct{}, req *Request) end {
	select {
	case <-done:
		return gaveUp
	default:
	}
	if req.late() {
		return expired
	}
	return again
}

// why is the error of a call that did not get its permit.
func (g *Gate[K]) why(ctx context.Context, how end) error {
	switch how {
	case expired:
		g.timedOut.Add(1)
		return firq.ErrTimeout
	case evicted:
		return ErrEvicted
	case overload:
		return ErrOverload
	case closed:
		return firq.ErrClosed
	case fullAll:
		return firq.ErrGlobalFull
	case fullTenant:
		return firq.ErrTenantFull
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled // it is done, whatever it says
}

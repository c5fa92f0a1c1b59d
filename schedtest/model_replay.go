package schedtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firq-go/firq"
)

func (r *replay) apply(o op) error {
	t := r.m.tenant(o.tenant)
	last := r.last
	r.last = item{}
	switch o.kind {
	case opEnqueue:
		return r.enqueue(o)
	case opEnqueueBatch:
		return r.enqueueBatch(o)
	case opTryDequeue:
		return r.tryDequeue()
	case opDequeueBatch:
		return r.dequeueBatch(o.n)
	case opCancel:
		if got, want := r.tickets[o.ticket].Cancel(), r.m.cancel(o.ticket); got != want {
			return fmt.Errorf("Cancel is %v, want %v", got, want)
		}
	case opSetQuantum:
		r.s.SetQuantum(o.tenant, o.amount)
		r.m.setQuantum(t, max(o.amount, 1))
	case opResetQuantum:
		r.s.ResetQuantum(o.tenant)
		r.m.setQuantum(t, 0)
	case opPlan:
		// An implementation may ask for the plan again when it likes; so the
		// plan changes only while the tenant is idle.
		if !t.flows[0].listed && len(t.queue) == 0 {
			r.plans[o.tenant] = o.amount
		}
	case opDone:
		r.someDone(o)
	case opCharge:
		if last.Payload != 0 {
			last.Charge(o.amount)
			r.m.charge(last.Tenant, last.Priority, o.amount)
		}
	}
	return nil
}

// someDone ends the n-th delivery that has not ended, or, now and then, one that
// may have.
func (r *replay) someDone(o op) {
	var open []int
	for i, done := range r.done {
		if !done {
			open = append(open, i)
		}
	}
	switch {
	case len(open) > 0 && o.amount > 0:
		r.finishOne(open[o.n%len(open)])
	case len(r.items) > 0:
		r.finishOne((len(r.items) - 1) / o.n)
	}
}

// finishOne calls Done, perhaps for the second time.
func (r *replay) finishOne(i int) {
	r.items[i].Done()
	if !r.done[i] {
		r.done[i] = true
		r.m.done(r.m.tenant(r.items[i].Tenant))
	}
}

func (r *replay) enqueue(o op) error {
	p := o.priority
	if p == 0 {
		p = firq.PriorityNormal
	}
	t := r.m.tenant(o.tenant)
	f := r.m.flow(t, p)
	if f.vague || o.dead && len(alive(r.m.tasks(f))) == 0 {
		return nil // or it would be, with expired tasks only
	}
	tk := task{Payload: o.id, Cost: o.cost, Priority: o.priority}
	if o.dead {
		tk.Deadline = longPast
	} else if o.far {
		tk.Deadline = time.Now().Add(time.Hour)
	}
	var a admission
	if o.ticket >= 0 {
		tk.Ticket = &r.tickets[o.ticket]
	}
	switch {
	case r.m.tickets[o.ticket] == nil:
		a = r.m.ask(o.tenant, p, r.m.cfg.Backpressure.Policy)
	case r.m.limit(t, 0) == nil:
		a.err = firq.ErrInvalidTask
	default:
		return nil // two reasons to say no
	}
	if a.evict != nil && len(alive(r.m.tasks(r.m.flow(t, a.evict.priority)))) == 1 {
		return nil // to empty a flow other than by delivery would make it vague
	}
	err := r.s.Enqueue(o.tenant, tk)
	if !errors.Is(err, a.err) {
		return fmt.Errorf("Enqueue: %v, want %v", err, a.err)
	}
	if a.err != firq.ErrInvalidTask {
		r.m.enqueue(o.tenant, &modelTask{id: o.id, cost: o.cost, priority: p, dead: o.dead, ticket: o.ticket}, a)
	}
	return nil
}

func (r *replay) enqueueBatch(o op) error {
	p := max(o.priority, 1)
	if r.m.cfg.Backpressure.Policy != firq.Reject || r.m.flow(r.m.tenant(o.tenant), p).vague {
		return nil
	}
	var batch []task
	accepted, want := 0, error(nil)
	for i := range o.n {
		a := r.m.ask(o.tenant, p, firq.Reject)
		if r.m.flow(r.m.tenant(o.tenant), p).vague {
			break
		}
		batch = append(batch, task{Payload: o.id + i, Cost: o.cost, Priority: p})
		r.m.enqueue(o.tenant, &modelTask{id: o.id + i, cost: o.cost, priority: p, ticket: -1}, a)
		if want == nil {
			want = a.err
		}
		if a.err == nil {
			accepted++
		}
	}
	if n, err := r.s.EnqueueBatch(o.tenant, batch); n != accepted || err != want {
		return fmt.Errorf("EnqueueBatch of %d: %d, %v, want %d, %v", len(batch), n, err, accepted, want)
	}
	return nil
}

// delivered compares one item with what the model delivers.
func (r *replay) delivered(it item, ok bool) error {
	got, want := "nothing", "nothing"
	tk, t := r.m.dequeue()
	if tk != nil {
		want = fmt.Sprintf("%s's payload %d, cost %d, priority %d", t.name, tk.id, tk.cost, tk.priority)
	}
	if ok {
		got = fmt.Sprintf("%s's payload %d, cost %d, priority %d", it.Tenant, it.Payload, it.Cost, it.Priority)
		r.items, r.done = append(r.items, it), append(r.done, r.m.cfg.MaxInFlightPerTenant == 0)
	}
	if got != want {
		return fmt.Errorf("delivered %s, want %s", got, want)
	}
	return nil
}

func (r *replay) tryDequeue() error {
	it, ok := r.s.TryDequeue()
	r.last = it
	return r.delivered(it, ok)
}

func (r *replay) dequeueBatch(n int) error {
	dst := make([]item, n)
	// A context that is done would be a choice of errors, so look first.
	it, ok := r.s.TryDequeue()
	if err := r.delivered(it, ok); err != nil || !ok {
		return err
	}
	if !r.more() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := r.s.DequeueBatch(ctx, dst)
	if err != nil {
		return fmt.Errorf("DequeueBatch: %v", err)
	}
	for _, it := range dst[:got] {
		if err := r.delivered(it, true); err != nil {
			return fmt.Errorf("in a batch of %d: %w", got, err)
		}
	}
	if got == n {
		return nil
	}
	if r.more() {
		return fmt.Errorf("a batch of %d of %d, although more is deliverable", got, n)
	}
	// Whether a batch that is not full has ended the last tenant's turn is not
	// said: end it.
	return r.tryDequeue()
}

// more reports whether something is deliverable.
func (r *replay) more() bool {
	for _, t := range r.m.tenants {
		for _, tk := range t.queue {
			if !tk.dead && !r.m.blocked(t) {
				return true
			}
		}
	}
	return false
}

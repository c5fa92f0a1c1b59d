package queuetest

import (
	"fmt"
	"time"

	"github.com/firq-go/firq/queue"
)

// corrects corrects what a tenant has used.
func (m *model) corrects(x *modelTask, delta int64) {
	if t := m.tenants[x.Tenant]; t.charged {
		t.used = max(t.used+delta, 0)
	}
}

// settle ends deliveries, or extends them.
func (m *model) settle() {
	some := m.in(queue.StateInFlight, "")
	if len(some) == 0 {
		return
	}
	ctx, x := bounded(m), oneOf(m, some...)
	if m.one(4) {
		delta := m.rnd.Int64N(9) - 4
		x.item.Charge(delta)
		x.charge += delta
	}
	switch m.rnd.IntN(8) {
	case 0, 1, 2:
		m.ack(x)
	case 3, 4:
		m.nack(x)
	case 5:
		m.did("Release(%s)", x.ID)
		ok(m, m.q.Release(ctx, x.item))
		m.st.Released++
		m.corrects(x, -x.Cost)
		m.back(x)
	case 6:
		m.did("Extend(%s)", x.ID)
		m.answers(m.q.Extend(ctx, 2*time.Hour, x.item), when(x.cancelled, queue.ErrCancelled))
	case 7:
		m.did("the lease of %s runs out", x.ID)
		m.answers(m.q.Extend(ctx, time.Microsecond, x.item), when(x.cancelled, queue.ErrCancelled))
		if m.one(3) {
			time.Sleep(soon)
			m.ack(x)
			return
		}
		m.passes()
		m.st.LeaseExpired++
		x.failed++
		if !x.cancelled && x.failed >= x.MaxAttempts {
			m.ended = append(m.ended, x.item)
			m.dies(x, "lease ran out")
			return
		}
		m.back(x)
	}
}

// back ends a delivery of a task that goes on, unless it was cancelled.
func (m *model) back(x *modelTask) {
	m.ended = append(m.ended, x.item)
	if x.cancelled {
		m.st.Cancelled++
		m.ends(x)
		return
	}
	m.queues(x, true)
}

func (m *model) ack(x *modelTask) {
	m.did("Ack(%s), charge %d", x.ID, x.charge)
	if m.one(2) {
		ok(m, x.item.SetResult([]byte(x.Payload)))
		if x.KeepResult > 0 {
			x.result = x.Payload
		}
	}
	ok(m, m.q.Ack(bounded(m), x.item))
	m.st.Acked++
	m.corrects(x, x.charge)
	m.ended = append(m.ended, x.item)
	m.ends(x)
	if x.KeepResult > 0 {
		x.state = queue.StateCompleted
		m.kept[x.ID] = x
	}
}

func (m *model) nack(x *modelTask) {
	r := queue.Retry{After: oneOf(m, -1, 0, soon, time.Hour), Reason: fmt.Sprint("why ", len(m.calls)), Dead: m.one(4)}
	m.did("Nack(%s, %+v), charge %d", x.ID, r, x.charge)
	ok(m, m.q.Nack(bounded(m), x.item, r))
	m.st.Nacked++
	m.corrects(x, x.charge)
	x.failed++
	switch {
	case !x.cancelled && (r.Dead || x.failed >= x.MaxAttempts):
		m.ended = append(m.ended, x.item)
		m.dies(x, r.Reason)
	case !x.cancelled && (r.After == 0 || r.After == time.Hour):
		m.back(x)
		x.state = queue.StateDelayed
	default:
		m.back(x)
	}
	if r.After == soon {
		m.passes()
	}
}

// stale says something of a delivery that has ended.
func (m *model) stale() {
	if len(m.ended) == 0 {
		return
	}
	ctx, it := bounded(m), oneOf(m, m.ended...)
	m.did("stale: %s", it.ID)
	m.answers([]func() error{
		func() error { return m.q.Ack(ctx, it) }, func() error { return m.q.Nack(ctx, it, queue.Retry{After: -1}) },
		func() error { return m.q.Release(ctx, it) }, func() error { return m.q.Extend(ctx, 0, it) },
	}[m.rnd.IntN(4)](), queue.ErrLeaseLost)
	m.st.LeaseLost++
}

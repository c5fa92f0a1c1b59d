package drr

import "github.com/firq-go/firq"

// ChargeFlow is Charge for a task of a flow: it moves the flow's deficit as well as the
// tenant's. As with tenants, a flow without a task gathers no credit, but its debt is
// remembered (of at most Config.MaxFlows flows; the flow that left first is forgotten), and each
// round of the tenant's flows takes a quantum off it. A flow that shares another's line
// is charged to that line.
func (q *Queue[K, T]) ChargeFlow(t *Tenant[K, T], p firq.Priority, id uint64, delta int64) {
	q.Charge(t, p, delta)
	level := int(p) - 1
	s := q.seatOf(t, level)
	delta = min(max(delta, -maxDebt), maxDebt)
	if s.split&(1<<level) == 0 {
		if !s.flowed || delta <= 0 {
			return
		}
		q.splitUp(s, level)
	}
	if on := &q.lists[s.level]; on.wait > 0 && q.cfg.Order != firq.FIFO {
		q.lookAgain(on) // another flow's task, which may be cheaper, may be the front now
	}
	x := t.more.flows[level]
	switch f := x.find(q.hash(id), id); {
	case f == nil && delta > 0:
		f = q.addFlow(x, id)
		f.deficit = -delta
		q.owes(x, f, x.round)
	case f == nil:
		return
	case f.home != nil:
		f.home.correct(delta)
	default:
		x.forgive(f, t.quantum, 0)
		if f.correct(delta); f.deficit >= 0 {
			x.acquit(f)
			q.dropFlow(x, f)
		}
	}
	if x.tasks == 0 {
		q.allGone(s, level, x)
	}
}

// correct moves the deficit by -delta, within the bounds of what Charge can pile up.
func (f *flow[K, T]) correct(delta int64) {
	if delta > 0 {
		f.pay(delta)
	} else if f.deficit < maxDebt { // a skip may have saved up more than that
		f.deficit = min(f.deficit-delta, maxDebt)
	}
}

// owes puts a flow that has left in a round among the debtors.
func (q *Queue[K, T]) owes(x *flows[K, T], f *flow[K, T], left uint64) {
	f.since = left
	x.debtors.push(f)
	if x.owing++; int(x.owing) > q.cfg.MaxFlows {
		first := x.debtors.head
		x.acquit(first)
		q.dropFlow(x, first)
	}
}

// acquit takes a flow out of the debtors.
func (x *flows[K, T]) acquit(f *flow[K, T]) {
	x.debtors.remove(f)
	x.owing--
}

// comeBack takes a flow out of the debtors that gets a task. Where it has its turn in
// this round, that is not paid off as well.
func (x *flows[K, T]) comeBack(f *flow[K, T], quantum int64) {
	turn := uint64(0)
	if x.lines.head == nil {
		turn = 1
	}
	x.forgive(f, quantum, turn)
	x.acquit(f)
}

// forgive pays off a debtor's debt: a quantum for each round that has begun since it
// left, less the rounds in but.
func (x *flows[K, T]) forgive(f *flow[K, T], quantum int64, but uint64) {
	rounds := x.round - f.since
	rounds -= min(rounds, but)
	switch {
	case f.deficit >= 0:
	case rounds > uint64(-f.deficit-1)/uint64(quantum):
		f.deficit = 0
	default:
		f.deficit += int64(rounds) * quantum
	}
	f.since = x.round
}

// forgiveAll is forgive for all debtors.
func (x *flows[K, T]) forgiveAll(quantum int64) {
	for f := x.debtors.head; f != nil; f = f.next {
		x.forgive(f, quantum, 0)
	}
}

// forgiveFlows is forgiveAll at all levels of a seat.
func (q *Queue[K, T]) forgiveFlows(s *seat[K, T]) {
	for level := range levels {
		if s.split&(1<<level) != 0 {
			s.tenant.more.flows[level].forgiveAll(s.tenant.quantum)
		}
	}
}

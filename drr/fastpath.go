package drr

import "github.com/firq-go/firq"

// fewSteps is how many turns nextPlain ends at most before it leaves the rest to
// nextOfAll.
const fewSteps = 8

// nextPlain is nextOfAll, to which it adds nothing but speed, for what is usual: plain
// tenants with tasks in slots. It returns nil where it comes to anything else; then
// nextOfAll goes on from there.
func (q *Queue[K, T]) nextPlain(now int64, limit uint64, payload *T, h *Head) *Tenant[K, T] {
	l := &q.lists[0]
	// In each step: Fill brings in what goes first, or what makes a look at each inbox necessary.
	for step := 0; step < fewSteps && q.lazy && l.wait == 0 && l.fresh.head == nil; step++ {
		s := l.active.head
		if s == nil {
			return nil
		}
		t := s.tenant
		if t.mask != 1<<usual || t.NeedsFill {
			if t.mask != 0 {
				return nil
			}
			if q.host.Fill(t); t.mask == 0 && l.fresh.head == nil {
				q.leave(s) // s is in the active list
			}
			continue
		}
		g := t.line.lane.first
		at := &g.slots[g.from]
		if !s.inTurn {
			if beyond(l.round, limit) {
				return nil
			}
			l.reached = l.round
			l.audit.turn(s.deficit, t.quantum)
			s.inTurn = true
			s.deficit = addSaturated(s.deficit, t.quantum)
		}
		cost := at.cost
		if s.deficit < cost {
			q.turnOver(l, s, now, limit)
			continue
		}
		s.deficit -= cost
		l.reached, l.used, l.emptyVisits = l.round, true, 0
		l.audit.spent += uint64(cost)
		h.Cost, h.Enqueued, h.Due, h.Flow, h.Priority = cost, at.enqueued, NoDeadline, 0, firq.PriorityNormal
		var zero T
		*payload, at.payload = at.payload, zero // keep no payload alive
		if g.from+1 < g.to {
			g.from++
			t.line.lane.out++
		} else {
			t.line.lane.popFront(&q.pool)
		}
		q.queued--
		q.ready-- // a tenant in a list is not blocked
		if t.queued--; t.queued == 0 {
			t.mask = 0
			q.nEmpty++
		}
		return t
	}
	return nil
}

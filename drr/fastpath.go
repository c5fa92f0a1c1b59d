package drr

import "github.com/firq-go/firq"

// fewSteps is how many turns nextPlain ends at most before it leaves the rest to
// nextOfAll.
const fewSteps = 8

// nextPlain is nextOfAll, to which it adds nothing but speed, for what is usual: plain
// tenants with tasks in slots. It returns nil where it comes to anything else; then
// nextOfAll goes on from there.
func (q *Queue[K, T]) nextPlain(now int64, limit uint64, payload *T) (t *Tenant[K, T], h Head) {
	l := &q.lists[0]
	if l.wait > 0 || l.fresh.head != nil {
		return nil, h
	}
	for range fewSteps {
		s := l.active.head
		if s == nil {
			return nil, h
		}
		t = s.tenant
		if t.mask != 1<<usual || t.NeedsFill {
			if t.mask != 0 {
				return nil, h
			}
			if q.host.Fill(t); t.mask == 0 {
				q.leave(s) // s is in the active list
			}
			continue
		}
		if !s.inTurn {
			if beyond(l.round, limit) {
				return nil, h
			}
			l.reached = l.round
			l.audit.turn(s.deficit, t.quantum)
			s.inTurn = true
			s.deficit = addSaturated(s.deficit, t.quantum)
		}
		g := t.line.lane.first
		at := &g.slots[g.from]
		h = Head{Cost: at.cost, Enqueued: at.enqueued, Due: NoDeadline, Priority: firq.PriorityNormal}
		if s.deficit < h.Cost {
			if q.turnOver(s, now, limit); l.wait > 0 {
				return nil, h
			}
			continue
		}
		s.deficit -= h.Cost
		l.reached, l.used, l.emptyVisits = l.round, true, 0
		l.audit.spent += uint64(h.Cost)
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
		return t, h
	}
	return nil, h
}

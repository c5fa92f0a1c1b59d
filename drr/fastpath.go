package drr

// fewSteps is how many turns NextPlain ends at most before it leaves the rest to
// NextWithin.
const fewSteps = 8

// NextPlain is NextWithin, to which it adds nothing but speed, for what is usual: plain
// tenants with tasks in slots. It returns nil where it comes to anything else; then
// NextWithin goes on from there. Only for a Queue that is Straight.
func (q *Queue[K, T]) NextPlain(now int64, limit uint64, payload *T) (t *Tenant[K, T], cost, enqueued int64) {
	l := &q.lists[0]
	if l.freed.head != nil {
		return nil, 0, 0
	}
	// In each step: Fill brings in what goes first, or what makes a look at each inbox necessary.
	for step := 0; step < fewSteps && q.lazy && l.wait == 0 && l.fresh.head == nil; step++ {
		s := l.active.head
		if s == nil {
			break
		}
		t := s.tenant
		if t.mask != 1<<normalLevel || t.NeedsFill || t.blocked {
			if t.mask != 0 {
				break
			}
			if q.host.Fill(t); t.mask == 0 && l.fresh.head == nil {
				q.leave(s) // s is in the active list
			}
			continue
		}
		g := t.line.lane.first
		at := &g.slots[g.from]
		cost = int64(at.Cost)
		deficit := s.deficit
		if !s.inTurn {
			if beyond(l.round, limit) {
				break
			}
			l.reached = l.round
			l.audit.turn(deficit, t.quantum)
			s.inTurn = true
			deficit = addSaturated(deficit, t.quantum)
			s.deficit = deficit
		}
		if deficit < cost { // turnOver, of a seat in the active list
			due := s.due
			s.inTurn, s.due, l.used = false, l.round+1, true
			l.active.rotate()
			l.visited(due)
			if l.emptyVisits++; l.emptyVisits >= l.active.n {
				q.skip(l, now, limit)
			}
			continue
		}
		s.deficit = deficit - cost
		l.reached, l.used, l.emptyVisits = l.round, true, 0
		l.audit.spent += uint64(cost)
		enqueued = at.Enqueued
		var zero T
		*payload, at.Payload = at.Payload, zero // keep no payload alive
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
		return t, cost, enqueued
	}
	return nil, 0, 0
}

// Straight reports whether NextPlain may be called: tasks are in slots, and CoDel has no
// say.
func (q *Queue[K, T]) Straight() bool { return q.plain && q.dropper == nil }

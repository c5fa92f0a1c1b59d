package drr

import "github.com/firq-go/firq"

// fewSteps is how many turns NextPlain ends at most before it leaves the rest to
// NextOfAll.
const fewSteps = 8

// NextWithin does what Next does, but begins no turn in a round after limit (except of
// newly active tenants, with NewFirst); math.MaxUint64 is no limit. Not for Across. The
// payload and the rest of a task that is delivered go where the caller says.
func (q *Queue[K, T]) NextWithin(now int64, limit uint64, payload *T, h *Head) (*Tenant[K, T], Verdict) {
	if t, cost, enqueued := q.NextPlain(now, limit, payload); t != nil {
		*h = Head{Cost: cost, Enqueued: enqueued, Due: NoDeadline, Priority: firq.PriorityNormal}
		return t, Delivered
	}
	return q.NextOfAll(now, limit, payload, h)
}

// NextPlain is NextWithin in the usual case, which it adds nothing to but speed: plain tenants, with
// tasks in slots, one after the other. Where it comes to anything else it returns nil, and
// NextOfAll goes on.
func (q *Queue[K, T]) NextPlain(now int64, limit uint64, payload *T) (of *Tenant[K, T], cost, enqueued int64) {
	l := &q.lists[0]
	if !q.straight || l.freed.head != nil || l.fresh.head != nil {
		return nil, 0, 0
	}
	for step := 0; l.wait == 0 && step < fewSteps; step++ { // skip may have it wait
		s := l.active.head
		if s == nil {
			break
		}
		t := s.tenant
		if t.mask == 0 { // its last task was served: it lingered in case another came before this visit
			due := s.visit
			q.nEmpty--
			l.leaveFront(s)
			l.visited(due)
			continue
		}
		if t.mask != 1<<normalLevel || t.blocked {
			break
		}
		deficit := s.deficit
		if !s.inTurn {
			if beyond(l.round, limit) { // NextOfAll says that it is ahead
				break
			}
			l.reached = l.round
			deficit = addSaturated(deficit, t.quantum)
			l.audit.turn(deficit)
			s.inTurn, s.deficit = true, deficit
		}
		// With that mask all its tasks are in slots, of which the oldest is next. It costs at least 1: where a turn
		// is one task, the tenant's next one, which may be in no cache, need not be looked at to end the turn.
		g := t.line.row.first
		if deficit < 1 || deficit < int64(g.slots[g.from].Cost) { // turnOver, of a seat in the active list
			due := s.visit
			s.inTurn, s.visit, l.used = false, l.round+1, true
			l.active.rotate()
			l.visited(due)
			if l.emptyVisits++; l.emptyVisits >= l.active.n {
				q.skip(l, now, limit)
			}
			continue
		}
		at := &g.slots[g.from]
		cost = int64(at.Cost)
		s.deficit = deficit - cost
		l.reached, l.used, l.emptyVisits = l.round, true, 0
		l.audit.spent += uint64(cost)
		var zero T
		enqueued, *payload, at.Payload = at.Enqueued, at.Payload, zero // keep no payload alive
		// Before: the slot is the Queue's. After: the row's last segment fills it again; of a segment that is lent it is
		// the lender's (Lent).
		t.line.row.popFront(g, &q.pool)
		q.queued--
		q.ready-- // a tenant in a list is not blocked
		if t.queued--; t.queued == 0 {
			t.mask = 0
			q.nEmpty++ // it stays in the list until its next visit
		}
		return t, cost, enqueued
	}
	return nil, 0, 0
}

// leaveFront takes the seat at the head out of the active list, as leave does.
func (l *list[K, T]) leaveFront(s *seat[K, T]) {
	s.where, s.inTurn, s.visit, s.deficit = nowhere, false, l.clock(), min(s.deficit, 0)
	l.active.remove(s)
}

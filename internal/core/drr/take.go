package drr

import "github.com/firq-go/firq"

// take moves the front of a seat out of everything that knows it, and its payload to
// where payload says, and ends its ticket. e is nil if it is in a slot.
func (q *Queue[K, T]) take(s *seat[K, T], e *entry[K, T], payload *T) Head {
	if e != nil {
		return q.takeEntry(e, payload)
	}
	l := q.slotLine(s)
	h := takeSlot(l.row.front(), payload)
	l.row.popFront(l.row.first, &q.pool)
	q.slotTaken(s)
	return h
}

// takeSlot takes what is in a slot.
func takeSlot[T any](s *Slot[T], payload *T) Head {
	var zero T
	*payload, s.Payload = s.Payload, zero // keep no payload alive
	return Head{Cost: int64(s.Cost), Enqueued: s.Enqueued, Due: NoDeadline, Priority: firq.PriorityNormal}
}

// slotTaken counts a task that has left a slot. Slots are of flow 0.
func (q *Queue[K, T]) slotTaken(s *seat[K, T]) {
	t := s.tenant
	if s.split&(1<<normalLevel) != 0 {
		q.takenOut(s, normalLevel, 0)
	} else if t.line.empty() {
		t.mask &^= 1 << normalLevel
	}
	q.taken(s)
}

func (q *Queue[K, T]) takeEntry(e *entry[K, T], payload *T) Head {
	t, level := e.tenant, int(e.priority)-1
	l := t.taking(level)
	s := q.seatOf(t, level)
	if s.split != 0 && s.split&(1<<level) != 0 { // the first is cheaper
		q.takeOut(s, level, e)
	} else if l.tasks.remove(e); l.tasks.head == nil {
		if level == normalLevel {
			t.mask &^= mixedNormal
		}
		if l.row.empty() {
			t.mask &^= 1 << level
		}
	}
	if e.due != NoDeadline {
		q.dues.remove(e)
	}
	h, ticket := Head{e.cost, e.enqueued, e.due, e.flow, e.priority}, e.ticket
	*payload = e.payload
	q.pool.putEntry(e)
	q.taken(s)
	if ticket != nil {
		ticket.Release()
	}
	return h
}

// taken counts a task that has left a seat.
func (q *Queue[K, T]) taken(s *seat[K, T]) {
	t, on := s.tenant, &q.lists[s.level]
	on.emptyVisits = 0
	if on.wait > 0 {
		q.lookAgain(on) // what is behind it may be cheaper
	}
	t.queued--
	q.queued--
	if !t.blocked {
		q.ready--
	}
	if q.cfg.Order == firq.AdaptiveLIFO {
		q.watermark(t)
	}
	switch {
	case !q.empty(s):
	case s.where == parked: // it keeps what it has if its next task comes in this round
		on.earn(s, max(s.deficit, keeps(t.quantum, 0)))
		on.parked.remove(s)
		s.where = nowhere
	case s.where != nowhere:
		q.nEmpty++
	}
}

// expire drops an entry whose time is over. Slots do not expire.
func (q *Queue[K, T]) expire(e *entry[K, T]) {
	t := e.tenant
	q.gone.is(q.takeEntry(e, &q.gone.Payload))
	q.host.Expired(t, &q.gone)
	q.gone = Task[T]{} // keep no payload alive
}

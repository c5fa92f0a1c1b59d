package drr

// A tenant at its in-flight limit is blocked. When its turn comes, or the one that it is in
// would go on, it is parked: it takes no turns, but loses none. Each round that begins
// brings it its quantum, as its turn in it would, and it keeps what it cannot spend, up to
// what keeps says. That is worked out when it is needed (bring), so that a blocked tenant
// costs nothing, however many there are. Not blocked any more, it goes before the tenant
// whose turn it is, which keeps that turn, as long as it has the deficit for its next task;
// then it goes to the tail, with a turn from the next round on.
//
// So over any number of rounds a tenant has as many quanta as the others, whether it is in
// the list or parked. And rounds neither wait for a tenant that is parked, nor does it move
// them on.

// Block keeps a tenant from being served until Unblock.
func (q *Queue[K, T]) Block(t *Tenant[K, T]) {
	t.blocked = true
	q.ready -= int(t.queued)
	q.eachSeat(t, func(s *seat[K, T]) {
		if s.where != freed {
			return // it has time until its turn comes
		}
		if q.detach(s); q.empty(s) {
			q.nEmpty-- // it keeps what it has if its next task comes in this round
			return
		}
		q.park(s)
	})
}

// Unblock lets a blocked tenant be served again.
func (q *Queue[K, T]) Unblock(t *Tenant[K, T]) {
	t.blocked = false
	q.ready += int(t.queued)
	q.eachSeat(t, func(s *seat[K, T]) {
		if s.where == nowhere {
			s.deficit = min(s.deficit, 0) // what it had for its next task
			return
		}
		l := &q.lists[s.level]
		if l.wait > 0 {
			q.lookAgain(l) // a task that came while it was blocked may be cheaper
		}
		if s.where == parked {
			l.parked.remove(s)
			s.where = freed
			l.freed.push(s)
		}
	})
}

// Blocked reports whether the tenant is blocked.
func (t *Tenant[K, T]) Blocked() bool { return t.blocked }

// park parks a seat that is in no list, and has a task; its tenant is blocked.
func (q *Queue[K, T]) park(s *seat[K, T]) {
	s.where = parked
	q.lists[s.level].parked.push(s)
}

// halt parks a seat of the active list, or at the head of the fresh one. A turn that had not
// begun it has had all the same.
func (q *Queue[K, T]) halt(l *list[K, T], s *seat[K, T]) {
	hadTurn := s.inTurn || s.where == fresh
	l.used = l.used || s.where == active
	if q.detach(s); !hadTurn {
		s.visit = (s.visit - 1) & lastRound
	}
	q.park(s)
}

// canGo reports whether a freed seat, at the head, has the deficit for its next task. If
// it has not it goes to the tail: its turn in this round it has had.
func (q *Queue[K, T]) canGo(l *list[K, T], s *seat[K, T], cost int64) bool {
	most := keeps(s.tenant.quantum, cost)
	l.earn(s, most)
	if s.deficit = min(s.deficit, most); s.deficit >= cost {
		return true
	}
	l.freed.remove(s)
	l.used = true
	s.where, s.visit = active, l.round+1
	l.active.push(s)
	l.lastFreed()
	return false
}

// lastFreed begins a round, if there is no freed seat any more, and those that have come
// to the tail are all that are in the list. As long as there is one, the round stays: else
// it would bring those a quantum that come later, before the first has had its turn.
func (l *list[K, T]) lastFreed() {
	if l.freed.n == 0 && l.left == 0 && l.active.n > 0 {
		l.round, l.used, l.left = (l.round+1)&lastRound, false, l.active.n
		l.audit.round(l.left)
	}
}

// keeps returns how much a tenant keeps of what it cannot spend while it is blocked: two
// quanta, or a quantum more than its next task costs. So it is not short when it may go
// on, and has no long burst.
func keeps(quantum, cost int64) int64 { return addSaturated(quantum, max(quantum, cost)) }

// bring gives a seat that takes no turns what rounds have brought it since it left, or
// since the last time: with a task its quanta, else they pay off its debt.
func (q *Queue[K, T]) bring(s *seat[K, T]) {
	l := &q.lists[s.level]
	switch {
	case s.where == active || s.where == fresh:
	case q.empty(s):
		l.forgive(s, 0)
	default:
		l.earn(s, keeps(s.tenant.quantum, q.price(s)))
	}
}

// earn gives a seat a quantum for each round that has begun since, up to so much in all.
func (l *list[K, T]) earn(s *seat[K, T], most int64) {
	now := l.clock()
	rounds := (now - s.visit) & lastRound
	s.visit = now
	if s.deficit >= most || rounds == 0 {
		return
	}
	// A deficit is at least -1<<61: no overflow.
	if need := uint64(most) - uint64(s.deficit); rounds > (need-1)/uint64(s.tenant.quantum) {
		s.deficit = most
	} else {
		s.deficit += int64(rounds) * s.tenant.quantum
	}
}

// lingerer returns a seat without a task at the head of a list, if there is one.
func (q *Queue[K, T]) lingerer() *seat[K, T] {
	for i := range q.lists {
		if s := q.lists[i].head(); s != nil && q.empty(s) {
			return s
		}
	}
	return nil
}

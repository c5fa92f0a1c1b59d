package drr

import "math"

// join puts an idle seat into a list. Its deficit is 0, or a debt.
//
// If the list is empty the seat has its turn in this round, unless some seat has had a
// turn in it: then it begins the next one. Else seats that come one at a time, or one
// that pauses after each task, would all be served in one round, for ever.
func (q *Queue[K, T]) join(s *seat[K, T], first bool) {
	l := &q.lists[s.level]
	if l.wait > 0 {
		q.lookAgain(l) // first: the rounds that have passed in between count for its debt
	}
	turn := uint64(0) // of the rounds that have begun since s left, those in which it has a turn now
	if !first && l.active.n == 0 {
		turn = 1
		if l.used {
			l.round, l.used = (l.round+1)&lastRound, false
		}
	}
	if s.deficit < 0 {
		l.forgive(s, turn)
	}
	if first {
		s.where, s.visit = fresh, l.round
		l.fresh.push(s)
		return
	}
	q.activate(l, s)
}

// activate puts a seat at the tail of the active list, to be visited from the
// next round on, or in this one if it is the only seat.
func (q *Queue[K, T]) activate(l *list[K, T], s *seat[K, T]) {
	if l.wait > 0 {
		q.lookAgain(l) // it is not known yet whether s can pay
	}
	s.where, s.visit = active, l.round+1
	if l.active.n == 0 {
		s.visit, l.left = l.round, 1
		l.audit.round(1)
	}
	l.active.push(s)
}

// visited closes the round if the seat, due in the given round, was the last one
// that it had to visit; it is out of the list already, or at its tail again. The
// round of a list without seats stays, for the next tenant: see join.
//
// So does a round in which no seat has had a turn: all that it had to visit have left,
// and those that came in between have their turns in it instead. Else seats that come
// and leave without a turn would take the list to any round, and a tenant that comes then
// would have to wait for that.
func (l *list[K, T]) visited(due uint64) {
	if Apart(due, l.round) <= 0 {
		if l.left--; l.left <= 0 && l.active.n > 0 {
			l.roundOver()
		}
	}
}

func (l *list[K, T]) roundOver() {
	l.left = l.active.n
	l.audit.round(l.left)
	if !l.used {
		for f := range l.active.all { // once for each that came
			f.visit = l.round
		}
		return
	}
	l.round, l.used = (l.round+1)&lastRound, false
	if l.wait > 0 {
		l.wait--
	}
}

// turnOver sends the seat at the head of its list, which cannot pay, to the tail.
func (q *Queue[K, T]) turnOver(l *list[K, T], s *seat[K, T], now int64, limit uint64) {
	s.inTurn = false
	if s.where == fresh {
		l.fresh.remove(s)
		q.activate(l, s)
		return
	}
	due := s.visit
	s.visit, l.used = l.round+1, true
	l.active.rotate()
	l.visited(due)
	if l.emptyVisits++; l.emptyVisits >= l.active.n {
		q.skip(l, now, limit)
	}
}

// emptied ends the turn of a seat that was found without a task. One that was newly
// active goes through the active list before it leaves, so that it cannot go idle and
// be first again immediately.
func (q *Queue[K, T]) emptied(s *seat[K, T]) {
	l := &q.lists[s.level]
	switch {
	case s.where == fresh:
		l.fresh.remove(s)
	case s.where == freed && q.cfg.NewFirst:
		l.freed.remove(s)
		l.forgive(s, 0) // the rounds before pay off debt, as they do if it leaves
	default:
		q.leave(s)
		return
	}
	s.inTurn, s.deficit = false, min(s.deficit, 0)
	q.activate(l, s)
	l.lastFreed()
}

// leave takes a seat without a task out of its list. Credit is forfeited, debt
// is not.
func (q *Queue[K, T]) leave(s *seat[K, T]) {
	q.nEmpty--
	q.detach(s)
	s.deficit = min(s.deficit, 0)
}

// detach takes a seat out of its list.
func (q *Queue[K, T]) detach(s *seat[K, T]) {
	l := &q.lists[s.level]
	was, due := s.where, s.visit
	s.where, s.inTurn = nowhere, false
	switch was {
	case freed:
		l.freed.remove(s) // due already names the last round whose quantum it has got
		l.lastFreed()
	case fresh:
		l.fresh.remove(s)
		s.visit = l.clock()
	default:
		l.active.remove(s)
		s.visit = l.clock()
		l.visited(due)
	}
}

// forgive lets a seat that is in no list pay off its debt: a quantum for each round
// that has begun since the one that it left in, or that its debt was last looked at
// in, less the rounds in but. These are the turns that it would have had, and that its debt
// would have kept empty. What credit it has left ends with the first of them.
func (l *list[K, T]) forgive(s *seat[K, T], but uint64) {
	now := l.clock()
	rounds := (now - s.visit) & lastRound
	rounds -= min(rounds, but)
	switch {
	case s.deficit >= 0:
		if rounds > 0 {
			s.deficit = 0
		}
	case rounds > uint64(-s.deficit-1)/uint64(s.tenant.quantum):
		s.deficit = 0
	default:
		s.deficit += int64(rounds) * s.tenant.quantum
	}
	s.visit = now
}

// Retire makes a tenant without tasks leave, if it is still in a list: it was
// served its last task, and NextWithin was not called since.
func (q *Queue[K, T]) Retire(t *Tenant[K, T]) {
	q.eachSeat(t, func(s *seat[K, T]) {
		if s.where != nowhere && q.empty(s) {
			q.leave(s)
		}
	})
}

// skip gives every tenant as many refills in one step as it takes until one can
// pay, less the one that each gets at the start of its turn. Called between
// turns; does nothing if some seat needs a visit first (it is empty, or its
// front task expired). If that would be after the round limit nothing is given yet,
// but remembered (wait).
func (q *Queue[K, T]) skip(l *list[K, T], now int64, limit uint64) {
	l.emptyVisits = 0
	fewest := uint64(math.MaxUint64)
	for s := range l.active.all {
		h, _ := q.front(s, now)
		if h.none() || h.due < now || h.cost <= s.deficit {
			return
		}
		// Cost is at most 1<<63-1 and a debt at most 1<<61: no overflow.
		need := uint64(h.cost) - uint64(s.deficit)
		quantum := uint64(s.tenant.quantum)
		fewest = min(fewest, (need-1)/quantum+1)
	}
	if fewest == math.MaxUint64 || fewest < 2 {
		return
	}
	turns := fewest - 1 // no tenant can pay after these: turns x quantum < need
	if l.wait = turns; q.peers != nil || limit != math.MaxUint64 {
		l.wait = min(turns, mostAtOnce)
	}
	q.pass(l, limit)
}

// pass takes the empty turns that are known, if the limit and the peers let a tenant
// be served after them. Else the round stays: a tenant that joins before the peers have come so
// far joins now. Where no peer has work the round stays, too: it is counted for them.
func (q *Queue[K, T]) pass(l *list[K, T], limit uint64) {
	may := PassUncounted
	if limit != math.MaxUint64 {
		may = PassCounted
	}
	switch {
	case beyond(l.tag(), limit):
		return
	case q.peers != nil:
		may = q.peers.Pass(l.tag())
	}
	switch may {
	case PassCounted:
		l.catchUp(l.wait)
		l.reached = l.round
	case PassUncounted:
		l.refill(l.wait)
		l.skipped += l.wait
		l.wait, l.used = 0, false
	}
}

// refill gives each seat the quanta of the given turns, in none of which any seat can pay.
func (l *list[K, T]) refill(turns uint64) {
	for s := range l.active.all {
		s.deficit += int64(turns * uint64(s.tenant.quantum))
	}
}

// catchUp takes the given number of known empty turns, and moves the round on.
func (l *list[K, T]) catchUp(turns uint64) {
	l.refill(turns)
	l.round, l.used = (l.round+turns)&lastRound, false
	for s := range l.active.all {
		s.visit = (s.visit + turns) & lastRound
	}
	l.wait -= turns
}

// CatchUp takes the empty turns up to round r, as far as it is known that they
// are empty: a queue that shares time with others calls it before it adds a task,
// so that the newcomer joins at the current round and the others have what is
// due to them.
func (q *Queue[K, T]) CatchUp(r uint64) {
	l := &q.lists[0]
	if to := Apart(r, l.round); to > 0 && l.wait > 0 {
		l.catchUp(min(l.wait, uint64(to)))
	}
}

// lookAgain is called, if the list waits, before something changes by which a tenant
// may be able to pay earlier than was known.
func (q *Queue[K, T]) lookAgain(l *list[K, T]) {
	if q.peers != nil {
		q.peers.Back()
	}
	l.wait = 0
}

// Waiting reports whether it is known that no tenant can pay before a later round.
func (q *Queue[K, T]) Waiting() bool { return q.lists[0].wait > 0 }

// Tag returns the round in which the next delivery can be, as far as is known,
// of a seat that does not go first.
func (q *Queue[K, T]) Tag() uint64 { return q.lists[0].tag() }

// Plainly returns Tag and Reached, and whether nothing goes before or after what these say:
// it is neither Waiting nor Fresh, nor Freed.
func (q *Queue[K, T]) Plainly() (tag, reached uint64, yes bool) {
	l := &q.lists[0]
	return l.round, l.reached, l.wait == 0 && l.fresh.head == nil && l.freed.head == nil
}

// Fresh reports whether there are newly active seats that go first (NewFirst):
// they can be served in any round.
func (q *Queue[K, T]) Fresh() bool { return q.lists[0].fresh.head != nil }

// Freed reports whether there are seats that go before the active list as they are not
// blocked any more: they, too, can be served in any round.
func (q *Queue[K, T]) Freed() bool { return q.lists[0].freed.head != nil }

// SetQuantum sets what the tenant may spend per turn, from its next turn on. Below 1
// counts as 1. What rounds have paid off of its debt they have paid at the old quantum.
func (q *Queue[K, T]) SetQuantum(t *Tenant[K, T], quantum int64) {
	if quantum = min(max(quantum, 1), maxQuantum); quantum == t.quantum {
		return
	}
	q.eachSeat(t, func(s *seat[K, T]) {
		l := &q.lists[s.level]
		if s.where == active && l.wait > 0 {
			q.lookAgain(l)
		}
		q.bring(s)
		if s.split != 0 {
			q.forgiveFlows(s)
		}
	})
	t.SetQuantum(quantum)
}

func (q *Queue[K, T]) eachSeat(t *Tenant[K, T], do func(*seat[K, T])) {
	if !q.cfg.Across {
		do(&t.seat)
	} else if t.more != nil && t.more.seats != nil {
		for i := range t.more.seats {
			do(&t.more.seats[i])
		}
	}
}

// purge makes the seats that cancelling and expiry have emptied leave, once
// they outnumber the others. A seat in mid-turn stays: its next task may come
// before the next call.
func (q *Queue[K, T]) purge() {
	listed := 0
	for i := range q.lists {
		listed += q.lists[i].active.n + q.lists[i].freed.n + q.lists[i].fresh.n
	}
	if q.nEmpty < 64 || q.nEmpty < listed/2 {
		return
	}
	for i := range q.lists {
		for _, l := range []*seats[K, T]{&q.lists[i].fresh, &q.lists[i].freed, &q.lists[i].active} {
			for s := range l.all {
				if !s.inTurn && q.empty(s) {
					q.leave(s)
				}
			}
		}
	}
}

func addSaturated(a, b int64) int64 {
	if sum := a + b; sum >= a { // b is positive
		return sum
	}
	return math.MaxInt64
}

package drr

import "math"

// join puts an idle flow into a list. Its deficit is 0, or a debt.
//
// If the list is empty the flow has its turn in this round, unless some flow has had a
// turn in it: then it begins the next one. Else flows that come one at a time, or one
// that pauses after each task, would all be served in one round, for ever.
func (q *Queue[K, T]) join(f *flow[K, T], first bool) {
	l := &q.lists[f.level]
	turn := uint64(0) // of the rounds that have begun since f left, those in which it has a turn now
	if !first && l.active.n == 0 {
		turn = 1
		if l.used {
			l.round, l.used = (l.round+1)&lastRound, false
		}
	}
	if f.deficit < 0 {
		l.forgive(f, turn)
	}
	if first {
		f.place, f.due = fresh, l.round
		l.fresh.push(f)
		return
	}
	q.activate(l, f)
}

// activate puts a flow at the tail of the active list, to be visited from the
// next round on, or in this one if it is the only flow.
func (q *Queue[K, T]) activate(l *list[K, T], f *flow[K, T]) {
	if l.wait > 0 {
		q.lookAgain(l) // nobody has asked whether f can pay
	}
	f.place, f.due = active, l.round+1
	if l.active.n == 0 {
		f.due, l.left = l.round, 1
		l.audit.round(1)
	}
	l.active.push(f)
}

// visited closes the round if the flow, due in the given round, was the last one
// that it had to visit; it is out of the list already, or at its tail again. The
// round of a list without flows stays, for whoever comes: see join.
//
// So does a round in which no flow has had a turn: all that it had to visit have left,
// and those that came meanwhile have their turns in it instead. Else flows that come
// and leave without a turn would take the list to any round, and whoever comes then
// would have to wait for that.
func (l *list[K, T]) visited(due uint64) {
	if Apart(due, l.round) > 0 {
		return
	}
	if l.left--; l.left > 0 || l.active.n == 0 {
		return
	}
	l.left = l.active.n
	l.audit.round(l.left)
	if !l.used {
		for f := l.active.head; f != nil; f = f.next { // once for each that came
			f.due = l.round
		}
		return
	}
	l.round, l.used = (l.round+1)&lastRound, false
	l.wait -= min(l.wait, 1)
}

// turnOver sends the flow at the head, which cannot pay, to the tail.
func (q *Queue[K, T]) turnOver(f *flow[K, T], now int64, limit uint64) {
	l := &q.lists[f.level]
	f.inTurn = false
	if f.place == fresh {
		l.fresh.remove(f)
		q.activate(l, f)
		return
	}
	due := f.due
	f.due, l.used = l.round+1, true
	l.active.remove(f)
	l.active.push(f)
	l.visited(due)
	if l.barren++; l.barren >= l.active.n {
		q.skip(l, now, limit)
	}
}

// emptied ends the turn of a flow that was found without a task. A fresh flow
// goes through the active list before it leaves, so that it cannot go idle and
// be first again at once.
func (q *Queue[K, T]) emptied(f *flow[K, T]) {
	if f.place != fresh {
		q.leave(f)
		return
	}
	l := &q.lists[f.level]
	f.inTurn, f.deficit = false, min(f.deficit, 0)
	l.fresh.remove(f)
	q.activate(l, f)
}

// leave takes a flow without a task out of its list. Credit is forfeited, debt
// is not.
func (q *Queue[K, T]) leave(f *flow[K, T]) {
	q.hollow--
	q.detach(f)
	f.deficit = min(f.deficit, 0)
}

// detach takes a flow out of its list.
func (q *Queue[K, T]) detach(f *flow[K, T]) {
	l := &q.lists[f.level]
	was, due := f.place, f.due
	f.place, f.inTurn, f.due = nowhere, false, l.clock()
	if was == fresh {
		l.fresh.remove(f)
		return
	}
	l.active.remove(f)
	l.visited(due)
}

// forgive lets a flow that is in no list pay off its debt: a quantum for each round
// that has begun since the one that it left in, or that its debt was last looked at
// in, but for so many. These are the turns that it would have had, and that its debt
// would have kept empty.
func (l *list[K, T]) forgive(f *flow[K, T], but uint64) {
	now := l.clock()
	rounds := (now - f.due) & lastRound
	rounds -= min(rounds, but)
	switch {
	case f.deficit >= 0:
	case rounds > uint64(-f.deficit-1)/uint64(f.tenant.quantum):
		f.deficit = 0
	default:
		f.deficit += int64(rounds) * f.tenant.quantum
	}
	f.due = now
}

// Retire makes a tenant without tasks leave, if it is still in a list: it was
// served its last task, and nobody has asked for the next since.
func (q *Queue[K, T]) Retire(t *Tenant[K, T]) {
	q.eachFlow(t, func(f *flow[K, T]) {
		if f.place != nowhere && q.empty(f) {
			q.leave(f)
		}
	})
}

// skip gives everybody as many refills at once as it takes until somebody can
// pay, less the one that each gets at the start of its turn. Called between
// turns; does nothing if some flow needs a visit first (it is empty, or its
// front task expired). If that would be after the round limit nothing is given yet,
// but remembered (wait).
func (q *Queue[K, T]) skip(l *list[K, T], now int64, limit uint64) {
	l.barren, l.news = 0, false
	fewest := uint64(math.MaxUint64)
	for f := l.active.head; f != nil; f = f.next {
		q.fill(f.tenant)
		e := q.front(f, now)
		if e == nil || e.Due < now || e.Cost <= f.deficit {
			return
		}
		// Cost is at most 1<<63-1 and a debt at most 1<<61: no overflow.
		need := uint64(e.Cost) - uint64(f.deficit)
		quantum := uint64(f.tenant.quantum)
		fewest = min(fewest, (need-1)/quantum+1)
	}
	if fewest == math.MaxUint64 || fewest < 2 || l.news { // Fill may push for whom was looked at before
		return
	}
	turns := fewest - 1 // nobody can pay after these: turns x quantum < need
	if l.wait = turns; q.peers != nil || limit != math.MaxUint64 {
		l.wait = min(turns, mostAtOnce)
	}
	q.pass(l, limit)
}

// pass takes the empty turns that are known, if the limit and the peers let somebody
// be served after them. Else the round stays: who joins before the peers have come so
// far joins now. Where no peer has work the round stays, too: it is counted for them.
func (q *Queue[K, T]) pass(l *list[K, T], limit uint64) {
	may := Alone
	if limit != math.MaxUint64 {
		may = Together
	}
	switch {
	case beyond(l.tag(), limit):
		return
	case q.peers != nil:
		may = q.peers.Pass(l.tag())
	}
	switch may {
	case Together:
		l.catchUp(l.wait)
		l.reached = l.round
	case Alone:
		l.refill(l.wait)
		l.skipped += l.wait
		l.wait, l.used = 0, false
	}
}

// refill gives everybody so many quanta, none of which enables anybody to pay.
func (l *list[K, T]) refill(turns uint64) {
	for f := l.active.head; f != nil; f = f.next {
		f.deficit += int64(turns * uint64(f.tenant.quantum))
	}
}

// catchUp takes so many of the empty turns that are known, and moves the round on.
func (l *list[K, T]) catchUp(turns uint64) {
	l.refill(turns)
	l.round, l.used = (l.round+turns)&lastRound, false
	for f := l.active.head; f != nil; f = f.next {
		f.due = (f.due + turns) & lastRound
	}
	l.wait -= turns
}

// CatchUp takes the empty turns up to round r, as far as it is known that they
// are empty: who shares time with other queues calls it before it adds a task,
// so that the newcomer joins at the current round and the others have what is
// due to them.
func (q *Queue[K, T]) CatchUp(r uint64) {
	l := &q.lists[0]
	if to := Apart(r, l.round); to > 0 && l.wait > 0 {
		l.catchUp(min(l.wait, uint64(to)))
	}
}

// lookAgain is called, if the list waits, before something changes by which somebody
// may be able to pay earlier than was known.
func (q *Queue[K, T]) lookAgain(l *list[K, T]) {
	if q.peers != nil {
		q.peers.Back()
	}
	l.wait = 0
}

// Waiting reports whether it is known that nobody can pay before a later round.
func (q *Queue[K, T]) Waiting() bool { return q.lists[0].wait > 0 }

// Tag returns the round in which the next delivery can be, as far as is known,
// of a flow that does not go first.
func (q *Queue[K, T]) Tag() uint64 { return q.lists[0].tag() }

// Fresh reports whether there are newly active flows that go first (NewFirst):
// they can be served in any round.
func (q *Queue[K, T]) Fresh() bool { return q.lists[0].fresh.head != nil }

// SetQuantum sets what the tenant may spend per turn, from its next turn on. Below 1
// counts as 1. What rounds have paid off of its debt they have paid at the old quantum.
func (q *Queue[K, T]) SetQuantum(t *Tenant[K, T], quantum int64) {
	if quantum = min(max(quantum, 1), maxQuantum); quantum == t.quantum {
		return
	}
	q.eachFlow(t, func(f *flow[K, T]) {
		l := &q.lists[f.level]
		switch {
		case f.place == nowhere && f.deficit < 0:
			l.forgive(f, 0)
		case f.place == active && l.wait > 0:
			q.lookAgain(l)
		}
	})
	t.SetQuantum(quantum)
}

// Block takes a tenant out of the lists until Unblock; its tasks stay. It keeps
// its deficit, though at most what a turn and its dearest front task need, so
// that turns cut short do not add up to a burst.
func (q *Queue[K, T]) Block(t *Tenant[K, T]) {
	t.blocked = true
	q.ready -= int(t.queued)
	q.eachFlow(t, func(f *flow[K, T]) {
		if f.place == nowhere {
			return
		}
		most := t.quantum
		if e := q.front(f, 0); e != nil {
			most = max(most, e.Cost)
		} else {
			q.hollow--
		}
		f.deficit = min(f.deficit, most)
		f.barred = true
		q.detach(f)
	})
	if t.queued > 0 {
		q.blocked.push(&t.flow)
	}
}

// Unblock lets a blocked tenant back in, at the tail. Without a task it is idle;
// with NewFirst, if somebody is backlogged, it goes through the active list
// before, as emptied has it do.
func (q *Queue[K, T]) Unblock(t *Tenant[K, T]) {
	t.blocked = false
	q.ready += int(t.queued)
	if t.queued > 0 {
		q.blocked.remove(&t.flow)
	}
	q.eachFlow(t, func(f *flow[K, T]) {
		barred := f.barred
		f.barred = false
		if !q.empty(f) {
			q.join(f, false)
			return
		}
		f.deficit = min(f.deficit, 0)
		if barred && q.cfg.NewFirst && q.ready > 0 {
			q.join(f, false)
			q.hollow++
		}
	})
}

// Blocked reports whether the tenant is blocked.
func (t *Tenant[K, T]) Blocked() bool { return t.blocked }

func (q *Queue[K, T]) eachFlow(t *Tenant[K, T], do func(*flow[K, T])) {
	if !q.cfg.Across {
		do(&t.flow)
	} else if t.more != nil && t.more.flows != nil {
		for i := range t.more.flows {
			do(&t.more.flows[i])
		}
	}
}

// purge makes the flows that cancelling and expiry have emptied leave, once
// they outnumber the others. A flow in mid-turn stays: its next task may come
// before the next call.
func (q *Queue[K, T]) purge() {
	listed := 0
	for i := range q.lists {
		listed += q.lists[i].active.n + q.lists[i].fresh.n
	}
	if q.hollow < 64 || q.hollow < listed/2 {
		return
	}
	for i := range q.lists {
		for _, l := range []*flows[K, T]{&q.lists[i].fresh, &q.lists[i].active} {
			for f := l.head; f != nil; {
				next := f.next
				if !f.inTurn && q.empty(f) {
					q.leave(f)
				}
				f = next
			}
		}
	}
}

func addSaturated(a, b int64) int64 {
	if s := a + b; s >= a { // b is positive
		return s
	}
	return math.MaxInt64
}

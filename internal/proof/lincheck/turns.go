package lincheck

import "slices"

// join puts a tenant at the tail of the active list.
func (r *rules) join(s *state, t int) {
	if !r.oneShard {
		return // which tenant is on which shard is not known
	}
	if s.listed == 0 {
		if s.used {
			r.pass(s)
		}
		s.due = 1 << t
	}
	s.append(t)
}

func (s *state) append(t int) {
	s.tenants[t].inList = true
	s.list[s.listed] = uint8(t)
	s.listed++
}

// pass begins a round, which brings those that are blocked a quantum.
func (r *rules) pass(s *state) {
	s.used = false
	for t := range s.tenants {
		if x := &s.tenants[t]; !x.inList && (r.blocked(x) || x.isFreed) {
			x.away = min(x.away+1, enough)
		}
	}
}

// enough rounds to have all that a tenant keeps: two, where quanta are as large as costs.
const enough = 4

// earn gives a tenant what the rounds have brought it while it took no turns.
func (x *tenant) earn(most int16) {
	x.deficit, x.away = min(most, x.deficit+int16(x.away)*x.quantum), 0
}

// leave takes the tenant out of the active list, or of those that go first.
func (r *rules) leave(s *state, t int) {
	x := &s.tenants[t]
	if x.isFreed {
		r.leaveFreed(s, t)
		return
	}
	x.inList, x.inTurn, x.away = false, false, 0
	r.unlist(s, t)
	r.visited(s, t)
}

func (r *rules) unlist(s *state, t int) {
	if i := slices.Index(s.list[:s.listed], uint8(t)); i >= 0 {
		copy(s.list[i:], s.list[i+1:])
		s.listed--
		s.list[s.listed] = 0
	}
}

// visited ends the round if the tenant was the last one that it had to visit.
func (r *rules) visited(s *state, t int) {
	if s.due&(1<<t) == 0 {
		return
	}
	if s.due &^= 1 << t; s.due == 0 && s.listed > 0 {
		if s.used {
			r.pass(s)
		}
		r.visitAll(s)
	}
}

func (r *rules) visitAll(s *state) {
	for _, t := range s.list[:s.listed] {
		s.due |= 1 << t
	}
}

// leaveFreed takes the tenant out of those that go first.
func (r *rules) leaveFreed(s *state, t int) {
	s.tenants[t].isFreed = false
	i := slices.Index(s.freed[:s.goFirst], uint8(t))
	copy(s.freed[i:], s.freed[i+1:])
	s.goFirst--
	s.freed[s.goFirst] = 0
	r.lastFreed(s)
}

// lastFreed begins a round if the list holds only tenants that were ahead of it, which this
// round need not visit.
func (r *rules) lastFreed(s *state) {
	if s.goFirst == 0 && s.due == 0 && s.listed > 0 {
		r.pass(s)
		r.visitAll(s)
	}
}

// front is where in its tenant's queue the next task to serve is: the oldest of
// the highest priority; -1: there is none.
func (r *rules) front(x *tenant) int {
	best := -1
	for i, id := range x.line[:x.lined] {
		if id < hidden && (best < 0 || r.Tasks[id].Priority > r.Tasks[x.line[best]].Priority) {
			best = i
		}
	}
	return best
}

// next gives turns until some task can be paid for, and returns it; 0: nothing is
// deliverable. Deficit round robin as the package drr documents it.
func (r *rules) next(s *state) int {
	for s.listed+s.goFirst > 0 {
		if !r.deliverable(s) && r.front(&s.tenants[s.head()]) >= 0 {
			return 0
		}
		if id := r.turn(s); id > 0 {
			x := &s.tenants[r.Tasks[id].Tenant]
			x.deficit -= int16(r.Tasks[id].Cost)
			s.used = s.used || !x.isFreed
			return id
		}
	}
	return 0
}

// head returns the tenant whose turn it is, or that goes first.
func (s *state) head() int {
	if s.goFirst > 0 {
		return int(s.freed[0])
	}
	return int(s.list[0])
}

// turn looks at the tenant whose turn it is, and returns its next task if it can
// pay for it. If not, its turn is over: it leaves without a task, or goes to the
// tail.
func (r *rules) turn(s *state) int {
	if s.listed+s.goFirst == 0 {
		return 0
	}
	t := s.head()
	x := &s.tenants[t]
	at := r.front(x)
	if at < 0 {
		r.leave(s, t)
		x.deficit, x.away = 0, 0
		return 0
	}
	id := int(x.line[at])
	switch {
	case r.blocked(x): // it takes no turns until it is not; this one it has had
		had := x.inTurn
		s.used = true
		r.unlist(s, t)
		if x.inList, x.inTurn, x.away = false, false, 1; had {
			x.away = 0
		}
		r.visited(s, t)
		return 0
	case x.isFreed:
		return r.goesFirst(s, t, id)
	}
	if !x.inTurn {
		x.inTurn = true
		x.deficit += x.quantum
	}
	if x.deficit >= int16(r.Tasks[id].Cost) {
		return id
	}
	x.inTurn, s.used = false, true
	r.unlist(s, t)
	s.append(t)
	r.visited(s, t)
	return 0
}

// goesFirst looks at a tenant that was blocked. If it cannot pay for its next task it
// goes to the tail.
func (r *rules) goesFirst(s *state, t, id int) int {
	x, cost := &s.tenants[t], int16(r.Tasks[id].Cost)
	most := x.quantum + max(x.quantum, cost)
	x.earn(max(x.deficit, most))
	if x.deficit = min(x.deficit, most); x.deficit >= cost {
		return id
	}
	s.used = true
	s.append(t)
	r.leaveFreed(s, t)
	return 0
}

// take delivers the task, if it is the one to deliver.
func (r *rules) take(s *state, id int) bool {
	if s.life == closed {
		return false
	}
	t := r.Tasks[id].Tenant
	x := &s.tenants[t]
	if r.oneShard {
		if r.next(s) != id {
			return false
		}
	} else if at := r.front(x); at < 0 || int(x.line[at]) != id || r.blocked(x) {
		return false
	}
	r.remove(s, id)
	s.counters.Dequeued++
	if r.Config.MaxInFlightPerTenant > 0 {
		x.inFlight++
		s.counters.InFlight++
		if r.blocked(x) && x.isFreed {
			r.leaveFreed(s, t)
		}
	}
	return true
}

// deliverable reports whether something is queued that may be delivered.
func (r *rules) deliverable(s *state) bool {
	for t := range s.tenants {
		if x := &s.tenants[t]; x.queued > 0 && !r.blocked(x) {
			return s.life != closed
		}
	}
	return false
}

// nothing is a look that found nothing deliverable. It takes tenants that were served their
// last task out of the list.
func (r *rules) nothing(s *state) bool {
	if s.life == closed {
		return true
	}
	if r.deliverable(s) {
		return false
	}
	return !r.oneShard || r.next(s) == 0
}

// settle is Item.Done.
func (r *rules) settle(s *state, id int) bool {
	t := r.Tasks[id].Tenant
	x := &s.tenants[t]
	if r.Config.MaxInFlightPerTenant == 0 {
		return true
	}
	was := r.blocked(x)
	x.inFlight--
	s.counters.InFlight--
	if !was {
		return true
	}
	switch {
	case x.inList:
	case x.queued == 0:
		x.deficit, x.away = 0, 0
	case r.oneShard:
		x.isFreed = true
		s.freed[s.goFirst] = uint8(t)
		s.goFirst++
	}
	return true
}

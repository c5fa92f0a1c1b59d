package lincheck

import "slices"

// join puts a tenant at the tail of the active list.
func (r *rules) join(s *state, t int) {
	if !r.oneShard {
		return // which tenant is on which shard is not known
	}
	s.tenants[t].inList = true
	s.list[s.listed] = uint8(t)
	s.listed++
}

// leave takes the tenant out of the active list.
func (r *rules) leave(s *state, t int) {
	x := &s.tenants[t]
	x.inList, x.inTurn = false, false
	if i := slices.Index(s.list[:s.listed], uint8(t)); i >= 0 {
		copy(s.list[i:], s.list[i+1:])
		s.listed--
		s.list[s.listed] = 0
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
	for s.listed > 0 {
		if id := r.turn(s); id > 0 {
			x := &s.tenants[s.list[0]]
			x.deficit -= int16(r.Tasks[id].Cost)
			return id
		}
	}
	return 0
}

// turn looks at the tenant whose turn it is, and returns its next task if it can
// pay for it. If not, its turn is over: it leaves without a task, or goes to the
// tail.
func (r *rules) turn(s *state) int {
	if s.listed == 0 {
		return 0
	}
	t := int(s.list[0])
	x := &s.tenants[t]
	at := r.front(x)
	if at < 0 {
		r.leave(s, t)
		x.deficit = 0
		return 0
	}
	id := int(x.line[at])
	if !x.inTurn {
		x.inTurn = true
		x.deficit += x.quantum
	}
	if x.deficit >= int16(r.Tasks[id].Cost) {
		return id
	}
	r.leave(s, t)
	r.join(s, t)
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
		if r.blocked(x) {
			r.leave(s, t)
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

// nothing is a look that found nothing deliverable. It sees off tenants that were served
// its last task.
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
	if x.queued > 0 {
		r.join(s, t)
	} else {
		x.deficit = 0
	}
	return true
}

package schedtest

import "slices"

// The lists that the model's flows are in, and its rounds.

// join puts a flow that is in no list at the tail.
func (m *model) join(f *modelFlow, fresh bool) {
	var turn int64
	if !fresh && len(m.active[f.level]) == 0 {
		if turn = 1; m.served[f.level] {
			m.pass(f.level)
		}
	}
	m.settle(f, turn, 0)
	f.listed, f.inTurn, f.vague = true, false, false
	f.deficit = min(f.deficit, 0)
	if fresh {
		m.fresh[f.level] = append(m.fresh[f.level], f)
		return
	}
	m.activate(f)
}

// activate puts a flow at the tail of the ordinary list, to be visited from the next
// round on.
func (m *model) activate(f *modelFlow) {
	m.active[f.level] = append(m.active[f.level], f)
	if len(m.active[f.level]) == 1 {
		m.due[f.level] = map[*modelFlow]bool{f: true}
	}
}

// visited ends the round if the flow was the last one that it had to visit.
func (m *model) visited(f *modelFlow) {
	if !m.due[f.level][f] {
		return
	}
	if delete(m.due[f.level], f); len(m.due[f.level]) > 0 || len(m.active[f.level]) == 0 {
		return
	}
	for _, g := range m.active[f.level] {
		m.due[f.level][g] = true
	}
	if m.served[f.level] {
		m.pass(f.level)
	}
}

// pass begins the next round.
func (m *model) pass(level int) {
	m.served[level] = false
	for _, t := range m.tenants {
		if f := t.flows[level]; !f.listed || f.freed { // or parked
			f.away++
		}
	}
}

// settle credits a flow for the rounds in which it took no turns, less but of them: a
// quantum for each, up to most. A flow without a task has a most of 0: rounds pay off its
// debt, and any credit is lost.
func (m *model) settle(f *modelFlow, but, most int64) {
	if rounds := max(f.away-but, 0); rounds > 0 && (!f.listed || f.freed) {
		f.deficit = min(f.deficit+rounds*m.quantum(f.tenant), most)
	}
	f.away = 0
}

// look settles a flow before something changes that the credit depends on.
func (m *model) look(f *modelFlow) {
	if tk := m.front(f); tk != nil && (f.freed || f.parked) {
		m.settle(f, 0, max(f.deficit, m.keeps(f, tk.cost)))
	} else if !f.listed {
		m.settle(f, 0, 0)
	}
}

// keeps is how much a blocked flow keeps.
func (m *model) keeps(f *modelFlow, cost int64) int64 {
	quantum := m.quantum(f.tenant)
	return quantum + max(quantum, cost)
}

// leave takes a flow out of its list.
func (m *model) leave(f *modelFlow) {
	is := func(other *modelFlow) bool { return other == f }
	m.fresh[f.level] = slices.DeleteFunc(m.fresh[f.level], is)
	m.freed[f.level] = slices.DeleteFunc(m.freed[f.level], is)
	m.active[f.level] = slices.DeleteFunc(m.active[f.level], is)
	if !f.freed {
		f.away = 0
	}
	f.listed, f.freed, f.inTurn, f.vague = false, false, false, false
	m.visited(f)
	m.lastFreed(f.level)
}

// block is called when a tenant has reached its limit.
func (m *model) block(t *modelTenant) {
	for _, f := range t.flows {
		switch {
		case !f.freed:
		case m.front(f) == nil:
			m.leave(f)
		default:
			m.leave(f)
			f.parked = true
		}
	}
}

// halt parks a flow whose turn it is, and whose tenant is at its limit. A turn that had not
// begun it has had all the same.
func (m *model) halt(f *modelFlow, fresh bool) {
	hadTurn := f.inTurn || fresh
	m.served[f.level] = m.served[f.level] || !fresh
	m.leave(f)
	if f.parked = true; !hadTurn {
		f.away++
	}
}

// ready reports whether something can be delivered, or may turn out to have expired.
func (m *model) ready() bool {
	for _, t := range m.tenants {
		if len(t.queue) > 0 && !m.blocked(t) {
			return true
		}
	}
	return false
}

// comeBack sends a flow that was ahead of the list, as its tenant was blocked, to the tail.
func (m *model) comeBack(f *modelFlow) {
	m.freed[f.level] = slices.DeleteFunc(m.freed[f.level], func(other *modelFlow) bool { return other == f })
	f.freed, m.served[f.level] = false, true
	m.active[f.level] = append(m.active[f.level], f)
	m.lastFreed(f.level)
}

// lastFreed begins a round if the list holds only flows that this round need not visit, as
// they were ahead of it.
func (m *model) lastFreed(level int) {
	if len(m.freed[level]) > 0 || len(m.due[level]) > 0 || len(m.active[level]) == 0 {
		return
	}
	m.pass(level)
	m.due[level] = map[*modelFlow]bool{}
	for _, f := range m.active[level] {
		m.due[level][f] = true
	}
}

// toTail sends a flow to the tail of the ordinary list.
func (m *model) toTail(f *modelFlow) {
	is := func(other *modelFlow) bool { return other == f }
	m.fresh[f.level] = slices.DeleteFunc(m.fresh[f.level], is)
	if !slices.ContainsFunc(m.active[f.level], is) {
		m.activate(f)
		return
	}
	m.active[f.level] = append(slices.DeleteFunc(m.active[f.level], is), f)
	m.served[f.level] = true
	m.visited(f)
}

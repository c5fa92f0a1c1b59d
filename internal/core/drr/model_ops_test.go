package drr

import (
	"slices"

	"github.com/firq-go/firq"
)

// The model's other operations.

// find returns the task and whether it is queued.
func (t *modelTenant) find(payload int) (Task[int], bool) {
	for _, tasks := range t.tasks {
		for _, e := range tasks {
			if e.Payload == payload {
				return e, true
			}
		}
	}
	return Task[int]{}, false
}

func (m *model) take(t *modelTenant, payload int) {
	for level := range t.tasks {
		n := len(t.tasks[level])
		t.tasks[level] = slices.DeleteFunc(t.tasks[level], func(e Task[int]) bool { return e.Payload == payload })
		if len(t.tasks[level]) < n {
			m.lists[m.seatOf(t, firq.Priority(level+1)).level].emptyVisits = 0
			m.takeOut(t, level, payload)
			if s := m.seatOf(t, firq.Priority(level+1)); s.where == parked && s.empty() {
				m.settleAt(s, 0)
				s.where = nowhere
			}
		}
	}
	m.watermark(t)
}

func (m *model) evict(t *modelTenant, p firq.Priority, newest bool) (int, bool) {
	for level, tasks := range t.tasks[:p] {
		if len(tasks) == 0 {
			continue
		}
		if x := t.flows[level]; x != nil {
			tasks = x.fullest().of(tasks)
		}
		payload := tasks[0].Payload
		if newest {
			payload = tasks[len(tasks)-1].Payload
		}
		m.take(t, payload)
		return payload, true
	}
	return 0, false
}

// due returns which tasks expired before now.
func (m *model) due(now int64) (payloads []int) {
	for _, t := range m.tenants {
		for _, tasks := range t.tasks {
			for _, e := range tasks {
				if e.Due < now {
					payloads = append(payloads, e.Payload)
				}
			}
		}
	}
	return payloads
}

// purge is the Queue's, with everything counted anew.
func (m *model) purge() {
	nEmpty, listed := 0, 0
	for i := range m.lists {
		for _, s := range slices.Concat(m.lists[i].fresh, m.lists[i].freed, m.lists[i].active) {
			listed++
			if s.empty() {
				nEmpty++
			}
		}
	}
	if nEmpty < 64 || nEmpty < listed/2 {
		return
	}
	for i := range m.lists {
		for _, s := range slices.Concat(m.lists[i].fresh, m.lists[i].freed, m.lists[i].active) {
			if !s.inTurn && s.empty() {
				m.leave(s)
			}
		}
	}
}

func (m *model) block(t *modelTenant) {
	t.blocked = true
	for _, s := range t.seats {
		switch {
		case s.where != freed:
		case s.empty():
			m.detach(s)
		default:
			m.park(s)
		}
	}
}

func (m *model) unblock(t *modelTenant) {
	t.blocked = false
	for _, s := range t.seats {
		switch s.where {
		case nowhere:
			s.deficit = min(s.deficit, 0)
		case parked:
			s.where = freed
			m.lists[s.level].freed = append(m.lists[s.level].freed, s)
		}
	}
}

// retire makes the tenant's empty seats leave.
func (m *model) retire(t *modelTenant) {
	for _, s := range t.seats {
		if s.where != nowhere && s.empty() {
			m.leave(s)
		}
	}
}

// ready reports whether a tenant that is not blocked has a task.
func (m *model) ready() bool {
	return slices.ContainsFunc(m.tenants, func(t *modelTenant) bool { return !t.blocked && t.queued() > 0 })
}

func (m *model) charge(t *modelTenant, p firq.Priority, delta int64) {
	s := m.seatOf(t, p)
	m.settle(s, 0)
	s.deficit -= delta
	if s.where == nowhere && !t.blocked {
		s.deficit = min(s.deficit, 0)
	}
}

func (m *model) advanceRound(r uint64) {
	l := &m.lists[0]
	if r <= l.round {
		return
	}
	for _, s := range slices.Clone(l.active) {
		if s.tenant.blocked && !s.empty() {
			m.halt(s)
		}
	}
	if r > l.round {
		l.pass(int64(r - l.round))
		l.visitAll()
	}
}

// seeOff makes the empty ones at the heads leave.
func (m *model) seeOff() {
	for i := range m.lists {
		l := &m.lists[i]
		for all := l.inOrder(); len(all) > 0 && all[0].empty(); all = all[1:] {
			m.leave(all[0])
		}
		if len(l.fresh)+len(l.freed)+len(l.active) > 0 {
			return
		}
	}
}

// allLeave is what draining to the last task does to the lists.
func (m *model) allLeave() {
	for i := range m.lists {
		for _, s := range slices.Concat(m.lists[i].fresh, m.lists[i].freed, m.lists[i].active) {
			m.leave(s)
		}
	}
}

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
		t.tasks[level] = slices.DeleteFunc(t.tasks[level], func(e Task[int]) bool { return e.Payload == payload })
	}
	m.water(t)
}

func (m *model) evict(t *modelTenant, p firq.Priority, newest bool) (int, bool) {
	for _, tasks := range t.tasks[:p] {
		if len(tasks) == 0 {
			continue
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
	hollow, listed := 0, 0
	for i := range m.lists {
		for _, f := range slices.Concat(m.lists[i].fresh, m.lists[i].active) {
			listed++
			if f.empty() {
				hollow++
			}
		}
	}
	if hollow < 64 || hollow < listed/2 {
		return
	}
	for i := range m.lists {
		for _, f := range slices.Concat(m.lists[i].fresh, m.lists[i].active) {
			if !f.inTurn && f.empty() {
				m.leave(f)
			}
		}
	}
}

func (m *model) block(t *modelTenant) {
	t.blocked = true
	for _, f := range t.flows {
		if f.place == nowhere {
			continue
		}
		most := t.quantum
		if e, ok := m.front(f, 0); ok {
			most = max(most, e.Cost)
		}
		f.deficit = min(f.deficit, most)
		f.barred = true
		m.detach(f)
	}
}

func (m *model) unblock(t *modelTenant) {
	t.blocked = false
	for _, f := range t.flows {
		if f.empty() {
			f.deficit = min(f.deficit, 0)
		}
		if !f.empty() || f.barred && m.cfg.NewFirst && m.ready() {
			m.join(f, false)
		}
		f.barred = false
	}
}

// retire makes the tenant's empty flows leave.
func (m *model) retire(t *modelTenant) {
	for _, f := range t.flows {
		if f.place != nowhere && f.empty() {
			m.leave(f)
		}
	}
}

// ready reports whether a tenant that is not blocked has a task.
func (m *model) ready() bool {
	return slices.ContainsFunc(m.tenants, func(t *modelTenant) bool { return !t.blocked && t.queued() > 0 })
}

func (m *model) charge(t *modelTenant, p firq.Priority, delta int64) {
	f := m.flowOf(t, p)
	f.settle(0)
	f.deficit -= delta
	if !t.blocked && f.place == nowhere {
		f.deficit = min(f.deficit, 0)
	}
}

func (m *model) advanceRound(r uint64) {
	if l := &m.lists[0]; r > l.round {
		l.pass(int64(r - l.round))
		l.visitAll()
	}
}

// allLeave is what draining to the last task does to the lists.
func (m *model) allLeave() {
	for i := range m.lists {
		for _, f := range slices.Concat(m.lists[i].fresh, m.lists[i].active) {
			m.leave(f)
		}
	}
}

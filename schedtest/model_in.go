package schedtest

import (
	"slices"

	"github.com/firq-go/firq"
)

// admission is what Enqueue does: reclaim what of the tenant has expired, as
// much as it needs or more, then answer with err, or evict and admit.
type admission struct {
	reclaim bool
	err     error
	evict   *modelTask
}

// ask says what Enqueue will do, without doing it.
func (m *model) ask(name string, p firq.Priority, policy firq.Policy) admission {
	t := m.tenant(name)
	if m.limit(t, 0) == nil {
		return admission{}
	}
	live := alive(t.queue)
	err := m.limit(t, len(t.queue)-len(live))
	if err == nil || policy == firq.Reject {
		return admission{reclaim: true, err: err}
	}
	if victim := victim(live, p, policy); victim != nil {
		return admission{reclaim: true, evict: victim}
	}
	return admission{reclaim: true, err: err}
}

// limit returns the error of the limit that the tenant has reached, or nil, once
// so many of its tasks have been reclaimed.
func (m *model) limit(t *modelTenant, reclaimed int) error {
	held, free := len(t.queue)-reclaimed, m.cfg.MaxGlobal-m.queued+reclaimed
	alpha := m.cfg.DynamicThreshold
	switch {
	case m.cfg.MaxTenants > 0 && !m.known(t) && m.knownTenants() >= m.cfg.MaxTenants:
		return firq.ErrTooManyTenants
	case free <= 0:
		return firq.ErrGlobalFull
	case held >= m.cfg.MaxPerTenant:
		return firq.ErrTenantFull
	case alpha > 0 && float64(held) >= alpha*float64(free):
		return firq.ErrTenantThreshold
	}
	return nil
}

// alive returns the tasks that can be delivered.
func alive(queue []*modelTask) []*modelTask {
	var live []*modelTask
	for _, tk := range queue {
		if !tk.dead {
			live = append(live, tk)
		}
	}
	return live
}

// known: tenants are not forgotten while a comparison runs.
func (m *model) known(t *modelTenant) bool { return t.planned != 0 }

func (m *model) knownTenants() int {
	n := 0
	for _, t := range m.tenants {
		if m.known(t) {
			n++
		}
	}
	return n
}

// victim is whom the policy evicts: of the lowest priority, if that is at most p,
// the oldest or the newest.
func victim(queue []*modelTask, p firq.Priority, policy firq.Policy) *modelTask {
	var victim *modelTask
	for _, tk := range queue {
		switch {
		case tk.priority > p:
		case victim == nil || tk.priority < victim.priority:
			victim = tk
		case tk.priority == victim.priority && policy == firq.DropNewest:
			victim = tk
		}
	}
	return victim
}

// enqueue does what ask says.
func (m *model) enqueue(name string, tk *modelTask, a admission) {
	t := m.tenant(name)
	for a.reclaim && m.limit(t, 0) != nil {
		i := slices.IndexFunc(t.queue, func(tk *modelTask) bool { return tk.dead })
		if i < 0 {
			break
		}
		m.takeOut(t, t.queue[i])
		m.expired()
	}
	switch a.err {
	case nil:
	case firq.ErrGlobalFull:
		m.count.RejectedGlobal++
		return
	default:
		m.count.RejectedTenant++
		return
	}
	if a.evict != nil {
		m.takeOut(t, a.evict)
		m.count.DroppedPolicy++
		m.drops[firq.DropEvicted]++
	}
	t.queue = append(t.queue, tk)
	m.queued++
	m.count.Enqueued++
	if tk.ticket >= 0 {
		m.tickets[tk.ticket] = tk
	}
	m.water(t)
	f := m.flow(t, tk.priority)
	if f.listed || m.blocked(t) {
		return
	}
	t.planned = max(m.plan(name), 1)
	m.join(f, m.cfg.NewTenantsFirst)
}

// cancel takes the ticket's task out.
func (m *model) cancel(ticket int) bool {
	tk := m.tickets[ticket]
	if tk == nil {
		return false
	}
	for _, t := range m.tenants {
		for _, other := range t.queue {
			if other == tk {
				m.takeOut(t, tk)
				m.count.Cancelled++
				m.drops[firq.DropCancelled]++
				return true
			}
		}
	}
	panic("schedtest: a ticket without a task")
}

// bounds returns between what numbers Len may be: tasks that have expired may
// be dropped at any time.
func (m *model) bounds() (least, most int) {
	for _, t := range m.tenants {
		least += len(alive(t.queue))
	}
	return least, m.queued
}

package schedtest

import (
	"slices"

	"github.com/firq-go/firq"
)

// admission is what Enqueue does: drop the tenant's expired tasks, as many as it needs or
// more, then return err, or evict and admit.
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

// limit returns the error of the limit that the tenant would reach if that many of its
// tasks were reclaimed first, or nil.
func (m *model) limit(t *modelTenant, reclaimed int) error {
	held, free := len(t.queue)-reclaimed, m.cfg.MaxGlobal-m.queued+reclaimed
	alpha := m.cfg.DynamicThreshold
	switch {
	case !m.known(t) && m.crowded() && m.longestIdle() == nil:
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

// known: tenants are forgotten only to make room for others while a comparison runs.
func (m *model) known(t *modelTenant) bool { return t.planned != 0 }

// crowded reports whether there are MaxTenants tenants.
func (m *model) crowded() bool {
	n := 0
	for _, t := range m.tenants {
		if m.known(t) {
			n++
		}
	}
	return m.cfg.MaxTenants > 0 && n >= m.cfg.MaxTenants
}

// longestIdle returns the tenant that makes room for a new one, nil for none.
func (m *model) longestIdle() (longest *modelTenant) {
	for _, t := range m.tenants {
		owes := slices.ContainsFunc(t.flows[:], func(f *modelFlow) bool { return f.deficit < 0 })
		if m.known(t) && len(t.queue) == 0 && t.inFlight == 0 && !owes && (longest == nil || t.left < longest.left) {
			longest = t
		}
	}
	return longest
}

func (m *model) forget(t *modelTenant) {
	for _, f := range t.flows {
		m.leave(f)
	}
	delete(m.tenants, t.name)
	m.tenant(t.name).override = t.override
}

// touch notes that the tenant was in use until now.
func (m *model) touch(t *modelTenant) {
	m.uses++
	t.left = m.uses
}

// charge corrects what the tenant's last delivery has cost.
func (m *model) charge(tenant string, p firq.Priority, amount int64) {
	t := m.tenant(tenant)
	f := m.flow(t, p)
	m.look(f)
	owed := f.deficit < 0
	if f.deficit -= amount; owed && f.deficit >= 0 {
		m.touch(t)
	}
}

// victim returns the task that the policy evicts: the oldest or the newest of the lowest
// priority, if that is at most p.
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
	f := m.flow(t, tk.priority)
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
	if !m.known(t) && m.crowded() {
		m.forget(m.longestIdle())
	}
	if m.blocked(t) && !f.listed && !f.parked {
		m.look(f)
		f.parked = true
	}
	t.queue = append(t.queue, tk)
	m.queued++
	m.count.Enqueued++
	if tk.ticket >= 0 {
		m.tickets[tk.ticket] = tk
	}
	m.watermark(t)
	if f.listed || f.parked {
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

// bounds returns the least and the most that Len may be: an expired task may be dropped at
// any time.
func (m *model) bounds() (least, most int) {
	for _, t := range m.tenants {
		least += len(alive(t.queue))
	}
	return least, m.queued
}

package schedtest

import (
	"slices"

	"github.com/firq-go/firq"
)

// model is the contract for one shard and one caller, as plain as it can be
// written: slices and loops, deficit round robin turn by turn.
//
// Where the contract leaves room, a flow is vague: in the list, although what
// it had left it other than by delivery. An implementation may take it out of the list
// immediately or at its next visit. The difference shows only if something is enqueued
// to the flow in between, so the comparison enqueues nothing to it.
type model struct {
	cfg     config
	plan    func(string) int64 // Config.QuantumFor
	tenants map[string]*modelTenant
	active  [7][]*modelFlow        // lists by priority; all in 0 within tenants
	fresh   [7][]*modelFlow        // NewTenantsFirst
	freed   [7][]*modelFlow        // were blocked, and go first
	due     [7]map[*modelFlow]bool // of active, those that this round has still to visit
	served  [7]bool                // a flow was, in this round
	tickets map[int]*modelTask
	queued  int
	count   stats
	drops   map[firq.DropReason]int
	uses    int
}

type modelTask struct {
	id       int
	cost     int64
	priority firq.Priority
	dead     bool // its deadline has passed
	ticket   int  // -1: none
}

type modelTenant struct {
	name     string
	queue    []*modelTask // in order of enqueue
	override int64        // SetQuantum; 0: none
	planned  int64        // the plan's answer at the last activation
	newest   bool         // AdaptiveLIFO serves newest first
	inFlight int
	flows    [7]*modelFlow
	left     int // when it was last in use; no two tenants share it
}

// modelFlow takes turns: a tenant, or a tenant at one priority.
type modelFlow struct {
	tenant  *modelTenant
	level   int
	listed  bool
	freed   bool
	parked  bool
	inTurn  bool
	vague   bool
	deficit int64
	away    int64 // rounds that have begun since it took turns, or since settle
}

func newModel(cfg config, plan func(string) int64) *model {
	return &model{
		cfg: cfg, plan: plan, tenants: map[string]*modelTenant{},
		tickets: map[int]*modelTask{}, drops: map[firq.DropReason]int{},
	}
}

// tenant returns the tenant, known or not.
func (m *model) tenant(name string) *modelTenant {
	t := m.tenants[name]
	if t == nil {
		t = &modelTenant{name: name}
		for level := range t.flows {
			t.flows[level] = &modelFlow{tenant: t, level: level}
		}
		m.tenants[name] = t
	}
	return t
}

func (m *model) flow(t *modelTenant, p firq.Priority) *modelFlow {
	if m.cfg.PriorityScope == firq.PriorityAcrossTenants {
		return t.flows[p]
	}
	return t.flows[0]
}

// tasks returns what the flow has queued, in order of enqueue.
func (m *model) tasks(f *modelFlow) []*modelTask {
	var own []*modelTask
	for _, tk := range f.tenant.queue {
		if m.flow(f.tenant, tk.priority) == f {
			own = append(own, tk)
		}
	}
	return own
}

// front returns the task that the flow would deliver next, or nil.
func (m *model) front(f *modelFlow) *modelTask {
	var best *modelTask
	newest := m.cfg.Order == firq.LIFO || m.cfg.Order == firq.AdaptiveLIFO && f.tenant.newest
	for _, tk := range m.tasks(f) {
		if best == nil || tk.priority > best.priority || newest && tk.priority == best.priority {
			best = tk
		}
	}
	return best
}

func (m *model) blocked(t *modelTenant) bool {
	return m.cfg.MaxInFlightPerTenant > 0 && t.inFlight >= m.cfg.MaxInFlightPerTenant
}

func (m *model) quantum(t *modelTenant) int64 {
	if t.override != 0 {
		return t.override
	}
	return t.planned
}

// dequeue returns the next task and its tenant, nil if nothing is deliverable.
func (m *model) dequeue() (*modelTask, *modelTenant) {
	for level := 6; level >= 0; level-- {
		for {
			fresh := len(m.fresh[level]) > 0
			var f *modelFlow
			switch {
			case fresh:
				f = m.fresh[level][0]
			case len(m.freed[level]) > 0:
				f = m.freed[level][0]
			case len(m.active[level]) > 0:
				f = m.active[level][0]
			}
			if f == nil || !m.ready() && m.front(f) != nil {
				break // on to the next level
			}
			if tk := m.visit(f, fresh); tk != nil {
				return tk, f.tenant
			}
		}
	}
	return nil, nil
}

// visit gives the flow at the head its turn, or a part of it.
func (m *model) visit(f *modelFlow, fresh bool) *modelTask {
	for tk := m.front(f); tk != nil && tk.dead; tk = m.front(f) {
		m.remove(f.tenant, tk)
		m.expired()
		if !m.ready() {
			return nil
		}
	}
	tk := m.front(f)
	if tk == nil {
		f.deficit = min(f.deficit, 0)
		switch {
		case fresh:
			f.inTurn = false
			m.toTail(f)
		case f.freed && m.cfg.NewTenantsFirst:
			m.comeBack(f)
		default:
			m.leave(f)
		}
		return nil
	}
	if m.blocked(f.tenant) {
		m.halt(f, fresh)
		return nil
	}
	if f.freed {
		most := m.keeps(f, tk.cost)
		m.settle(f, 0, max(f.deficit, most))
		if f.deficit = min(f.deficit, most); f.deficit < tk.cost {
			m.comeBack(f)
			return nil
		}
	} else if !f.inTurn {
		f.inTurn = true
		f.deficit += m.quantum(f.tenant)
	}
	if f.deficit < tk.cost {
		f.inTurn = false
		m.toTail(f)
		return nil
	}
	f.deficit -= tk.cost
	m.served[f.level] = m.served[f.level] || !f.freed
	m.remove(f.tenant, tk)
	// What is left may all be dead; an implementation may know it already.
	f.vague = len(m.tasks(f)) > 0 && len(alive(m.tasks(f))) == 0
	m.count.Dequeued++
	if m.cfg.MaxInFlightPerTenant > 0 {
		f.tenant.inFlight++
		if m.blocked(f.tenant) {
			m.block(f.tenant)
		}
	}
	return tk
}

// remove takes a task out of its tenant's queue and frees its ticket.
func (m *model) remove(t *modelTenant, tk *modelTask) {
	t.queue = slices.DeleteFunc(t.queue, func(other *modelTask) bool { return other == tk })
	m.touch(t)
	m.queued--
	delete(m.tickets, tk.ticket)
	m.watermark(t)
}

// takeOut removes a task other than by delivery.
func (m *model) takeOut(t *modelTenant, tk *modelTask) {
	m.remove(t, tk)
	f := m.flow(t, tk.priority)
	if f.parked && m.front(f) == nil {
		m.settle(f, 0, max(f.deficit, m.keeps(f, 0)))
		f.parked = false
	}
	f.vague = f.listed && len(alive(m.tasks(f))) == 0
}

func (m *model) watermark(t *modelTenant) {
	if len(t.queue) > m.cfg.HighWater {
		t.newest = true
	} else if len(t.queue) < m.cfg.LowWater {
		t.newest = false
	}
}

func (m *model) expired() {
	m.count.Expired++
	m.drops[firq.DropExpired]++
}

// done ends a delivery.
func (m *model) done(t *modelTenant) {
	was := m.blocked(t)
	t.inFlight--
	m.touch(t)
	if !was || m.blocked(t) {
		return
	}
	for _, f := range t.flows {
		switch {
		case f.parked:
			f.parked, f.listed, f.freed = false, true, true
			m.freed[f.level] = append(m.freed[f.level], f)
		case !f.listed:
			f.deficit = min(f.deficit, 0)
		}
	}
}

// setQuantum sets the tenant's override, 0 for none. What rounds have brought is of the old
// quantum; one that stays the same settles debts only.
func (m *model) setQuantum(t *modelTenant, override int64) {
	next := override
	if next == 0 {
		next = t.planned
	}
	for _, f := range t.flows {
		if next != m.quantum(t) || m.front(f) == nil {
			m.look(f)
		}
	}
	t.override = override
}

package drr

import (
	"slices"

	"github.com/firq-go/firq"
)

// modelFlows is the round robin among the flows of one tenant at one level.
type modelFlows struct {
	queues  []*modelQueue // in order of their turns
	open    []*modelQueue // in the order that sharing goes by
	debtors []*modelDebtor
	toVisit map[*modelQueue]bool
	served  bool // in this round
	chosen  bool
}

type modelQueue struct {
	opener         uint64
	payloads       map[int]uint64 // whose flow
	deficit        int64
	inTurn, shared bool
}

type modelDebtor struct {
	id   uint64
	debt int64
	away int64 // rounds that have begun since it left, or since settle
}

// of returns those of the tasks that are in the queue.
func (h *modelQueue) of(tasks []Task[int]) (mine []Task[int]) {
	for _, e := range tasks {
		if _, ok := h.payloads[e.Payload]; ok {
			mine = append(mine, e)
		}
	}
	return mine
}

// has reports whether the flow's tasks go into the queue.
func (h *modelQueue) has(id uint64) bool {
	for _, whose := range h.payloads {
		if whose == id {
			return true
		}
	}
	return h.opener == id
}

// home returns the queue of a flow, nil if it has none.
func (x *modelFlows) home(id uint64) *modelQueue {
	if i := slices.IndexFunc(x.open, func(h *modelQueue) bool { return h.has(id) }); i >= 0 {
		return x.open[i]
	}
	return nil
}

func (x *modelFlows) pass() {
	x.served = false
	x.toVisit = map[*modelQueue]bool{}
	for _, h := range x.queues {
		x.toVisit[h] = true
	}
	for _, d := range x.debtors {
		d.away++
	}
}

func (x *modelFlows) visited(h *modelQueue) {
	if !x.toVisit[h] {
		return
	}
	if delete(x.toVisit, h); len(x.toVisit) == 0 && (len(x.queues) > 0 || x.served) {
		x.pass()
	}
}

// settle pays off debts for the rounds that have begun.
func (x *modelFlows) settle(quantum int64) {
	for _, d := range x.debtors {
		d.debt, d.away = max(0, d.debt-d.away*quantum), 0
	}
}

func (x *modelFlows) add(id uint64, deficit int64) *modelQueue {
	h := &modelQueue{opener: id, payloads: map[int]uint64{}, deficit: deficit}
	x.open = append(x.open, h)
	if x.queues = append(x.queues, h); len(x.queues) == 1 {
		x.toVisit = map[*modelQueue]bool{h: true}
	}
	return h
}

// line is Queue.lineFor: it notes to which queue a task goes, which is not yet in tasks.
func (m *model) line(t *modelTenant, task Task[int]) {
	level := int(task.Priority) - 1
	if seat := m.seatOf(t, task.Priority).level; m.cfg.MaxFlows > 1 && task.Flow != 0 {
		t.flowed[seat] = true
	}
	tasks := t.tasks[level]
	if t.flows[level] == nil && m.cfg.MaxFlows > 1 && len(tasks) > 0 && tasks[0].Flow != task.Flow {
		m.split(t, level)
	}
	x := t.flows[level]
	if x == nil {
		return
	}
	h := x.home(task.Flow)
	if h == nil {
		h = m.settleIn(t, x, task.Flow)
	}
	h.payloads[task.Payload] = task.Flow
}

func (m *model) split(t *modelTenant, level int) {
	x := &modelFlows{}
	t.flows[level] = x
	for i, e := range t.tasks[level] {
		if i == 0 {
			x.add(e.Flow, 0)
		}
		x.open[0].payloads[e.Payload] = e.Flow
	}
}

func (m *model) settleIn(t *modelTenant, x *modelFlows, id uint64) *modelQueue {
	var debt int64
	if i := slices.IndexFunc(x.debtors, func(d *modelDebtor) bool { return d.id == id }); i >= 0 {
		if len(x.queues) == 0 {
			x.debtors[i].away = max(x.debtors[i].away-1, 0)
		}
		x.settleOne(x.debtors[i], t.quantum)
		debt = x.debtors[i].debt
		x.debtors = slices.Delete(x.debtors, i, i+1)
	}
	if len(x.open) == m.cfg.MaxFlows && len(x.queues[0].payloads) == 0 {
		m.close(x, x.queues[0])
	}
	if len(x.open) < m.cfg.MaxFlows {
		return x.add(id, -debt)
	}
	h := x.open[m.hash(id)%uint64(len(x.open))]
	h.shared = true
	h.deficit -= debt
	return h
}

func (x *modelFlows) settleOne(d *modelDebtor, quantum int64) {
	d.debt, d.away = max(0, d.debt-d.away*quantum), 0
}

func (m *model) close(x *modelFlows, h *modelQueue) {
	if h == x.queues[0] {
		x.chosen = false
	}
	is := func(g *modelQueue) bool { return g == h }
	at := slices.IndexFunc(x.open, is)
	x.open[at] = x.open[len(x.open)-1]
	x.open = x.open[:len(x.open)-1]
	x.queues = slices.DeleteFunc(x.queues, is)
	if h.deficit < 0 && !h.shared { // before the round that this may begin
		m.owes(x, h.opener, -h.deficit)
	}
	x.visited(h)
}

func (m *model) owes(x *modelFlows, id uint64, debt int64) {
	if x.debtors = append(x.debtors, &modelDebtor{id: id, debt: debt}); len(x.debtors) > m.cfg.MaxFlows {
		x.debtors = x.debtors[1:]
	}
}

// choose returns the tasks of the queue whose turn it is.
func (m *model) choose(t *modelTenant, level int) []Task[int] {
	x := t.flows[level]
	for {
		h := x.queues[0]
		tasks := h.of(t.tasks[level])
		if len(tasks) == 0 {
			m.close(x, h)
			continue
		}
		if !h.inTurn {
			h.inTurn = true
			h.deficit += t.quantum
		}
		if x.chosen || h.deficit >= m.endOf(t, tasks).Cost {
			x.chosen = m.cfg.Order == firq.FIFO
			return tasks
		}
		h.inTurn = false
		x.queues = append(x.queues[1:], h)
		x.visited(h)
	}
}

func (m *model) takeOut(t *modelTenant, level, payload int) {
	x := t.flows[level]
	if x == nil {
		return
	}
	for _, h := range slices.Clone(x.open) {
		if _, ok := h.payloads[payload]; !ok {
			continue
		}
		delete(h.payloads, payload)
		if h == x.queues[0] {
			x.chosen = false
		}
		if len(h.payloads) == 0 && (h != x.queues[0] || !h.inTurn) {
			m.close(x, h)
		}
	}
	m.allGone(t, level)
}

func (m *model) allGone(t *modelTenant, level int) {
	x := t.flows[level]
	if len(t.tasks[level]) > 0 {
		return
	}
	for len(x.queues) > 0 {
		m.close(x, x.queues[0])
	}
	for len(x.debtors) > 0 {
		if x.settleOne(x.debtors[0], t.quantum); x.debtors[0].debt > 0 {
			return
		}
		x.debtors = x.debtors[1:]
	}
	t.flows[level] = nil
}

func (x *modelFlows) fullest() (most *modelQueue) {
	for _, h := range x.open {
		if most == nil || len(h.payloads) > len(most.payloads) {
			most = h
		}
	}
	return most
}

// price is Queue.price.
func (m *model) price(s *modelSeat) int64 {
	t, level, split := s.tenant, s.level, false
	for l, x := range t.flows {
		split = split || x != nil && (!m.cfg.Across || l == level)
	}
	if !split {
		e, _ := m.front(s, 0)
		return e.Cost
	}
	if !m.cfg.Across {
		level = 5
		for len(t.tasks[level]) == 0 {
			level--
		}
	}
	x := t.flows[level]
	if x == nil {
		return m.endOf(t, t.tasks[level]).Cost
	}
	h := x.queues[0]
	if len(h.payloads) == 0 {
		h = x.queues[1]
	}
	return m.endOf(t, h.of(t.tasks[level])).Cost
}

func (m *model) chargeFlow(t *modelTenant, p firq.Priority, id uint64, delta int64) {
	m.charge(t, p, delta)
	level := int(p) - 1
	x := t.flows[level]
	if !t.flowed[m.seatOf(t, p).level] || x == nil && delta <= 0 {
		return
	}
	if x == nil {
		m.split(t, level)
		x = t.flows[level]
	}
	i := slices.IndexFunc(x.debtors, func(d *modelDebtor) bool { return d.id == id })
	switch h := x.home(id); {
	case h != nil:
		h.deficit -= delta
	case i >= 0:
		x.settleOne(x.debtors[i], t.quantum)
		if x.debtors[i].debt += delta; x.debtors[i].debt <= 0 {
			x.debtors = slices.Delete(x.debtors, i, i+1)
		}
	case delta > 0:
		m.owes(x, id, delta)
	default:
		return
	}
	m.allGone(t, level)
}

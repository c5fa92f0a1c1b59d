package drr

import "github.com/firq-go/firq"

// lineFor returns the line into which one more task of the seat goes, and reports
// whether what was chosen before stays the seat's front at that level.
func (q *Queue[K, T]) lineFor(s *seat[K, T], level int, id uint64) (l *line[K, T], kept bool) {
	t := s.tenant
	l = t.level(level)
	if q.cfg.MaxFlows > 1 {
		if !s.flowed {
			s.flowed = true
			t.line.row.spill(&q.pool) // from now on nothing is lent, and its line may go to a flow
		}
		if s.split&(1<<level) == 0 && l.otherThan(id) {
			q.splitUp(s, level)
		}
		if s.split&(1<<level) != 0 {
			x := t.more.flows[level]
			h := q.enter(t, x, id)
			h.held++
			x.tasks++
			l, kept = &h.line, x.chosen
			t.linesHave(level)
		}
	}
	t.adding(level)
	return l, kept
}

// splitUp begins a round robin among the flows of a level whose tasks, if any, are of
// one flow. That has the first turn. If the seats wait for the round in which one of
// them can pay for its front task, that of this one stays.
func (q *Queue[K, T]) splitUp(s *seat[K, T], level int) {
	t := s.tenant
	x := q.flowSets.get()
	if x.table == nil {
		x.table = make([]*flow[K, T], 4)
	}
	l, n := t.level(level), t.count(level)
	m := t.rest()
	if m.flows == nil {
		m.flows = new([levels]*flows[K, T])
	}
	m.flows[level] = x
	s.split |= 1 << level
	if l.empty() {
		return
	}
	next, e := q.frontOfLine(t, l)
	id := uint64(0)
	if e != nil {
		id = e.flow
	}
	h := q.addFlow(x, id)
	x.openLine(h)
	h.line, h.held, x.tasks = *l, n, n
	*l = line[K, T]{}
	if level == normalLevel {
		t.mask &^= mixedNormal
	}
	t.linesHave(level)
	if q.cfg.Order == firq.FIFO && q.lists[s.level].wait > 0 {
		h.inTurn, x.chosen = true, true
		h.deficit = addSaturated(next.cost, t.quantum-1-(next.cost-1)%t.quantum) // whole turns
	}
}

// linesHave notes that the lines of a level have a task.
func (t *Tenant[K, T]) linesHave(level int) {
	if level == normalLevel {
		t.mask |= splitNormal
	}
}

// enter returns the flow in whose line a task of flow id goes.
func (q *Queue[K, T]) enter(t *Tenant[K, T], x *flows[K, T], id uint64) *flow[K, T] {
	f := x.find(q.hash(id), id)
	switch {
	case f == nil:
		f = q.addFlow(x, id)
		q.settleIn(x, f)
	case f.home == nil:
		x.comeBack(f, t.quantum)
		q.settleIn(x, f)
	}
	if f.home != f {
		f.queued++
	}
	return f.home
}

// settleIn gives a flow a line: its own, or, if there are as many as may be, one that is
// already there.
func (q *Queue[K, T]) settleIn(x *flows[K, T], f *flow[K, T]) {
	if len(x.open) >= q.cfg.MaxFlows && x.lines.head.held == 0 {
		q.closeLine(x, x.lines.head) // NextWithin has not looked yet whether its turn goes on
	}
	if len(x.open) < q.cfg.MaxFlows {
		x.openLine(f)
		return
	}
	h := x.open[q.hash(f.id)%uint64(len(x.open))]
	f.home, h.shared = h, true
	h.pay(-f.deficit)
	f.deficit = 0
}

// openLine gives a flow its own line, at the tail.
func (x *flows[K, T]) openLine(f *flow[K, T]) {
	f.home, f.at = f, int32(len(x.open))
	x.open = append(x.open, f)
	x.lines.push(f)
	if x.mark == nil {
		x.mark = f
	}
}

// closeLine ends a line that is empty. Credit is forfeited; debt is not, unless it is
// that of several.
func (q *Queue[K, T]) closeLine(x *flows[K, T], h *flow[K, T]) {
	last := len(x.open) - 1
	moved := x.open[last]
	x.open[h.at], moved.at = moved, h.at
	x.open[last] = nil
	x.open = x.open[:last]
	if h == x.lines.head {
		x.chosen = false
	}
	left, before := x.round, h.prev
	x.lines.remove(h)
	switch {
	case h != x.mark:
	case before != nil:
		x.mark = before
	case x.lines.tail != nil || x.served:
		x.nextRound()
	default:
		x.mark = nil
	}
	h.home, h.inTurn = nil, false
	if h.deficit >= 0 || h.shared {
		q.dropFlow(x, h)
		return
	}
	q.owes(x, h, left)
}

// nextRound begins a round, in which every line has a turn.
func (x *flows[K, T]) nextRound() {
	x.round, x.served, x.mark = x.round+1, false, x.lines.tail
}

// otherThan reports whether the line has a task of another flow; all are of the same.
func (l *line[K, T]) otherThan(flow uint64) bool {
	if l.tasks.tail != nil {
		return l.tasks.tail.flow != flow
	}
	return flow != 0 && !l.row.empty() // slots are of flow 0
}

// takeOut takes a task out of its flow's line.
func (q *Queue[K, T]) takeOut(s *seat[K, T], level int, e *entry[K, T]) {
	x := s.tenant.more.flows[level]
	x.find(q.hash(e.flow), e.flow).home.line.tasks.remove(e)
	q.takenOut(s, level, e.flow)
}

// takenOut counts a task that has left the line of its flow.
func (q *Queue[K, T]) takenOut(s *seat[K, T], level int, id uint64) {
	t := s.tenant
	x := t.more.flows[level]
	f := x.find(q.hash(id), id)
	h := f.home
	h.held--
	if x.tasks--; h == x.lines.head {
		x.chosen = false
	}
	if f != h {
		if f.queued--; f.queued == 0 {
			q.dropFlow(x, f)
		}
	}
	// In mid-turn, whether the turn goes on is decided when the next task is asked for.
	if h.held == 0 && (h != x.lines.head || !h.inTurn) {
		q.closeLine(x, h)
	}
	if x.tasks == 0 {
		if t.mask &^= 1 << level; level == normalLevel {
			t.mask &^= splitNormal
		}
		q.allGone(s, level, x)
	}
}

// allGone ends the round robin of a level without a task, unless a flow is in debt.
func (q *Queue[K, T]) allGone(s *seat[K, T], level int, x *flows[K, T]) {
	if h := x.lines.head; h != nil {
		q.closeLine(x, h)
	}
	for f := x.debtors.head; f != nil; f = x.debtors.head {
		if x.forgive(f, s.tenant.quantum, 0); f.deficit < 0 {
			return
		}
		x.acquit(f)
		q.dropFlow(x, f)
	}
	s.split &^= 1 << level
	s.tenant.more.flows[level] = nil
	table, open := x.table, x.open
	if len(table) > keepTable {
		table, open = nil, nil
	}
	*x = flows[K, T]{table: table, open: open}
	q.flowSets.put(x)
}

// keepTable is how many buckets are kept for the next tenant.
const keepTable = 128

// victims returns the line from which a level's tasks are evicted: the fullest line.
func (q *Queue[K, T]) victims(t *Tenant[K, T], level int) *line[K, T] {
	if q.seatOf(t, level).split&(1<<level) == 0 {
		return t.level(level)
	}
	open := t.more.flows[level].open
	h := open[0]
	for _, f := range open {
		if f.held > h.held {
			h = f
		}
	}
	return &h.line
}

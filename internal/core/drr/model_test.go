package drr

import (
	"slices"

	"github.com/firq-go/firq"
)

// model is the order of service written down plainly: slices, every refill in a
// separate turn, nothing skipped, nothing counted that can be looked up. The
// payload of a task is its identity.
type model struct {
	cfg     Config
	lists   [levels]modelList
	tenants []*modelTenant
	expired []int
	// whole makes turns that no seat can pay in be taken in whole turns of the
	// list once one such has been seen. Only where several lists compete for
	// each visit (Across, with Aging) does that change the order.
	whole bool
	hash  func(flow uint64) uint64 // the Queue's
}

type modelTenant struct {
	key     int
	quantum int64
	tasks   [levels][]Task[int]
	lifo    bool
	blocked bool
	seats   []*modelSeat
	flows   [levels]*modelFlows // nil: all tasks of that level are of one flow
	flowed  [levels]bool        // the seat had a task of a flow other than 0
}

type modelSeat struct {
	tenant  *modelTenant
	level   int
	deficit int64
	away    int64 // rounds that have begun since it took turns, or since settle
	where   where
	inTurn  bool
}

type modelList struct {
	all                  []*modelSeat
	fresh, freed, active []*modelSeat
	toVisit              map[*modelSeat]bool
	round                uint64
	used                 bool // some flow has had a turn in this round
	emptyVisits          int
}

func newModel(cfg Config, quanta []int64) *model {
	m := &model{cfg: cfg, whole: cfg.Across && cfg.Aging > 0 || cfg.MaxFlows > 0}
	for key, quantum := range quanta {
		t := &modelTenant{key: key, quantum: quantum}
		for level := range levels {
			if level == 0 || cfg.Across {
				s := &modelSeat{tenant: t, level: level}
				t.seats = append(t.seats, s)
				m.lists[level].all = append(m.lists[level].all, s)
			}
		}
		m.tenants = append(m.tenants, t)
	}
	return m
}

func (t *modelTenant) queued() (n int) {
	for _, tasks := range t.tasks {
		n += len(tasks)
	}
	return n
}

func (t *modelTenant) active() bool {
	return slices.ContainsFunc(t.seats, func(s *modelSeat) bool { return s.where != nowhere })
}

func (s *modelSeat) empty() bool {
	if len(s.tenant.seats) > 1 {
		return len(s.tenant.tasks[s.level]) == 0
	}
	return s.tenant.queued() == 0
}

func (m *model) seatOf(t *modelTenant, p firq.Priority) *modelSeat {
	if m.cfg.Across {
		return t.seats[p-1]
	}
	return t.seats[0]
}

func (m *model) push(t *modelTenant, task Task[int]) {
	m.line(t, task)
	t.tasks[task.Priority-1] = append(t.tasks[task.Priority-1], task)
	m.watermark(t)
	switch s := m.seatOf(t, task.Priority); {
	case s.where == nowhere && t.blocked:
		if s.away > 0 {
			s.deficit, s.away = min(0, s.deficit+s.away*t.quantum), 0
		}
		s.where = parked
	case s.where == nowhere:
		m.join(s, m.cfg.NewFirst)
	}
}

func (m *model) watermark(t *modelTenant) {
	if n := t.queued(); n > m.cfg.HighWater {
		t.lifo = true
	} else if n < m.cfg.LowWater {
		t.lifo = false
	}
}

func (m *model) join(s *modelSeat, first bool) {
	l := &m.lists[s.level]
	var turn int64
	if s.where == nowhere && !first && len(l.active) == 0 {
		if turn = 1; l.used {
			l.pass(1)
		}
	}
	m.settle(s, turn)
	if first {
		s.where = fresh
		l.fresh = append(l.fresh, s)
		return
	}
	s.where = active
	l.active = append(l.active, s)
	if len(l.active) == 1 {
		l.toVisit = map[*modelSeat]bool{s: true}
	}
}

func (l *modelList) drop(s *modelSeat) {
	is := func(g *modelSeat) bool { return s == g }
	l.fresh = slices.DeleteFunc(l.fresh, is)
	l.freed = slices.DeleteFunc(l.freed, is)
	l.active = slices.DeleteFunc(l.active, is)
}

func (l *modelList) visited(s *modelSeat) {
	if !l.toVisit[s] {
		return
	}
	if delete(l.toVisit, s); len(l.toVisit) == 0 && len(l.active) > 0 {
		if l.used {
			l.pass(1)
		}
		l.visitAll()
	}
}

// pass moves the round on.
func (l *modelList) pass(rounds int64) {
	l.round += uint64(rounds)
	l.used = l.used && rounds == 0
	for _, s := range l.all {
		if s.where == nowhere || s.where == freed || s.where == parked {
			s.away += rounds
		}
	}
}

// settleAt gives a seat what the rounds bring that it was away, given what its next task costs.
func (m *model) settleAt(s *modelSeat, cost int64) {
	most := max(s.deficit, keeps(s.tenant.quantum, cost))
	s.deficit, s.away = min(most, s.deficit+s.away*s.tenant.quantum), 0
}

// bring gives a seat what the rounds bring that it was away, less the rounds in but: credit if it
// has a task, else they pay off debt, and end credit.
func (m *model) settle(s *modelSeat, but int64) {
	if s.where == active || s.where == fresh {
		return
	}
	rounds, most := max(s.away-but, 0), int64(0)
	if !s.empty() && s.where != nowhere {
		most = max(s.deficit, keeps(s.tenant.quantum, m.price(s)))
	}
	if rounds > 0 {
		s.deficit = min(most, s.deficit+rounds*s.tenant.quantum)
	}
	s.away = 0
}

func (l *modelList) visitAll() {
	l.toVisit = map[*modelSeat]bool{}
	for _, s := range l.active {
		l.toVisit[s] = true
	}
}

// front returns the task that s would deliver next.
func (m *model) front(s *modelSeat, now int64) (best Task[int], ok bool) {
	for level := levels - 1; level >= 0; level-- {
		tasks := s.tenant.tasks[level]
		if len(tasks) == 0 || m.cfg.Across && level != s.level {
			continue
		}
		if ok && m.cfg.Aging == 0 {
			break
		}
		if s.tenant.flows[level] != nil {
			tasks = m.choose(s.tenant, level)
		}
		e := m.endOf(s.tenant, tasks)
		if !ok || m.before(e, best, now) {
			best, ok = e, true
		}
	}
	return best, ok
}

// endOf returns the first or the last one.
func (m *model) endOf(t *modelTenant, tasks []Task[int]) Task[int] {
	if m.cfg.Order == firq.LIFO || m.cfg.Order == firq.AdaptiveLIFO && t.lifo {
		return tasks[len(tasks)-1]
	}
	return tasks[0]
}

func (m *model) before(a, b Task[int], now int64) bool {
	aged := func(e Task[int]) int64 { return int64(e.Priority) + max(now-e.Enqueued, 0)/m.cfg.Aging }
	if x, y := aged(a), aged(b); x != y {
		return x > y
	}
	return a.Enqueued < b.Enqueued
}

func (m *model) head(now int64) (best *modelSeat) {
	var bestTask Task[int]
	for level := levels - 1; level >= 0; level-- {
		both := slices.Concat(m.lists[level].fresh, m.lists[level].freed, m.lists[level].active)
		if len(both) == 0 {
			continue
		}
		if !m.cfg.Across {
			return both[0] // there are no others; to ask would choose among its flows
		}
		e, ok := m.front(both[0], now)
		switch {
		case !ok, best == nil && m.cfg.Aging == 0:
			return both[0] // its turn is over; or none below can be before it
		case best == nil || m.before(e, bestTask, now):
			best, bestTask = both[0], e
		}
	}
	return best
}

// toVisit returns the seat at the head; if no seat can be served, one at a head without a task.
func (m *model) toVisit(now int64) *modelSeat {
	if m.ready() {
		return m.head(now)
	}
	for i := range m.lists {
		if all := m.lists[i].inOrder(); len(all) > 0 && all[0].empty() {
			return all[0]
		}
	}
	return nil
}

func (l *modelList) inOrder() []*modelSeat { return slices.Concat(l.fresh, l.freed, l.active) }

// halt ends the turn of a seat whose tenant is blocked, or gives it the turn's quantum.
func (m *model) halt(s *modelSeat) {
	l := &m.lists[s.level]
	hadTurn := s.inTurn || s.where == fresh
	l.used = l.used || s.where == active
	m.park(s)
	if !hadTurn {
		s.away++
	}
}

// park takes a seat out of the lists until it is unblocked.
func (m *model) park(s *modelSeat) {
	m.detach(s)
	s.where = parked
}

// next delivers one task.
func (m *model) next(now int64) (tenant, payload int, ok bool) {
	for {
		s := m.toVisit(now)
		if s == nil {
			return 0, 0, false
		}
		e, ok := m.front(s, now)
		switch {
		case !ok:
			m.emptied(s)
			continue
		case e.Due < now:
			m.take(s.tenant, e.Payload)
			m.expired = append(m.expired, e.Payload)
			continue
		}
		if s.tenant.blocked {
			m.halt(s)
			continue
		}
		if s.where == freed {
			m.settleAt(s, e.Cost)
			if s.deficit = min(s.deficit, keeps(s.tenant.quantum, e.Cost)); s.deficit < e.Cost {
				m.toTail(s)
				continue
			}
		} else if !s.inTurn {
			s.inTurn = true
			s.deficit += s.tenant.quantum
		}
		if s.deficit < e.Cost {
			m.turnOver(s, now)
			continue
		}
		s.deficit -= e.Cost
		if x := s.tenant.flows[e.Priority-1]; x != nil {
			x.queues[0].deficit -= e.Cost
			x.served = true
		}
		m.lists[s.level].emptyVisits = 0
		if s.where != freed {
			m.lists[s.level].used = true
		}
		m.take(s.tenant, e.Payload)
		return s.tenant.key, e.Payload, true
	}
}

func (m *model) turnOver(s *modelSeat, now int64) {
	l := &m.lists[s.level]
	wasFresh := s.where == fresh
	s.inTurn = false
	l.drop(s)
	if wasFresh {
		m.join(s, false)
		return
	}
	l.active = append(l.active, s)
	l.used = true
	l.visited(s)
	if l.emptyVisits++; m.whole && l.emptyVisits >= len(l.active) {
		l.emptyVisits = 0
		for m.emptyTurn(l, now) {
			for _, s := range l.active {
				s.deficit += s.tenant.quantum
			}
			l.pass(1)
		}
	}
}

// emptyTurn reports whether no seat could pay in the coming turn of the list.
func (m *model) emptyTurn(l *modelList, now int64) bool {
	soon := false
	for _, s := range l.active {
		e, ok := m.front(s, now)
		if !ok || e.Due < now || e.Cost <= s.deficit {
			return false
		}
		soon = soon || e.Cost <= s.deficit+s.tenant.quantum
	}
	return !soon
}

// toTail ends that a seat goes first.
func (m *model) toTail(s *modelSeat) {
	l := &m.lists[s.level]
	l.drop(s)
	s.where, l.used = active, true
	l.active = append(l.active, s)
	l.lastFreed()
}

// lastFreed begins a round if only those are in the list that went first and came to the tail.
func (l *modelList) lastFreed() {
	if len(l.freed) == 0 && len(l.toVisit) == 0 && len(l.active) > 0 {
		l.pass(1)
		l.visitAll()
	}
}

func (m *model) emptied(s *modelSeat) {
	if s.where == active || s.where == freed && !m.cfg.NewFirst {
		m.leave(s)
		return
	}
	s.inTurn, s.deficit = false, min(s.deficit, 0)
	m.lists[s.level].drop(s)
	m.join(s, false)
	m.lists[s.level].lastFreed()
}

func (m *model) leave(s *modelSeat) {
	s.deficit = min(s.deficit, 0)
	m.detach(s)
}

func (m *model) detach(s *modelSeat) {
	if s.where != freed {
		s.away = 0
	}
	s.where, s.inTurn = nowhere, false
	l := &m.lists[s.level]
	l.drop(s)
	l.visited(s)
	l.lastFreed()
}

package drr

import (
	"slices"

	"github.com/firq-go/firq"
)

// model is the order of service written down plainly: slices, every refill in a
// turn of its own, nothing skipped, nothing counted that can be looked up. The
// payload of a task is its identity.
type model struct {
	cfg     Config
	lists   [levels]modelList
	tenants []*modelTenant
	expired []int
	// whole makes turns that nobody can pay in be taken in whole turns of the
	// list once one such has been seen. Only where several lists compete for
	// each visit (Across, with Aging or Fill) does that change the order.
	whole bool
	lazy  bool
}

type modelTenant struct {
	key     int
	quantum int64
	tasks   [levels][]Task[int]
	inbox   []Task[int] // what Fill will push
	ripe    bool
	lifo    bool
	blocked bool
	flows   []*modelFlow
}

type modelFlow struct {
	tenant         *modelTenant
	level          int
	deficit        int64
	away           int64 // rounds that have begun since it was in the list, or since settle
	place          place
	inTurn, barred bool
}

type modelList struct {
	all           []*modelFlow
	fresh, active []*modelFlow
	toVisit       map[*modelFlow]bool
	round         uint64
	used          bool // some flow has had a turn in this round
	barren        int
}

func newModel(cfg Config, quanta []int64, fill bool) *model {
	m := &model{cfg: cfg, whole: cfg.Across && (cfg.Aging > 0 || fill)}
	for key, quantum := range quanta {
		t := &modelTenant{key: key, quantum: quantum}
		for level := range levels {
			if level == 0 || cfg.Across {
				f := &modelFlow{tenant: t, level: level}
				t.flows = append(t.flows, f)
				m.lists[level].all = append(m.lists[level].all, f)
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
	return t.blocked || slices.ContainsFunc(t.flows, func(f *modelFlow) bool { return f.place != nowhere })
}

func (f *modelFlow) empty() bool {
	if len(f.tenant.flows) > 1 {
		return len(f.tenant.tasks[f.level]) == 0
	}
	return f.tenant.queued() == 0
}

func (m *model) flowOf(t *modelTenant, p firq.Priority) *modelFlow {
	if m.cfg.Across {
		return t.flows[p-1]
	}
	return t.flows[0]
}

func (m *model) push(t *modelTenant, task Task[int]) {
	t.tasks[task.Priority-1] = append(t.tasks[task.Priority-1], task)
	m.water(t)
	if f := m.flowOf(t, task.Priority); !t.blocked && f.place == nowhere {
		m.join(f, m.cfg.NewFirst)
	}
}

// fill is about to look at the tenant.
func (m *model) fill(t *modelTenant) {
	if !m.lazy || t.ripe || t.queued() == 0 {
		m.bringIn(t)
	}
}

func (m *model) bringIn(t *modelTenant) {
	for _, task := range t.inbox {
		m.push(t, task)
	}
	t.inbox = nil
}

func (m *model) water(t *modelTenant) {
	if n := t.queued(); n > m.cfg.HighWater {
		t.lifo = true
	} else if n < m.cfg.LowWater {
		t.lifo = false
	}
}

func (m *model) join(f *modelFlow, first bool) {
	l := &m.lists[f.level]
	var turn int64
	if f.place == nowhere && !first && len(l.active) == 0 {
		if turn = 1; l.used {
			l.pass(1)
		}
	}
	f.settle(turn)
	if first {
		f.place = fresh
		l.fresh = append(l.fresh, f)
		return
	}
	f.place = active
	l.active = append(l.active, f)
	if len(l.active) == 1 {
		l.toVisit = map[*modelFlow]bool{f: true}
	}
}

func (l *modelList) drop(f *modelFlow) {
	is := func(g *modelFlow) bool { return f == g }
	l.fresh = slices.DeleteFunc(l.fresh, is)
	l.active = slices.DeleteFunc(l.active, is)
}

func (l *modelList) visited(f *modelFlow) {
	if !l.toVisit[f] {
		return
	}
	if delete(l.toVisit, f); len(l.toVisit) == 0 && len(l.active) > 0 {
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
	for _, f := range l.all {
		if f.place == nowhere {
			f.away += rounds
		}
	}
}

// settle pays off debt for the rounds that the flow was away, but for so many.
func (f *modelFlow) settle(but int64) {
	if f.place != nowhere {
		return
	}
	if f.deficit < 0 {
		f.deficit = min(0, f.deficit+max(f.away-but, 0)*f.tenant.quantum)
	}
	f.away = 0
}

func (l *modelList) visitAll() {
	l.toVisit = map[*modelFlow]bool{}
	for _, f := range l.active {
		l.toVisit[f] = true
	}
}

// front returns the task that f would deliver next.
func (m *model) front(f *modelFlow, now int64) (best Task[int], ok bool) {
	for level := levels - 1; level >= 0; level-- {
		tasks := f.tenant.tasks[level]
		if len(tasks) == 0 || m.cfg.Across && level != f.level {
			continue
		}
		e := tasks[0]
		if m.cfg.Order == firq.LIFO || m.cfg.Order == firq.AdaptiveLIFO && f.tenant.lifo {
			e = tasks[len(tasks)-1]
		}
		if !ok || m.cfg.Aging > 0 && m.before(e, best, now) {
			best, ok = e, true
		}
	}
	return best, ok
}

func (m *model) before(a, b Task[int], now int64) bool {
	aged := func(e Task[int]) int64 { return int64(e.Priority) + max(now-e.Enqueued, 0)/m.cfg.Aging }
	if x, y := aged(a), aged(b); x != y {
		return x > y
	}
	return a.Enqueued < b.Enqueued
}

func (m *model) head(now int64) (best *modelFlow) {
	var bestTask Task[int]
	for level := levels - 1; level >= 0; level-- {
		both := slices.Concat(m.lists[level].fresh, m.lists[level].active)
		if len(both) == 0 {
			continue
		}
		e, ok := m.front(both[0], now)
		switch {
		case !ok, best == nil && m.cfg.Aging == 0:
			return both[0] // its turn is over; or nobody below can be before it
		case best == nil || m.before(e, bestTask, now):
			best, bestTask = both[0], e
		}
	}
	return best
}

// next delivers one task.
func (m *model) next(now int64) (tenant, payload int, ok bool) {
	for {
		f := m.head(now)
		if f == nil {
			return 0, 0, false
		}
		m.fill(f.tenant)
		if m.head(now) != f {
			continue
		}
		e, ok := m.front(f, now)
		switch {
		case !ok:
			m.emptied(f)
			continue
		case e.Due < now:
			m.take(f.tenant, e.Payload)
			m.expired = append(m.expired, e.Payload)
			continue
		}
		if !f.inTurn {
			f.inTurn = true
			f.deficit += f.tenant.quantum
		}
		if f.deficit < e.Cost {
			m.turnOver(f, now)
			continue
		}
		f.deficit -= e.Cost
		m.lists[f.level].barren, m.lists[f.level].used = 0, true
		m.take(f.tenant, e.Payload)
		return f.tenant.key, e.Payload, true
	}
}

func (m *model) turnOver(f *modelFlow, now int64) {
	l := &m.lists[f.level]
	wasFresh := f.place == fresh
	f.inTurn = false
	l.drop(f)
	if wasFresh {
		m.join(f, false)
		return
	}
	l.active = append(l.active, f)
	l.used = true
	l.visited(f)
	if l.barren++; m.whole && l.barren >= len(l.active) {
		l.barren = 0
		for m.emptyTurn(l, now) {
			for _, f := range l.active {
				f.deficit += f.tenant.quantum
			}
			l.pass(1)
		}
	}
}

// emptyTurn reports whether nobody could pay in the coming turn of the list.
func (m *model) emptyTurn(l *modelList, now int64) bool {
	soon := false
	for _, f := range l.active {
		m.fill(f.tenant)
		e, ok := m.front(f, now)
		if !ok || e.Due < now || e.Cost <= f.deficit {
			return false
		}
		soon = soon || e.Cost <= f.deficit+f.tenant.quantum
	}
	return !soon
}

func (m *model) emptied(f *modelFlow) {
	if f.place != fresh {
		m.leave(f)
		return
	}
	f.inTurn, f.deficit = false, min(f.deficit, 0)
	m.lists[f.level].drop(f)
	m.join(f, false)
}

func (m *model) leave(f *modelFlow) {
	f.deficit = min(f.deficit, 0)
	m.detach(f)
}

func (m *model) detach(f *modelFlow) {
	f.place, f.inTurn = nowhere, false
	f.away = 0
	l := &m.lists[f.level]
	l.drop(f)
	l.visited(f)
}

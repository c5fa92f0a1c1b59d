package drr

import (
	"math"
	"math/bits"

	"github.com/firq-go/firq"
)

const (
	levels      = int(firq.PriorityCritical) // priority p is level p-1
	normalLevel = int(firq.PriorityNormal) - 1
)

// Of Tenant.mask: the levels, and what else there is at PriorityNormal. With neither, all
// its tasks are in slots of Tenant.line, so that front need not look further.
const (
	anyLevel    = 1<<levels - 1
	splitNormal = 1 << levels       // the tasks are in lines of flows (seat.split)
	mixedNormal = 1 << (levels + 1) // some tasks are in entries of Tenant.line
)

const never = math.MaxUint64

// where says in which list of the queue a seat is.
type where uint8

const (
	nowhere where = iota // idle: nothing queued
	parked               // it has a task, and its tenant is blocked
	fresh                // newly active (NewFirst)
	freed                // it was parked: it may go first
	active
)

// seat is what takes turns: a tenant, or with Config.Across a tenant at one
// level.
type seat[K comparable, T any] struct {
	tenant     *Tenant[K, T]
	next, prev *seat[K, T]
	deficit    int64
	// visit is the round that has to visit it, while it is active. While it takes no turns
	// it is the count of rounds (clock) when it left, or up to which it has had what they
	// bring it (bring); never, if it has not been in a list.
	visit  uint64
	level  int8 // the list of the queue that it takes turns in
	where  where
	inTurn bool  // got its quantum, and the turn is not over
	flowed bool  // had a task of a flow other than 0
	split  uint8 // levels whose flows take turns: see flows
}

// seats is a ring of seats, doubly linked, which begins at the head. The zero value is empty.
type seats[K comparable, T any] struct {
	head *seat[K, T]
	n    int
}

// push adds a seat at the end.
func (l *seats[K, T]) push(s *seat[K, T]) {
	l.n++
	h := l.head
	if h == nil {
		l.head, s.next, s.prev = s, s, s
		return
	}
	s.next, s.prev = h, h.prev
	h.prev.next, h.prev = s, s
}

// rotate moves the head to the end: in a ring no seat moves.
func (l *seats[K, T]) rotate() { l.head = l.head.next }

func (l *seats[K, T]) remove(s *seat[K, T]) {
	l.n--
	if l.n == 0 {
		l.head = nil
	} else {
		s.prev.next, s.next.prev = s.next, s.prev
		if l.head == s {
			l.head = s.next
		}
	}
	s.next, s.prev = nil, nil
}

// all goes through the seats, from the head on. The loop may remove the seat that it has.
func (l *seats[K, T]) all(yield func(*seat[K, T]) bool) {
	for s, n := l.head, l.n; n > 0; n-- {
		next := s.next
		if !yield(s) {
			return
		}
		s = next
	}
}

// Tenant is one tenant's part of a Queue. Make it with Init; it belongs to one
// Queue and must not be copied.
//
// What each visit needs comes first.
type Tenant[K comparable, T any] struct {
	seat    seat[K, T] // with Across see more
	quantum int64
	queued  int32 // at most firq.MaxTasks, of all shards
	mask    uint8 // levels that have tasks; and splitNormal, mixedNormal
	lifo    bool  // AdaptiveLIFO is serving newest first
	blocked bool  // at its in-flight limit
	Key     K
	line    line[K, T]  // of PriorityNormal; the others in more. Its entries come last
	more    *more[K, T] // allocated when first needed
}

// more is the part of a tenant that few tenants need.
type more[K comparable, T any] struct {
	lines [levels]line[K, T]    // of the levels other than PriorityNormal
	n     [levels]int32         // how many tasks those levels have
	flows *[levels]*flows[K, T] // of the levels in seat.split; then the line of the level is empty
	seats *[levels]seat[K, T]   // with Across

	control *[levels]codel // with Config.Target
}

// rest returns t.more, and makes it if needed.
func (t *Tenant[K, T]) rest() *more[K, T] {
	if t.more == nil {
		t.more = new(more[K, T])
	}
	return t.more
}

// Init makes t a tenant with the given key and quantum (below 1 counts as 1).
func (t *Tenant[K, T]) Init(key K, quantum int64) {
	t.Key = key
	t.seat.tenant, t.seat.visit = t, never
	t.SetQuantum(quantum)
}

// maxQuantum keeps sums of a deficit and a few quanta inside an int64.
const maxQuantum = 1 << 62

// SetQuantum sets the quantum of a tenant that no Queue knows yet; see
// Queue.SetQuantum. Below 1 counts as 1.
func (t *Tenant[K, T]) SetQuantum(q int64) { t.quantum = min(max(q, 1), maxQuantum) }

// Quantum returns the quantum in force.
func (t *Tenant[K, T]) Quantum() int64 { return t.quantum }

// Len returns the number of its queued tasks.
func (t *Tenant[K, T]) Len() int { return int(t.queued) }

// Active reports whether the tenant is in a list.
func (t *Tenant[K, T]) Active() bool {
	if t.seat.where != nowhere {
		return true
	}
	if t.more != nil && t.more.seats != nil {
		for i := range t.more.seats {
			if t.more.seats[i].where != nowhere {
				return true
			}
		}
	}
	return false
}

// maxDebt bounds what Charge can pile up in either direction.
const maxDebt = 1 << 61

// Charge moves the deficit that tasks of priority p are paid from by -delta.
// An idle tenant can get into debt this way, but gathers no credit; one that is blocked keeps
// what it has, as long as its next task comes in the same round. While it takes no turns,
// being idle or blocked, its debt shrinks by its quantum per round.
func (q *Queue[K, T]) Charge(t *Tenant[K, T], p firq.Priority, delta int64) {
	s := q.seatOf(t, int(p)-1)
	q.bring(s) // what rounds have brought comes first, and within its bounds
	delta = min(max(delta, -maxDebt), maxDebt)
	if delta > 0 {
		s.deficit = max(s.deficit-delta, -maxDebt)
	} else {
		if on := &q.lists[s.level]; on.wait > 0 {
			q.lookAgain(on) // it may be able to pay now
		}
		if s.deficit < maxDebt { // a skip may have saved up more than that
			s.deficit = min(s.deficit-delta, maxDebt)
		}
	}
	if on := &q.lists[s.level]; delta < 0 && s.inTurn && s == on.active.head {
		on.audit.refund(-delta)
	}
	if s.where == nowhere && !t.blocked { // a blocked one keeps it for its next task: see Block
		s.deficit = min(s.deficit, 0)
	}
}

// seatOf returns the seat that tasks of a level are served through.
func (q *Queue[K, T]) seatOf(t *Tenant[K, T], level int) *seat[K, T] {
	if !q.cfg.Across {
		return &t.seat
	}
	m := t.rest()
	if m.seats == nil {
		m.seats = new([levels]seat[K, T])
		for i := range m.seats {
			m.seats[i].tenant, m.seats[i].level, m.seats[i].visit = t, int8(i), never
		}
	}
	return &m.seats[level]
}

// empty reports whether the seat has no task.
func (q *Queue[K, T]) empty(s *seat[K, T]) bool {
	if q.cfg.Across {
		return s.tenant.mask&(1<<s.level) == 0
	}
	return s.tenant.mask == 0
}

// front returns the task that the seat would deliver next, if it has one. e is nil
// if it is in a slot: the first of slotLine.
func (q *Queue[K, T]) front(s *seat[K, T], now int64) (h head, e *entry[K, T]) {
	if t := s.tenant; q.plain && t.mask == 1<<normalLevel {
		return t.line.row.front().head(), nil
	}
	return q.frontAmongLevels(s, now, false)
}

// look is front that chooses nothing among flows, and so changes nothing.
func (q *Queue[K, T]) look(s *seat[K, T], now int64) (h head) {
	h, _ = q.frontAmongLevels(s, now, true)
	return h
}

// frontAmongLevels is front in all cases, or look.
func (q *Queue[K, T]) frontAmongLevels(s *seat[K, T], now int64, look bool) (h head, e *entry[K, T]) {
	t := s.tenant
	if q.cfg.Across {
		if level := int(s.level); t.mask&(1<<level) != 0 {
			return q.frontOfLevel(s, level, look)
		}
		return head{}, nil
	}
	if t.mask == 0 {
		return head{}, nil
	}
	mask := t.mask & anyLevel
	top := bits.Len8(mask) - 1
	h, e = q.frontOfLevel(s, top, look)
	if q.cfg.Aging == 0 || mask&(mask-1) == 0 {
		return h, e
	}
	most := q.aged(h, top, now)
	for m := mask &^ (1 << top); m != 0; {
		l := bits.Len8(m) - 1
		m &^= 1 << l
		// The task that has waited longer wins a tie: that of the lower level, or it would not have caught up.
		other, entry := q.frontOfLevel(s, l, look)
		if a := q.aged(other, l, now); a >= most {
			h, e, most = other, entry, a
		}
	}
	return h, e
}

// slotLine returns the line whose first slot is the front of a seat, if that is a slot.
func (q *Queue[K, T]) slotLine(s *seat[K, T]) *line[K, T] {
	if s.split&(1<<normalLevel) != 0 {
		return &s.tenant.more.flows[normalLevel].lines.head.line
	}
	return &s.tenant.line
}

// level returns the line of a level.
func (t *Tenant[K, T]) level(level int) *line[K, T] {
	if level == normalLevel {
		return &t.line
	}
	return &t.rest().lines[level]
}

// adding returns the line of a level that gets one more task.
func (t *Tenant[K, T]) adding(level int) *line[K, T] {
	if level == normalLevel {
		return &t.line
	}
	m := t.rest()
	m.n[level]++
	return &m.lines[level]
}

// taking returns the line of a level that gets one task fewer.
func (t *Tenant[K, T]) taking(level int) *line[K, T] {
	if level == normalLevel {
		return &t.line
	}
	t.more.n[level]--
	return &t.more.lines[level]
}

// count returns the number of tasks of a level.
func (t *Tenant[K, T]) count(level int) (n int32) {
	if level != normalLevel {
		return t.more.n[level]
	}
	n = t.queued
	if t.more != nil {
		for _, others := range t.more.n {
			n -= others
		}
	}
	return n
}

// frontOfLevel returns the next task of a level that has tasks. e is nil if it is in
// a slot. look: it is not chosen, if flows take turns.
func (q *Queue[K, T]) frontOfLevel(s *seat[K, T], level int, look bool) (h head, e *entry[K, T]) {
	t := s.tenant
	if s.split&(1<<level) != 0 {
		if look {
			return q.foresee(t, t.more.flows[level]), nil
		}
		return q.choose(t, t.more.flows[level])
	}
	return q.frontOfLine(t, t.level(level))
}

// frontOfLine returns the end of a line that the order takes from, if the line is not empty.
func (q *Queue[K, T]) frontOfLine(t *Tenant[K, T], l *line[K, T]) (h head, e *entry[K, T]) {
	if q.cfg.Order == firq.FIFO || q.cfg.Order == firq.AdaptiveLIFO && !t.lifo {
		return l.first()
	}
	return l.last()
}

// aged returns the priority of a task of a level, as it has aged.
func (q *Queue[K, T]) aged(h head, level int, now int64) int64 {
	return int64(level) + max(now-h.enqueued, 0)/q.cfg.Aging
}

// watermark moves AdaptiveLIFO between its two orders.
func (q *Queue[K, T]) watermark(t *Tenant[K, T]) {
	if int(t.queued) > q.cfg.HighWater {
		t.lifo = true
	} else if int(t.queued) < q.cfg.LowWater {
		t.lifo = false
	}
}

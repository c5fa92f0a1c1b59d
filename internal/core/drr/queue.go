package drr

import (
	"hash/maphash"
	"math"

	"github.com/firq-go/firq"
)

// Config of a Queue. The zero value is plain FIFO within each tenant and
// priority, strict priorities within a tenant.
type Config struct {
	Order               firq.Order
	LowWater, HighWater int   // AdaptiveLIFO
	Aging               int64 // 0: strict priorities; else see firq.Config.PriorityAging
	Across              bool  // firq.PriorityAcrossTenants
	NewFirst            bool  // firq.Config.NewTenantsFirst
	MaxFlows            int   // firq.Config.MaxFlows, but 0 means 1: flows do not matter
	Target, Interval    int64 // CoDel: see firq.Config.TargetWait; Target 0: off. With FIFO only
}

// Host is the surroundings of a Queue. Its methods are called from within the
// Queue's and must not call the Queue.
type Host[K comparable, T any] interface {
	// Expired is called for each task that is dropped because now is after Due.
	Expired(t *Tenant[K, T], task *Task[T])
}

// Observer is an interface of Hosts in tests: Delivered is called after each delivery.
type Observer[K comparable, T any] interface{ Delivered(t *Tenant[K, T]) }

// Queue is the scheduler. Make it with New; not safe for concurrent use.
type Queue[K comparable, T any] struct {
	cfg      Config
	host     Host[K, T]
	peers    Peers              // nil: none
	plain    bool               // first in, first out, and one seat per tenant: there are slots
	newFirst bool               // a tenant that joins may go first
	straight bool               // plain, and neither CoDel nor an Observer is there: NextPlain has something to do
	lists    [levels]list[K, T] // only lists[0] is used unless Across
	queued   int                // tasks held
	ready    int                // tasks of tenants that are not blocked
	nEmpty   int                // seats that are in a list without a task
	pool     pool[K, T]
	dues     dues[K, T]

	seed        maphash.Seed // of flows' hashes; only with MaxFlows
	flowSets    freeList[flows[K, T]]
	flowRecords freeList[flow[K, T]]

	dropper Dropper[K, T] // nil: no CoDel
	lenient bool          // see Control

	observer Observer[K, T] // nil: none

	gone Task[T] // the task that a method of the host gets; here, so that it need not be allocated
}

// list is one round robin: the active list, those that go before it (the newly active,
// and those that were blocked), and the count of rounds.
type list[K comparable, T any] struct {
	fresh, freed, active seats[K, T] // in the order in which they are served
	parked               seats[K, T] // not served
	round                uint64      // modulo 1<<63; see Apart
	skipped              uint64      // rounds that were not counted, as no other queue shared time
	reached              uint64      // the last round that NextWithin has begun a turn in, or passed empty turns up to
	used                 bool        // some seat was served in this round, or could not pay
	left                 int         // active seats that this round has still to visit
	emptyVisits          int         // visits since a tenant could pay
	wait                 uint64      // no tenant can pay in the next wait rounds: there is nothing to visit until then
	audit                audit
}

// tag is the round in which the next delivery can be, as far as is known.
func (l *list[K, T]) tag() uint64 { return (l.round + l.wait) & lastRound }

// New returns an empty Queue.
func New[K comparable, T any](cfg Config, host Host[K, T]) *Queue[K, T] {
	q := &Queue[K, T]{
		cfg:      cfg,
		host:     host,
		plain:    cfg.Order == firq.FIFO && !cfg.Across,
		newFirst: cfg.NewFirst || cfg.Across,
	}
	if cfg.MaxFlows > 1 {
		q.seed = maphash.MakeSeed()
	}
	if cfg.Target > 0 {
		q.dropper = host.(Dropper[K, T])
	}
	q.observer, _ = host.(Observer[K, T])
	q.straight = q.plain && q.dropper == nil && q.observer == nil
	return q
}

// Len returns the number of tasks held.
func (q *Queue[K, T]) Len() int { return q.queued }

// Ready returns the number of tasks held for tenants that are not blocked.
func (q *Queue[K, T]) Ready() int { return q.ready }

// Lingering reports whether Next would find nothing, but has tenants to see off
// that were served their last task: whether their turn goes on is decided when
// the next task is asked for.
func (q *Queue[K, T]) Lingering() bool {
	return q.ready == 0 && q.nEmpty > 0 && q.lingerer() != nil
}

// Push queues a task, which it copies. A tenant that gets its first task joins the
// list. A tenant can have up to firq.MaxTasks.
func (q *Queue[K, T]) Push(t *Tenant[K, T], task *Task[T]) {
	if task.IsPlain() {
		q.PushPlain(t, &task.Payload, task.Cost, task.Enqueued)
		return
	}
	q.pushEntry(t, task)
}

// pushEntry is Push for a task that a slot is not enough for.
func (q *Queue[K, T]) pushEntry(t *Tenant[K, T], task *Task[T]) {
	e := q.pool.entry()
	e.head = head{task.Cost, task.Enqueued, task.Due}
	e.payload, e.ticket, e.priority, e.flow = task.Payload, task.Ticket, task.Priority, task.Flow
	e.tenant = t
	level := int(task.Priority) - 1
	s := q.seatOf(t, level)
	wasEmpty := q.empty(s)
	var l *line[K, T]
	kept := false
	if task.Flow == 0 && !s.flowed {
		l = t.adding(level)
	} else {
		l, kept = q.lineFor(s, level, task.Flow)
	}
	if l.push(e); l == &t.line {
		t.mask |= mixedNormal
	}
	if task.Due != NoDeadline {
		q.dues.insert(e)
	}
	if task.Ticket != nil {
		task.Ticket.SetPlace(e)
	}
	first := l.tasks.head == e && l.row.empty() && !kept
	q.pushed(s, level, 1, wasEmpty, first || q.cfg.Order != firq.FIFO)
}

// PushPlain is Push for a task of PriorityNormal and of flow 0 that has neither deadline
// nor ticket.
func (q *Queue[K, T]) PushPlain(t *Tenant[K, T], payload *T, cost, enqueued int64) {
	if !q.Lends(t) || cost > MostPlain {
		q.pushEntry(t, &Task[T]{Payload: *payload, Cost: cost, Enqueued: enqueued, Due: NoDeadline, Priority: firq.PriorityNormal})
		return
	}
	last := t.line.row.last // as row.push, and room
	if last == nil && q.pool.spare != nil {
		last, q.pool.spare = q.pool.spare, nil
		t.line.row.first, t.line.row.last = last, last
	} else if last == nil || last.to >= len(last.slots) || last.lent {
		last = t.line.row.room(&q.pool)
	}
	into := &last.slots[last.to]
	last.to++
	t.line.row.in++
	into.Cost, into.Enqueued, into.Payload = uint32(cost), enqueued, *payload
	if l := &q.lists[0]; t.blocked || t.mask&(1<<normalLevel) == 0 && (t.mask != 0 || l.wait > 0 || q.newFirst) {
		q.pushed(&t.seat, normalLevel, 1, t.mask == 0, t.mask&(1<<normalLevel) == 0)
		return
	}
	// As pushed, where the task is not the tenant's first one of its level, or it is its only
	// one, and the list does not wait.
	t.queued++
	q.queued++
	q.ready++
	if t.mask != 0 {
		return
	}
	t.mask = 1 << normalLevel
	switch s := &t.seat; {
	case s.where != nowhere:
		q.nEmpty--
	case s.deficit < 0 || q.lists[0].active.n == 0:
		q.join(s, false)
	default:
		s.where, s.visit = active, q.lists[0].round+1
		q.lists[0].active.push(s)
	}
}

// PushAll is PushPlain of the payloads and costs of tasks; a cost of 0 is 1.
func (q *Queue[K, T]) PushAll(t *Tenant[K, T], tasks []firq.Task[T], enqueued int64) {
	if !q.Lends(t) {
		for i := range tasks {
			q.PushPlain(t, &tasks[i].Payload, max(tasks[i].Cost, 1), enqueued)
		}
		return
	}
	n := len(tasks)
	if n == 0 {
		return
	}
	for len(tasks) > 0 {
		slots := t.line.row.pushSome(len(tasks), &q.pool)
		for i := range slots {
			from := &tasks[i]
			slots[i].Cost, slots[i].Enqueued, slots[i].Payload = uint32(max(from.Cost, 1)), enqueued, from.Payload
		}
		tasks = tasks[len(slots):]
	}
	q.pushed(&t.seat, normalLevel, n, t.mask == 0, t.mask&(1<<normalLevel) == 0)
}

// MostPlain is the largest cost that a Slot has room for.
const MostPlain = math.MaxUint32

// Lends reports whether Lend may be called for the tenant: whether its plain tasks are in
// slots.
func (q *Queue[K, T]) Lends(t *Tenant[K, T]) bool { return q.plain && !t.seat.flowed }

// pushed counts n tasks that have come in at a level of a seat, which was empty or not.
// mayBeFront: one of them may be what the seat serves next.
func (q *Queue[K, T]) pushed(s *seat[K, T], level, n int, wasEmpty, mayBeFront bool) {
	t := s.tenant
	t.mask |= 1 << level
	t.queued += int32(n)
	q.queued += n
	if q.cfg.Order == firq.AdaptiveLIFO {
		q.watermark(t)
	}
	switch {
	case !wasEmpty:
	case s.where != nowhere:
		q.nEmpty--
	case t.blocked:
		q.lists[s.level].forgive(s, 0) // from now on rounds bring it credit
		q.park(s)
	default:
		q.join(s, q.cfg.NewFirst)
	}
	if t.blocked {
		return
	}
	q.ready += n
	if on := &q.lists[s.level]; mayBeFront && on.wait > 0 {
		q.lookAgain(on) // it may be the front now, and cheaper
	}
}

// Verdict is the outcome of Next.
type Verdict uint8

const (
	Empty     Verdict = iota // nothing deliverable is held
	Delivered                // here is a task
	Again                    // the call has done its share of work; call again
	Ahead                    // the next delivery is in a round after the limit
)

// stepBudget is how many visits and drops one call of Next makes at most.
const stepBudget = 256

// Next takes out the task that is served next. Tasks that expired before now
// are dropped on the way and reported to the host.
func (q *Queue[K, T]) Next(now int64) (t *Tenant[K, T], task Task[T], v Verdict) {
	var h Head
	if t, v = q.NextWithin(now, math.MaxUint64, &task.Payload, &h); v == Delivered {
		task.is(h)
	}
	return t, task, v
}

// NextOfAll is NextWithin in all cases.
func (q *Queue[K, T]) NextOfAll(now int64, limit uint64, payload *T, out *Head) (*Tenant[K, T], Verdict) {
	if q.Waiting() && q.ready > 0 {
		q.pass(&q.lists[0], limit)
	}
	for steps := 0; steps < stepBudget; steps++ {
		s := q.next(now)
		if s == nil {
			return nil, Empty
		}
		h, e := q.front(s, now)
		if h.none() {
			q.emptied(s)
			continue
		}
		if h.due < max(now, h.enqueued) { // it may have come after now was read
			q.expire(e)
			continue
		}
		l := &q.lists[s.level]
		if s.where == active && !s.inTurn && (l.wait > 0 || beyond(l.round, limit)) {
			return nil, Ahead
		}
		switch {
		case s.tenant.blocked:
			q.halt(l, s)
			continue
		case s.where == freed:
			if !q.canGo(l, s, h.cost) {
				continue
			}
		case !s.inTurn:
			if s.where == active {
				l.reached = l.round // even if it cannot pay: see Reached
				l.audit.turn(addSaturated(s.deficit, s.tenant.quantum))
			}
			s.inTurn = true
			s.deficit = addSaturated(s.deficit, s.tenant.quantum)
		}
		if s.deficit < h.cost {
			q.turnOver(l, s, now, limit)
			continue
		}
		if q.dropper != nil && q.late(s, h, e, now) {
			q.drop(s, e)
			continue
		}
		cost := h.cost
		s.deficit -= cost
		if s.split != 0 {
			q.delivers(s, cost, e)
		}
		switch s.where {
		case active:
			l.audit.spent += uint64(cost)
			fallthrough
		case fresh:
			l.reached, l.used = l.round, true
		}
		*out = q.take(s, e, payload)
		if q.observer != nil {
			q.observer.Delivered(s.tenant)
		}
		return s.tenant, Delivered
	}
	return nil, Again
}

// next returns the seat to visit. If no tenant can be served, that is one that has to be seen
// off: tenants that are all blocked have no turns.
func (q *Queue[K, T]) next(now int64) *seat[K, T] {
	if q.ready == 0 {
		return q.lingerer()
	}
	return q.head(now)
}

// Place is where a queued task is; Ticket.Place holds one. It is valid until the
// task leaves the Queue.
type Place any

// Remove takes out the task at a place that Push gave to its ticket.
func (q *Queue[K, T]) Remove(p Place) (t *Tenant[K, T], task Task[T]) {
	e := p.(*entry[K, T])
	t = e.tenant
	task.is(q.takeEntry(e, &task.Payload))
	q.purge()
	return t, task
}

// Owes reports whether the tenant is in debt, at any level, as far as is known: what
// rounds have paid off is known once Forgive has looked.
func (q *Queue[K, T]) Owes(t *Tenant[K, T]) (owes bool) {
	q.eachSeat(t, func(s *seat[K, T]) { owes = owes || s.deficit < 0 })
	return owes
}

// Forgive takes off the debt of a tenant without tasks what rounds have paid off.
func (q *Queue[K, T]) Forgive(t *Tenant[K, T]) {
	q.eachSeat(t, func(s *seat[K, T]) {
		if s.where == nowhere && s.deficit < 0 && q.empty(s) {
			q.lists[s.level].forgive(s, 0)
		}
	})
}

package drr

import (
	"math"
	"math/bits"

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
	Target, Interval    int64 // CoDel: see firq.Config.TargetWait; Target 0: off. With FIFO only
}

// Host is the surroundings of a Queue. Its methods are called from within the
// Queue's and must not call the Queue, except that Fill may Push, and CatchUp
// before.
type Host[K comparable, T any] interface {
	// Fill is called before the Queue looks at a tenant's tasks, so that tasks
	// which wait elsewhere can be pushed first; see Lazy.
	Fill(t *Tenant[K, T])
	// Expired is told about each task that is dropped because now is after Due.
	Expired(t *Tenant[K, T], task *Task[T])
}

// Queue is the scheduler. Make it with New; not safe for concurrent use.
type Queue[K comparable, T any] struct {
	cfg     Config
	host    Host[K, T]
	peers   Peers // nil: none
	lazy    bool
	plain   bool               // first in, first out, and one flow per tenant
	jumps   bool               // who comes in may go first
	lists   [levels]list[K, T] // only lists[0] is used unless Across
	queued  int                // tasks held
	ready   int                // tasks of tenants that are not blocked
	hollow  int                // flows that are in a list without a task
	blocked flows[K, T]        // Tenant.flow of blocked tenants that have tasks
	pool    pool[K, T]
	dues    dues[K, T]
	dropper Dropper[K, T] // nil: no CoDel
	lenient bool          // see Control
	gone    Task[T]       // what the host is being told about; here, so that it need not be allocated
}

// list is one round robin: the active list, the newly active that go first, and
// the count of rounds.
type list[K comparable, T any] struct {
	fresh, active flows[K, T]
	round         uint64 // modulo 1<<63; see Apart
	skipped       uint64 // rounds that were not counted, as nobody else shared time
	reached       uint64 // the last round that NextWithin has served in, or passed empty turns up to
	served        bool   // somebody was served in this round
	left          int    // active flows that this round has still to visit
	barren        int    // visits since somebody could pay
	wait          uint64 // nobody can pay in the next so many rounds: there is nothing to visit until then
	audit         audit
	news          bool // something may have come to the front of a flow; see skip
}

// tag is the round in which the next delivery can be, as far as is known.
func (l *list[K, T]) tag() uint64 { return (l.round + l.wait) & lastRound }

// New returns an empty Queue.
func New[K comparable, T any](cfg Config, host Host[K, T]) *Queue[K, T] {
	q := &Queue[K, T]{
		cfg:   cfg,
		host:  host,
		plain: cfg.Order == firq.FIFO && !cfg.Across,
		jumps: cfg.NewFirst || cfg.Across,
	}
	if cfg.Target > 0 {
		q.dropper = host.(Dropper[K, T])
	}
	return q
}

// Lazy says whether Fill may be left out for tenants that have a task, and whose
// Ripe is not set: nothing that waits elsewhere is to be served before that task.
func (q *Queue[K, T]) Lazy(yes bool) { q.lazy = yes }

// Len returns the number of tasks held.
func (q *Queue[K, T]) Len() int { return q.queued }

// Ready returns the number of tasks held for tenants that are not blocked.
func (q *Queue[K, T]) Ready() int { return q.ready }

// Lingering reports whether Next would find nothing, but has tenants to see off
// that were served their last task: whether their turn goes on is decided when
// the next task is asked for.
func (q *Queue[K, T]) Lingering() bool { return q.ready == 0 && q.hollow > 0 }

// Push queues a task, which it copies. A tenant that gets its first task joins the
// list. A tenant can have up to firq.MaxTasks.
func (q *Queue[K, T]) Push(t *Tenant[K, T], task *Task[T]) {
	e := q.pool.get()
	e.Task, e.tenant = *task, t
	level := int(task.Priority) - 1
	f := q.flowOf(t, level)
	wasEmpty := q.empty(f)
	l := t.list(level)
	l.push(e)
	t.mask |= 1 << level
	t.queued++
	q.queued++
	if q.cfg.Order == firq.AdaptiveLIFO {
		q.water(t)
	}
	if task.Due != NoDeadline {
		q.dues.insert(e)
	}
	if task.Ticket != nil {
		task.Ticket.SetPlace(e)
	}
	switch {
	case t.blocked:
		if t.queued == 1 {
			q.blocked.push(&t.flow)
		}
		return
	case f.place == nowhere:
		q.join(f, q.cfg.NewFirst)
	case wasEmpty:
		q.hollow--
	}
	q.ready++
	if q.cfg.Order != firq.FIFO || l.head == e {
		on := &q.lists[f.level]
		on.news = true // it may be the front now, and cheaper
		if on.wait > 0 {
			q.lookAgain(on)
		}
	}
}

// Verdict is what Next says.
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
	t, v = q.NextWithin(now, math.MaxUint64, &task)
	return t, task, v
}

// NextWithin is Next that begins no turn in a round after limit (except of the
// newly active, with NewFirst); math.MaxUint64 is no limit. Not for Across. The
// task goes where into says.
func (q *Queue[K, T]) NextWithin(now int64, limit uint64, into *Task[T]) (*Tenant[K, T], Verdict) {
	if q.Waiting() {
		q.pass(&q.lists[0], limit)
	}
	for steps := 0; steps < stepBudget; steps++ {
		f := q.head(now)
		if f == nil {
			return nil, Empty
		}
		q.fill(f.tenant)
		if q.jumps && q.head(now) != f {
			continue // what came in goes first
		}
		e := q.front(f, now)
		if e == nil {
			q.emptied(f)
			continue
		}
		if e.Due < max(now, e.Enqueued) { // it may have come after now was read
			q.expire(e)
			continue
		}
		l := &q.lists[f.level]
		if !f.inTurn {
			if f.place == active && (l.wait > 0 || beyond(l.round, limit)) {
				return nil, Ahead
			}
			f.inTurn = true
			if f.place == active {
				l.audit.turn(f.deficit, f.tenant.quantum)
			}
			f.deficit = addSaturated(f.deficit, f.tenant.quantum)
		}
		if f.deficit < e.Cost {
			q.turnOver(f, now, limit)
			continue
		}
		if q.dropper != nil && q.late(e, now) {
			q.drop(e)
			continue
		}
		f.deficit -= e.Cost
		l.reached, l.served = l.round, true
		if f.place == active {
			l.audit.spent += uint64(e.Cost)
		}
		q.take(e, into)
		return f.tenant, Delivered
	}
	return nil, Again
}

// fill lets the host push what waits elsewhere, if that can matter.
func (q *Queue[K, T]) fill(t *Tenant[K, T]) {
	if !q.lazy || t.queued == 0 || t.Ripe {
		q.host.Fill(t)
	}
}

// head returns the flow whose turn it is, nil if the lists are empty.
func (q *Queue[K, T]) head(now int64) *flow[K, T] {
	if !q.cfg.Across {
		return q.lists[0].head()
	}
	return q.headOfAll(now)
}

// headOfAll is head with Across.
func (q *Queue[K, T]) headOfAll(now int64) *flow[K, T] {
	var best *flow[K, T]
	var bestTask *entry[K, T]
	for l := levels - 1; l >= 0; l-- {
		f := q.lists[l].head()
		if f == nil {
			continue
		}
		e := q.front(f, now)
		if e == nil || q.cfg.Aging == 0 && best == nil {
			return f // nobody below can be before it
		}
		if best == nil || q.outranks(e, bestTask, now) {
			best, bestTask = f, e
		}
	}
	return best
}

func (l *list[K, T]) head() *flow[K, T] {
	if l.fresh.head != nil {
		return l.fresh.head
	}
	return l.active.head
}

// take moves a queued task to where into says, out of everything that knows it, and
// ends its ticket.
func (q *Queue[K, T]) take(e *entry[K, T], into *Task[T]) {
	t, level := e.tenant, int(e.Priority)-1
	l := t.list(level)
	f := q.flowOf(t, level)
	on := &q.lists[f.level]
	on.barren = 0
	if on.wait > 0 {
		q.lookAgain(on) // what is behind it may be cheaper
	}
	l.remove(e)
	if l.head == nil {
		t.mask &^= 1 << level
	}
	t.queued--
	q.queued--
	if !t.blocked {
		q.ready--
	} else if t.queued == 0 {
		q.blocked.remove(&t.flow)
	}
	if q.cfg.Order == firq.AdaptiveLIFO {
		q.water(t)
	}
	if e.Due != NoDeadline {
		q.dues.remove(e)
	}
	if f.place != nowhere && q.empty(f) {
		q.hollow++
	}
	*into = e.Task
	q.pool.put(e)
	if into.Ticket != nil {
		into.Ticket.Release()
	}
}

func (q *Queue[K, T]) expire(e *entry[K, T]) {
	t := e.tenant
	q.take(e, &q.gone)
	q.host.Expired(t, &q.gone)
	q.gone = Task[T]{} // keep no payload alive
}

// Place is where a queued task is; Ticket.Place holds one. It is valid until the
// task leaves the Queue.
type Place any

// Remove takes out the task at a place that Push gave to its ticket.
func (q *Queue[K, T]) Remove(p Place) (t *Tenant[K, T], task Task[T]) {
	e := p.(*entry[K, T])
	t = e.tenant
	q.take(e, &task)
	q.purge()
	return t, task
}

// Owes reports whether the tenant is in debt, at any level, as far as is known: what
// rounds have paid off is known once Forgive has looked.
func (q *Queue[K, T]) Owes(t *Tenant[K, T]) (owes bool) {
	q.eachFlow(t, func(f *flow[K, T]) { owes = owes || f.deficit < 0 })
	return owes
}

// Forgive takes off the tenant's debt what rounds have paid off.
func (q *Queue[K, T]) Forgive(t *Tenant[K, T]) {
	q.eachFlow(t, func(f *flow[K, T]) {
		if f.place == nowhere && f.deficit < 0 {
			q.lists[f.level].forgive(f, 0)
		}
	})
}

// Evict takes out the tenant's oldest or newest task among those of a priority
// at most p, lowest priority first.
func (q *Queue[K, T]) Evict(t *Tenant[K, T], p firq.Priority, newest bool) (task Task[T], ok bool) {
	m := t.mask & (1<<p - 1)
	if m == 0 {
		return task, false
	}
	l := t.list(bits.TrailingZeros8(m))
	e := l.head
	if newest {
		e = l.tail
	}
	q.take(e, &task)
	return task, true
}

// moveBudget is how many tasks one call of Reclaim moves in the index of deadlines.
const moveBudget = 256

// Reclaim drops up to most tasks that expired before now, wherever they are, and
// reports whether there may be more: also when it has dropped none, and has only gone
// on with the search. As long as it does, NextDue is before now.
func (q *Queue[K, T]) Reclaim(now int64, most int) (more bool) {
	defer q.purge()
	budget := moveBudget
	for range most {
		e, more := q.dues.expired(now, &budget)
		if e == nil {
			return more
		}
		q.expire(e)
	}
	return true
}

// NextDue returns a time before which no held task expires: math.MinInt64 if one
// may have expired already, NoDeadline if none can.
func (q *Queue[K, T]) NextDue() int64 { return q.dues.bound() }

// Drain takes out one task, in no particular order, blocked tenants' included.
func (q *Queue[K, T]) Drain() (t *Tenant[K, T], task Task[T], ok bool) {
	for i := range q.lists {
		for f := q.lists[i].head(); f != nil; f = q.lists[i].head() {
			if e := q.front(f, 0); e != nil {
				q.take(e, &task)
				return f.tenant, task, true
			}
			q.leave(f)
		}
	}
	if f := q.blocked.head; f != nil {
		t = f.tenant
		q.take(t.list(bits.TrailingZeros8(t.mask)).head, &task)
	}
	return t, task, t != nil
}

package drr

import (
	"math"
	"math/bits"

	"github.com/firq-go/firq"
)

const (
	levels = int(firq.PriorityCritical) // priority p is level p-1
	usual  = int(firq.PriorityNormal) - 1
)

const never = math.MaxUint64

// place says in which list of the queue a flow is.
type place uint8

const (
	nowhere place = iota // idle: nothing queued, or its tenant is blocked
	fresh                // newly active (NewFirst)
	active
)

// flow is what takes turns: a tenant, or with Config.Across a tenant at one
// level.
type flow[K comparable, T any] struct {
	tenant     *Tenant[K, T]
	next, prev *flow[K, T]
	deficit    int64
	// due is the round that has to visit it, while it is active. While it is in no list
	// it is the count of rounds (clock) when it left, or up to which its debt was paid
	// off; never, if it has not been in a list.
	due    uint64
	level  int8 // the list of the queue that it takes turns in
	place  place
	inTurn bool // got its quantum, and the turn is not over
	barred bool // was in a list when its tenant was blocked
}

// flows is a doubly linked list of flows. The zero value is empty.
type flows[K comparable, T any] struct {
	head, tail *flow[K, T]
	n          int
}

func (l *flows[K, T]) push(f *flow[K, T]) {
	f.prev, f.next = l.tail, nil
	if l.tail == nil {
		l.head = f
	} else {
		l.tail.next = f
	}
	l.tail = f
	l.n++
}

func (l *flows[K, T]) remove(f *flow[K, T]) {
	if f.prev == nil {
		l.head = f.next
	} else {
		f.prev.next = f.next
	}
	if f.next == nil {
		l.tail = f.prev
	} else {
		f.next.prev = f.prev
	}
	f.next, f.prev = nil, nil
	l.n--
}

// Tenant is one tenant's part of a Queue. Make it with Init; it belongs to one
// Queue and must not be copied.
//
// What each visit needs comes first.
type Tenant[K comparable, T any] struct {
	flow    flow[K, T] // with Across see more; of who is blocked and has tasks, in Queue.blocked
	quantum int64
	tasks   entries[K, T] // of PriorityNormal; the others in more
	queued  int32         // at most firq.MaxTasks, of all shards
	mask    uint8         // levels that have tasks
	lifo    bool          // AdaptiveLIFO is serving newest first
	blocked bool          // at its in-flight limit
	Ripe    bool          // Fill is wanted although there is a task; see Queue.Lazy
	Key     K

	// Owner is for who embeds the Tenant; the Queue does not look at it.
	Owner any
	more  *more[K, T] // allocated when first needed
}

// more is what few tenants need.
type more[K comparable, T any] struct {
	tasks   [levels]entries[K, T] // of the levels other than PriorityNormal
	flows   *[levels]flow[K, T]   // with Across
	control *[levels]codel        // with Config.Target
}

// rest returns what few tenants need.
func (t *Tenant[K, T]) rest() *more[K, T] {
	if t.more == nil {
		t.more = new(more[K, T])
	}
	return t.more
}

// Init makes t a tenant with the given key and quantum (below 1 counts as 1).
func (t *Tenant[K, T]) Init(key K, quantum int64) {
	t.Key = key
	t.flow.tenant, t.flow.due = t, never
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

// Active reports whether the tenant is in a list, or blocked.
func (t *Tenant[K, T]) Active() bool {
	if t.blocked || t.flow.place != nowhere {
		return true
	}
	if t.more != nil && t.more.flows != nil {
		for i := range t.more.flows {
			if t.more.flows[i].place != nowhere {
				return true
			}
		}
	}
	return false
}

// maxDebt bounds what Charge can pile up in either direction.
const maxDebt = 1 << 61

// Charge moves the deficit that tasks of priority p are paid from by -delta.
// An idle tenant can get into debt this way, but gathers no credit. While it is in
// no list, being idle or blocked, its debt shrinks by its quantum per round.
func (q *Queue[K, T]) Charge(t *Tenant[K, T], p firq.Priority, delta int64) {
	f := q.flowOf(t, int(p)-1)
	if f.place == nowhere {
		q.lists[f.level].forgive(f, 0)
	}
	delta = min(max(delta, -maxDebt), maxDebt)
	if delta > 0 {
		f.deficit = max(f.deficit-delta, -maxDebt)
	} else {
		if on := &q.lists[f.level]; on.wait > 0 {
			q.lookAgain(on) // it may be able to pay now
		}
		if f.deficit < maxDebt { // a skip may have saved up more than that
			f.deficit = min(f.deficit-delta, maxDebt)
		}
	}
	if on := &q.lists[f.level]; delta < 0 && f.inTurn && f == on.active.head {
		on.audit.refund(-delta)
	}
	if f.place == nowhere && !t.blocked {
		f.deficit = min(f.deficit, 0)
	}
}

// flowOf returns the flow that tasks of a level are served through.
func (q *Queue[K, T]) flowOf(t *Tenant[K, T], level int) *flow[K, T] {
	if !q.cfg.Across {
		return &t.flow
	}
	m := t.rest()
	if m.flows == nil {
		m.flows = new([levels]flow[K, T])
		for i := range m.flows {
			m.flows[i].tenant, m.flows[i].level, m.flows[i].due = t, int8(i), never
		}
	}
	return &m.flows[level]
}

// empty reports whether the flow has no task.
func (q *Queue[K, T]) empty(f *flow[K, T]) bool {
	if q.cfg.Across {
		return f.tenant.mask&(1<<f.level) == 0
	}
	return f.tenant.mask == 0
}

// front returns the task that the flow would deliver next, nil if it has none.
func (q *Queue[K, T]) front(f *flow[K, T], now int64) *entry[K, T] {
	if q.plain && f.tenant.mask == 1<<usual {
		return f.tenant.tasks.head
	}
	return q.best(f, now)
}

// best is front in all cases.
func (q *Queue[K, T]) best(f *flow[K, T], now int64) *entry[K, T] {
	t := f.tenant
	if q.cfg.Across {
		return q.end(t, int(f.level))
	}
	if t.mask == 0 {
		return nil
	}
	top := bits.Len8(t.mask) - 1
	best := q.end(t, top)
	if q.cfg.Aging == 0 || t.mask&(t.mask-1) == 0 {
		return best
	}
	for m := t.mask &^ (1 << top); m != 0; {
		l := bits.Len8(m) - 1
		m &^= 1 << l
		if e := q.end(t, l); q.outranks(e, best, now) {
			best = e
		}
	}
	return best
}

// list returns the list of a level.
func (t *Tenant[K, T]) list(level int) *entries[K, T] {
	if level == usual {
		return &t.tasks
	}
	return &t.rest().tasks[level]
}

// end returns the end of a level's list that the order takes from.
func (q *Queue[K, T]) end(t *Tenant[K, T], level int) *entry[K, T] {
	if q.cfg.Order == firq.FIFO || q.cfg.Order == firq.AdaptiveLIFO && !t.lifo {
		return t.list(level).head
	}
	return t.list(level).tail
}

// outranks compares two tasks by aged priority; the one that waited longer wins
// a tie.
func (q *Queue[K, T]) outranks(a, b *entry[K, T], now int64) bool {
	x, y := q.aged(a, now), q.aged(b, now)
	return x > y || x == y && a.Enqueued < b.Enqueued
}

func (q *Queue[K, T]) aged(e *entry[K, T], now int64) int64 {
	return int64(e.Priority) + max(now-e.Enqueued, 0)/q.cfg.Aging
}

// water moves AdaptiveLIFO between its two orders.
func (q *Queue[K, T]) water(t *Tenant[K, T]) {
	if int(t.queued) > q.cfg.HighWater {
		t.lifo = true
	} else if int(t.queued) < q.cfg.LowWater {
		t.lifo = false
	}
}

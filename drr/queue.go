package drr

import (
	"fmt"
	"math"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/key"
)

// Config configures a Queue. With the zero value tasks of one tenant and priority are served first
// in, first out, a tenant's higher priorities go first, and each tenant spends cost 1 per turn.
type Config struct {
	// Quantum is what a tenant may spend per turn, unless SetQuantum says otherwise; 0 means 1.
	Quantum int64
	// Order is firq.FIFO or firq.LIFO.
	Order firq.Order
	// PriorityAging, PriorityScope, NewTenantsFirst and MaxFlows are those of firq.Config, but
	// MaxFlows 0 means that flows do not matter.
	PriorityAging   time.Duration
	PriorityScope   firq.PriorityScope
	NewTenantsFirst bool
	MaxFlows        int
}

// A Queue holds the tasks of many tenants and chooses which is next. Use New to make one. It is not
// safe for concurrent use.
type Queue[K comparable, T any] struct {
	queue   *drr.Queue[K, T]
	keys    key.Check[K]
	tenants map[K]*tenant[K, T]
	sweepAt int       // number of tenants at which sweep runs
	quantum int64     // of tenants for which SetQuantum was not called
	base    time.Time // the queue's nanoseconds count from here
	based   bool      // base is set
	expired func(firq.Item[K, T])
	owner   firq.TicketOwner
	now     int64 // of the call of Next under way
}

// tenant is what the map holds, and the Settler of the tenant's items.
type tenant[K comparable, T any] struct {
	drr.Tenant[K, T]
	of    *Queue[K, T]
	fixed bool // SetQuantum was called
}

// leastSweep is the least number of tenants at which sweep runs.
const leastSweep = 64

// New returns an empty Queue. It panics if cfg is invalid.
func New[K comparable, T any](cfg Config) *Queue[K, T] {
	switch {
	case cfg.Quantum < 0, cfg.PriorityAging < 0, cfg.MaxFlows < 0 || cfg.MaxFlows > firq.MaxTasks:
		panic(fmt.Sprintf("drr: New: Quantum, PriorityAging or MaxFlows is out of range: %+v", cfg))
	case cfg.PriorityScope > firq.PriorityAcrossTenants:
		panic(fmt.Sprintf("drr: New: PriorityScope is %d", cfg.PriorityScope))
	case cfg.Order != firq.FIFO && cfg.Order != firq.LIFO:
		panic(fmt.Sprintf("drr: New: Order is %v, must be FIFO or LIFO", cfg.Order))
	}
	q := &Queue[K, T]{
		keys: key.New[K](), tenants: map[K]*tenant[K, T]{}, sweepAt: leastSweep, quantum: max(cfg.Quantum, 1),
	}
	q.queue = drr.New(drr.Config{
		Order: cfg.Order, Aging: int64(cfg.PriorityAging), Across: cfg.PriorityScope == firq.PriorityAcrossTenants,
		NewFirst: cfg.NewTenantsFirst, MaxFlows: cfg.MaxFlows,
	}, drr.Host[K, T](host[K, T]{q}))
	q.owner.Canceler = host[K, T]{q}
	return q
}

// OnExpired sets the function that Next calls for each expired task that it drops. f must not call
// the Queue.
func (q *Queue[K, T]) OnExpired(f func(firq.Item[K, T])) { q.expired = f }

// Push queues a task. Next checks the task's deadline. Canceling its ticket removes the task; the
// caller holds its lock then, if it has one. Push returns the error of Task.Validate, or an error
// if the key is not equal to itself (as NaN is not), if the tenant has firq.MaxTasks tasks, or if the
// ticket is in use.
func (q *Queue[K, T]) Push(now time.Time, tenant K, task firq.Task[T]) error {
	if err := q.keys.Tenant(tenant); err != nil {
		return err
	}
	if err := task.Validate(); err != nil {
		return err
	}
	t := q.tenant(tenant)
	if t.Len() == firq.MaxTasks {
		return firq.ErrTenantFull
	}
	if task.Ticket != nil && !task.Ticket.Acquire(&q.owner) {
		return fmt.Errorf("%w: Ticket is in use", firq.ErrInvalidTask)
	}
	queued := drr.Task[T]{
		Payload: task.Payload, Cost: max(task.Cost, 1), Enqueued: q.nanos(now), Due: drr.NoDeadline,
		Priority: task.Priority, Flow: task.Flow, Ticket: task.Ticket,
	}
	if queued.Priority == 0 {
		queued.Priority = firq.PriorityNormal
	}
	if !task.Deadline.IsZero() {
		queued.Due = q.nanos(task.Deadline)
	}
	q.queue.Push(&t.Tenant, &queued)
	return nil
}

// Next removes and returns the next task of a tenant that is not blocked; ok is false if there is
// none. It drops the tasks that it meets and that expired before now. The item's Charge corrects
// the cost for as long as the Queue remembers the tenant: while it has tasks, a debt, a quantum
// from SetQuantum, or is blocked. Done does nothing: see Block.
func (q *Queue[K, T]) Next(now time.Time) (item firq.Item[K, T], ok bool) {
	q.now = q.nanos(now)
	for {
		t, task, v := q.queue.Next(q.now)
		switch v {
		case drr.Delivered:
			return q.item(t, &task), true
		case drr.Empty:
			return item, false
		}
	}
}

// Len returns the number of tasks held, those that have expired unnoticed and those of blocked tenants included.
func (q *Queue[K, T]) Len() int { return q.queue.Len() }

// TenantLen returns the number of tasks held for a tenant.
func (q *Queue[K, T]) TenantLen(tenant K) int {
	if t := q.tenants[tenant]; t != nil {
		return t.Len()
	}
	return 0
}

// Tenants returns the number of tenants that the Queue remembers.
func (q *Queue[K, T]) Tenants() int { return len(q.tenants) }

// SetQuantum sets what a tenant may spend per turn, from its next turn on: its weight. 0 means
// Config.Quantum again. The Queue does not forget a tenant until its quantum is reset to 0.
func (q *Queue[K, T]) SetQuantum(tenant K, quantum int64) {
	if q.keys.Tenant(tenant) != nil {
		return // it could not be found again
	}
	t := q.tenant(tenant)
	if t.fixed = quantum > 0; !t.fixed {
		quantum = q.quantum
	}
	q.queue.SetQuantum(&t.Tenant, quantum)
}

// Block blocks or unblocks a tenant, for example to limit its tasks in flight. A blocked tenant
// keeps at most two turns that it could not use.
func (q *Queue[K, T]) Block(tenant K, blocked bool) {
	if q.keys.Tenant(tenant) != nil {
		return // such a key never has tasks
	}
	switch t := q.tenant(tenant); {
	case blocked == t.Blocked():
	case blocked:
		q.queue.Block(&t.Tenant)
	default:
		q.queue.Unblock(&t.Tenant)
	}
}

// nanos returns the time as the queue counts it.
func (q *Queue[K, T]) nanos(at time.Time) int64 {
	if !q.based {
		q.base, q.based = at, true
	}
	return min(int64(at.Sub(q.base)), math.MaxInt64-1) // math.MaxInt64 is NoDeadline
}

// tenant returns the tenant with a key, which it makes if needed.
func (q *Queue[K, T]) tenant(key K) *tenant[K, T] {
	t := q.tenants[key]
	if t == nil {
		if len(q.tenants) >= q.sweepAt {
			q.sweep()
		}
		t = &tenant[K, T]{of: q}
		t.Init(key, q.quantum)
		q.tenants[key] = t
	}
	return t
}

// sweep deletes the tenants whose state is that of a new one. It runs again when the map has
// doubled, so the amortized cost per new tenant is constant.
func (q *Queue[K, T]) sweep() {
	for key, t := range q.tenants {
		if t.Len() == 0 && !t.fixed && !t.Blocked() && !q.queue.Owes(&t.Tenant) {
			delete(q.tenants, key)
		}
	}
	q.sweepAt = max(2*len(q.tenants), leastSweep)
}

// item converts a queued task to a firq.Item.
func (q *Queue[K, T]) item(t *drr.Tenant[K, T], task *drr.Task[T]) firq.Item[K, T] {
	item := firq.Item[K, T]{
		Tenant: t.Key, Payload: task.Payload, Cost: task.Cost, Priority: task.Priority,
		Wait: time.Duration(max(q.now-task.Enqueued, 0)), Flow: task.Flow,
	}
	if task.Due != drr.NoDeadline {
		item.Deadline = q.base.Add(time.Duration(task.Due))
	}
	if x := q.tenants[t.Key]; x != nil {
		item.Bind(x, uint64(task.Priority))
	}
	return item
}

// SettleDone does nothing: the Queue has no in-flight limit; callers use Block.
func (t *tenant[K, T]) SettleDone(uint64) {}

// SettleCharge charges the tenant at the priority that the token holds.
func (t *tenant[K, T]) SettleCharge(token uint64, delta int64) { t.SettleFlow(token, 0, delta) }

// SettleFlow is SettleCharge for a task of a flow.
func (t *tenant[K, T]) SettleFlow(token, flow uint64, delta int64) {
	if t.of.tenants[t.Key] == t { // not forgotten
		t.of.queue.ChargeFlow(&t.Tenant, firq.Priority(token), flow, delta)
	}
}

// host makes a Queue the drr.Host of the queue inside and the Canceler of its tickets.
type host[K comparable, T any] struct{ *Queue[K, T] }

func (h host[K, T]) Expired(t *drr.Tenant[K, T], task *drr.Task[T]) {
	if h.expired != nil {
		h.expired(h.item(t, task))
	}
}

// CancelTicket implements the Canceler of a TicketOwner.
func (h host[K, T]) CancelTicket(tk *firq.Ticket) bool {
	place := tk.Place(&h.owner)
	if place == nil {
		return false
	}
	h.queue.Remove(place)
	return true
}

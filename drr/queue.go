package drr

import (
	"fmt"
	"math"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/key"
)

// Config of a Queue. The zero value is first in, first out within each tenant and priority,
// strict priorities within a tenant, and one task of cost 1 per turn.
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

// Queue is the scheduler. Make it with New; not safe for concurrent use.
type Queue[K comparable, T any] struct {
	queue   *drr.Queue[K, T]
	keys    key.Check[K]
	tenants map[K]*tenant[K, T]
	sweepAt int       // tenants, at which those that nothing has to be remembered of are forgotten
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

// leastSweep is how many tenants are never swept.
const leastSweep = 64

// New returns an empty Queue. It panics if cfg makes no sense.
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

// OnExpired makes f the function that is called for each task whose deadline has passed, from
// within Next. f must not call the Queue.
func (q *Queue[K, T]) OnExpired(f func(firq.Item[K, T])) { q.expired = f }

// Push queues a task. Its deadline is looked at by Next, and its ticket cancels it (under the
// caller's lock, if there is one). The error is that of Task.Validate, or says that
// the tenant is not equal to itself, that it has firq.MaxTasks, or that the ticket is in use.
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

// Next takes out the task that is served next, if there is one whose tenant is not blocked. On the way it drops
// tasks that expired before now. The item's Charge corrects its cost, for as long as its
// tenant is remembered: while it has tasks, a debt, or a quantum from SetQuantum. Done does nothing: see Block.
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
// Config.Quantum again. The Queue remembers a tenant that has its own quantum until then.
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

// Block keeps a tenant from being served, or lets it be served again: a limit of tasks in flight,
// for example. In between it loses no turns, up to two.
func (q *Queue[K, T]) Block(tenant K, blocked bool) {
	if q.keys.Tenant(tenant) != nil {
		return // it has no tasks
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
	return min(int64(at.Sub(q.base)), math.MaxInt64-1) // the last one is NoDeadline
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

// sweep forgets the tenants that a new one would be like. It is done again when there are twice as many as are left,
// so it costs each new tenant a constant.
func (q *Queue[K, T]) sweep() {
	for key, t := range q.tenants {
		if t.Len() == 0 && !t.fixed && !t.Blocked() && !q.queue.Owes(&t.Tenant) {
			delete(q.tenants, key)
		}
	}
	q.sweepAt = max(2*len(q.tenants), leastSweep)
}

// item returns what a task is to the caller.
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

// SettleDone does nothing: there is no limit in flight but Block.
func (t *tenant[K, T]) SettleDone(uint64) {}

// SettleCharge charges the tenant for a task of the priority that the token is.
func (t *tenant[K, T]) SettleCharge(token uint64, delta int64) { t.SettleFlow(token, 0, delta) }

// SettleFlow is SettleCharge for a task of a flow.
func (t *tenant[K, T]) SettleFlow(token, flow uint64, delta int64) {
	if t.of.tenants[t.Key] == t { // not forgotten
		t.of.queue.ChargeFlow(&t.Tenant, firq.Priority(token), flow, delta)
	}
}

// host is a Queue as the queue inside and its tickets see it.
type host[K comparable, T any] struct{ *Queue[K, T] }

func (h host[K, T]) Fill(*drr.Tenant[K, T]) {}

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

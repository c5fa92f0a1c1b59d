package firq

import (
	"fmt"
	"math"
	"time"
)

// Priority of a task, 1 (very low) to 6 (critical). The zero value counts as
// PriorityNormal. Whether priorities matter within a tenant only or across all
// tenants is Config.PriorityScope.
type Priority uint8

// The six priorities, lowest first.
const (
	PriorityVeryLow Priority = 1 + iota
	PriorityLow
	PriorityNormal
	PriorityHigh
	PriorityVeryHigh
	PriorityCritical
)

var priorityNames = [...]string{"default", "very-low", "low", "normal", "high", "very-high", "critical"}

// String returns the priority's name, for example "very-low".
func (p Priority) String() string {
	if int(p) < len(priorityNames) {
		return priorityNames[p]
	}
	return fmt.Sprintf("Priority(%d)", uint8(p))
}

// Task is what a producer hands in. Only Payload is needed; every other field's
// zero value means the default.
type Task[T any] struct {
	Payload T
	// Cost in work units, charged to the tenant's deficit. 0 means 1; negative
	// is ErrInvalidTask.
	Cost int64
	// Priority, 0 means PriorityNormal; above PriorityCritical is ErrInvalidTask.
	Priority Priority
	// Deadline after which the task is never delivered; zero: none, or
	// Config.MaxQueueAge from its admission. If the Deadline has passed when the task
	// is enqueued, or passes while its producer waits for room, the task is accepted
	// once there is room, and expires. A Deadline more than 292 years ahead counts as
	// none.
	Deadline time.Time
	// Ticket to cancel the task with; nil: it cannot be cancelled.
	Ticket *Ticket
	// Flow is a number, for example a hash, for the user, route or job within the
	// tenant that the task belongs to. The flows of a tenant share what the tenant
	// gets: see Config.MaxFlows. 0: none in particular, which is a flow too.
	Flow uint64
}

// Validate returns an error that matches ErrInvalidTask and names the field, or
// nil. Every scheduler calls it before it admits a task.
func (t *Task[T]) Validate() error {
	if t.Cost < 0 || t.Priority > PriorityCritical {
		return t.invalid()
	}
	return nil
}

func (t *Task[T]) invalid() error {
	if t.Cost < 0 {
		return fmt.Errorf("%w: Cost is %d, must not be negative", ErrInvalidTask, t.Cost)
	}
	return fmt.Errorf("%w: Priority is %d, must be 0 (normal) to %d", ErrInvalidTask, t.Priority, PriorityCritical)
}

// Item is what a consumer gets: a task together with its tenant and the time
// that it waited. An Item is a plain value; copies stand for the same delivery.
type Item[K comparable, T any] struct {
	Tenant   K             // whose task it is
	Payload  T             // as enqueued
	Cost     int64         // as charged, at least 1 unless Charge says otherwise later
	Priority Priority      // as enqueued, 0 replaced by PriorityNormal
	Deadline time.Time     // as enqueued, or from Config.MaxQueueAge; zero: none
	Wait     time.Duration // from admission to dequeue
	Flow     uint64        // as enqueued

	settler Settler
	token   uint64
}

// Done says that the work is finished. It is needed only for tenants with an in-flight
// limit (Config.MaxInFlightPerTenant, MaxInFlightFor), where it makes room for the
// tenant's next task; without one, it does nothing. A second call, on the item or on a
// copy, does nothing. Safe for concurrent use on copies, like Charge.
func (it *Item[K, T]) Done() {
	if s := it.settler; s != nil {
		s.SettleDone(it.token)
	}
}

// Charge says that the actual cost was Cost + delta: the tenant's deficit moves by
// -delta and may become negative, so that over time each tenant gets its share of
// actual cost. A debt outlives an idle spell of the tenant (until the tenant is
// forgotten, Config.TenantIdle); a credit does not. While the tenant is forgotten,
// Charge does nothing. The item's flow is charged likewise, among the flows of its
// tenant; at most Config.MaxFlows flows' debts are remembered.
func (it *Item[K, T]) Charge(delta int64) {
	s := it.settler
	if s == nil || delta == 0 {
		return
	}
	if delta == math.MinInt64 {
		delta++ // so that -delta exists
	}
	if f, ok := s.(FlowSettler); ok {
		f.SettleFlow(it.token, it.Flow, delta)
	} else {
		s.SettleCharge(it.token, delta)
	}
}

// Settler is the part of a scheduler that it puts into the items that it delivers, so that Item.Done
// and Item.Charge find their way back. Only implementations of Scheduler need it. Any
// goroutine may call the methods.
type Settler interface {
	// SettleDone ends the delivery that token names. Each token counts once.
	SettleDone(token uint64)
	// SettleCharge moves the deficit that the delivery was paid from by -delta.
	SettleCharge(token uint64, delta int64)
}

// FlowSettler is a Settler whose deliveries are paid from the deficit of their flow,
// too.
type FlowSettler interface {
	Settler
	// SettleFlow is called instead of SettleCharge. flow is the Flow of the item.
	SettleFlow(token, flow uint64, delta int64)
}

// Bind makes s the receiver of the item's Done and Charge. Only implementations of
// Scheduler need it.
func (it *Item[K, T]) Bind(s Settler, token uint64) { it.settler, it.token = s, token }

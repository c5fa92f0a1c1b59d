package firq

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"time"
)

// Defaults and limits of Config.
const (
	DefaultMaxGlobal  = 65_536
	DefaultTenantIdle = time.Minute
	DefaultTopTenants = 16
	DefaultLowWater   = 40
	DefaultHighWater  = 80
	DefaultMaxFlows   = 64
	DefaultInterval   = 100 * time.Millisecond

	MaxShards = 1 << 10   // upper limit of Config.Shards
	MaxTasks  = 1<<30 - 1 // upper limit of Config.MaxGlobal and MaxPerTenant
)

// Config says how a scheduler behaves. The zero value is a working scheduler:
// plain fairness, 65,536 tasks, reject when full.
//
// QuantumFor, MaxPerTenantFor, MaxInFlightFor, BackpressureFor and OnDrop may call the
// scheduler. If one of them panics, the caller of the method that called it gets the
// panic; no lock, place, ticket or waiting call is left behind, and the counters add
// up. The same holds for runtime.Goexit, which ends the goroutine of that caller.
type Config[K comparable, T any] struct {
	// Shards is the number of independently served parts, at most MaxShards;
	// rounded up to a power of two. 0: chosen from GOMAXPROCS. With 1 the order
	// of service is exactly deficit round robin.
	Shards int
	// MaxGlobal is how many tasks may be queued, at most MaxTasks, until
	// SetMaxGlobal says otherwise. Strict: Len never exceeds it, at any instant,
	// under any interleaving. 0: 65,536.
	MaxGlobal int
	// MaxPerTenant is how many tasks one tenant may have queued. Strict too. 0, or more
	// than the current MaxGlobal: the current MaxGlobal.
	MaxPerTenant int
	// MaxPerTenantFor gives each tenant its own MaxPerTenant; SetLimit overrides
	// it. It is called whenever QuantumFor is, and its answer holds for as long;
	// SetLimit(tenant, 0) calls it, too. 0: MaxPerTenant; below 0 counts as 1. nil:
	// MaxPerTenant.
	MaxPerTenantFor func(K) int
	// MaxTenants is how many tenants may be known at a time. At this limit a new tenant
	// takes the place of a tenant that is not in use, which means that it has nothing
	// queued, nothing in flight (with an in-flight limit) and no debt (Item.Charge). Of
	// the unused tenants on a shard, the one that has been idle for longest goes first,
	// whatever TenantIdle says. A new tenant gets ErrTooManyTenants only while
	// MaxTenants tenants are in use. (It takes up to an eighth of TenantIdle to notice
	// that rounds have paid off a debt.) 0: no limit.
	MaxTenants int
	// MaxInFlightPerTenant is how many items of one tenant may be delivered and
	// not yet Done. With 1 a tenant's tasks run strictly one after another, in
	// order. It does not change the shares that quanta and costs say: a tenant at its
	// limit keeps its turns, up to two quanta of them, and goes on first upon Done.
	// If it could have more than its limit lets it have, the others share the rest. 0:
	// no limit, and Done need not be called.
	MaxInFlightPerTenant int
	// MaxInFlightFor gives each tenant its own MaxInFlightPerTenant. It is called
	// whenever QuantumFor is, and its answer holds for as long. When a limit rises, the
	// tenant is served again immediately; when it falls, the tenant is served again once
	// enough items are Done. Items that were delivered while the tenant had no limit do
	// not count. 0: MaxInFlightPerTenant; below 0 counts as 1. nil:
	// MaxInFlightPerTenant.
	MaxInFlightFor func(K) int
	// DynamicThreshold is alpha: a tenant is admitted only while it holds less than
	// alpha x the free global capacity (Choudhury and Hahne 1998; of the current
	// MaxGlobal), so that there is always room for quiet tenants. Typical: 0.5 to 4. 0:
	// off.
	DynamicThreshold float64
	// Quantum is the cost that a tenant may spend per round. For O(1) work per
	// task choose it about as large as the largest common cost. 0: 1.
	Quantum int64
	// QuantumFor gives each tenant a weight. A tenant becomes active when it gets a
	// task and had none. The last answer before that holds until the tenant becomes
	// active again. The scheduler may call QuantumFor at any Enqueue of the tenant,
	// even one that it refuses, and ResetQuantum calls it, too; it is never called with
	// a lock held. Below 1 counts as 1. nil: Quantum.
	//
	// If QuantumFor, MaxPerTenantFor or MaxInFlightFor panics in Enqueue or
	// EnqueueWait, the task was not admitted; earlier tasks of the same batch may have
	// been. If it panics in ResetQuantum, the override is gone nevertheless.
	QuantumFor func(K) int64
	// Backpressure says what happens at a limit. Zero: Reject.
	Backpressure Backpressure
	// BackpressureFor overrides Backpressure per tenant. It is called when a limit is
	// reached, never with a lock held. If it panics, the task was not admitted; earlier
	// tasks of the same batch were. nil: Backpressure.
	BackpressureFor func(K) Backpressure
	// MaxQueueAge gives tasks without a Deadline one. It counts from the admission
	// of the task: the time for which a producer waits for room (EnqueueWait, the
	// policy Wait) is neither age nor queue time. 0: none.
	MaxQueueAge time.Duration
	// TargetWait turns on CoDel (RFC 8289), for each tenant and priority separately: it
	// is how long tasks should normally wait at most. If all tasks of a tenant have
	// waited for longer throughout an Interval, the next one is dropped when its turn
	// comes (DropOverload), at no cost to the tenant, and further ones are dropped at a
	// growing pace until the wait is below TargetWait again. Bursts that are over
	// within an Interval lose nothing. The last task of a tenant is never dropped, and
	// no task is dropped after Shutdown. It needs Order FIFO. It suits moderate
	// overload, up to about 1.5 times what can be served, or clients that slow down;
	// otherwise see AdaptiveLIFO, and docs/design/order.md for figures. 0: off.
	TargetWait time.Duration
	// Interval is how long waits may stay above TargetWait; choose it somewhat longer
	// than a common burst. A shorter Interval drops faster: if clients do not slow
	// down, take a few times TargetWait. Without TargetWait it has no effect. 0: 100
	// ms.
	Interval time.Duration
	// Order within one tenant and priority. Zero: FIFO.
	Order Order
	// LowWater and HighWater are AdaptiveLIFO's hysteresis on the tenant's number of
	// queued tasks: it switches to LIFO above HighWater, and back below LowWater. 0: 40
	// and 80.
	LowWater, HighWater int
	// PriorityScope says whether priorities matter within a tenant (zero) or strictly
	// across all tenants. The latter needs one order for all, so Shards then counts as
	// 1.
	PriorityScope PriorityScope
	// PriorityAging raises a task by one level each time that it has waited for this
	// long, so that low priorities do not starve. 0: strict.
	PriorityAging time.Duration
	// MaxFlows is how many flows (Task.Flow) of one tenant may have queues of their
	// own, at each priority, at most MaxTasks. These flows share what the tenant gets
	// by deficit round robin, with the tenant's quantum for each, and each is served in
	// Order; what other tenants get does not depend on them. Priorities come first:
	// flows share only among tasks of the same priority.
	//
	// Any further flow joins the queue of one of them, chosen by a seeded hash, until
	// none of its tasks is left there. A flow with its own queue keeps it as long
	// as it has tasks. Flows that share a queue share its turns. 0: 64. 1: flows do not
	// matter.
	MaxFlows int
	// NewTenantsFirst serves a tenant that becomes active one quantum ahead of
	// the backlogged ones (DRR++, RFC 8290).
	NewTenantsFirst bool
	// FairnessSlack is how many rounds backlogged shards may be apart. 0: 1.
	FairnessSlack int
	// TopTenants bounds Stats.TopTenants. 0: 16; below 0: off.
	TopTenants int
	// TenantIdle is how long the scheduler remembers a tenant that has nothing queued
	// and, with an in-flight limit, nothing in flight. (Without an in-flight limit, a
	// delivery does not keep its tenant: a later Item.Charge takes effect if the tenant
	// is back by then, and is lost otherwise.) Calls that take the lock of any shard
	// anyway (deliveries, Done, Cancel, Stats; Enqueue if it takes one) do the
	// forgetting: each looks at 32 tenants, and Stats at all. A sweep begins every half
	// TenantIdle. So with some traffic a tenant is forgotten before twice TenantIdle
	// has passed; without any call it stays until the next one. 0: 1 minute.
	TenantIdle time.Duration
	// OnDrop is called for each accepted task that is not delivered, without any lock
	// held, by the goroutine whose call drops the task. It may call the scheduler. nil:
	// no call.
	//
	// If it panics, OnDrop is first called for the remaining tasks that the same call
	// has dropped, in their own goroutines; panics of those calls are lost. Then the
	// first panic goes to the caller: by then Ticket.Cancel has cancelled the task,
	// Close has closed the scheduler, and Enqueue may or may not have admitted its
	// task. A call that has items to return returns them instead, and the next call of
	// TryDequeue, Dequeue or DequeueBatch, from any goroutine, panics and takes
	// nothing. runtime.Goexit ends the goroutine after those calls; items that it had
	// to return are lost with it, and count as Done.
	OnDrop func(tenant K, payload T, why DropReason)
}

// Backpressure is a policy and, with the policy Wait, how long to wait.
type Backpressure struct {
	Policy Policy
	// Wait must be positive with the policy Wait; the others ignore it.
	Wait time.Duration
}

// Policy says what Enqueue does at a limit.
type Policy uint8

const (
	// Reject returns the error of the limit.
	Reject Policy = iota
	// DropOldest evicts the tenant's oldest task of a priority at most the new one's,
	// lowest priority first, and admits the new one; with nothing to evict it rejects.
	// Where several flows of the tenant are queued at that priority (Config.MaxFlows),
	// it evicts the oldest task of the flow with the most tasks, so that a flow which
	// floods the tenant loses its own tasks.
	DropOldest
	// DropNewest is DropOldest with the newest such task.
	DropNewest
	// Wait waits for capacity, at most Backpressure.Wait; then ErrTimeout.
	Wait
)

// Order of one tenant's tasks of the same priority.
type Order uint8

const (
	// FIFO: oldest first.
	FIFO Order = iota
	// LIFO: newest first.
	LIFO
	// AdaptiveLIFO: oldest first, but newest first while the tenant is overloaded
	// ("Fail at Scale", ACM Queue 2015).
	AdaptiveLIFO
)

// PriorityScope says which tasks a priority is compared with.
type PriorityScope uint8

const (
	// PriorityWithinTenant: a tenant's share is fixed by its quantum; inside it the
	// highest priority goes first. No tenant gains by marking everything critical.
	PriorityWithinTenant PriorityScope = iota
	// PriorityAcrossTenants: one round robin per level, highest level first.
	PriorityAcrossTenants
)

// DropReason says why an accepted task was not delivered.
type DropReason uint8

const (
	// DropExpired: its deadline had passed.
	DropExpired DropReason = 1 + iota
	// DropEvicted: DropOldest or DropNewest made room for another one.
	DropEvicted
	// DropCancelled: its Ticket was cancelled.
	DropCancelled
	// DropClosed: it was queued when Close came.
	DropClosed
	// DropOverload: its tenant's tasks had waited for too long (Config.TargetWait).
	DropOverload
)

// String returns the reason in one word, for logs and labels.
func (r DropReason) String() string {
	switch r {
	case DropExpired:
		return "expired"
	case DropEvicted:
		return "evicted"
	case DropCancelled:
		return "cancelled"
	case DropClosed:
		return "closed"
	case DropOverload:
		return "overload"
	}
	return fmt.Sprintf("DropReason(%d)", uint8(r))
}

// Validate returns an error that matches ErrInvalidConfig and names the field,
// or nil.
func (b Backpressure) Validate() error {
	switch {
	case b.Policy > Wait:
		return fmt.Errorf("%w: Backpressure.Policy: unknown policy %d", ErrInvalidConfig, b.Policy)
	case b.Wait < 0:
		return fmt.Errorf("%w: Backpressure.Wait: %v, must not be negative", ErrInvalidConfig, b.Wait)
	case b.Policy == Wait && b.Wait == 0:
		return fmt.Errorf("%w: Backpressure.Wait: must be positive with the policy Wait", ErrInvalidConfig)
	}
	return nil
}

// Resolve returns the config with every default filled in, or an error that
// matches ErrInvalidConfig and names each field that makes no sense, one in a line. Every
// scheduler calls it.
func (c Config[K, T]) Resolve() (Config[K, T], error) {
	if err := c.check(); err != nil {
		return c, err
	}
	if c.Shards == 0 {
		c.Shards = min(runtime.GOMAXPROCS(0), MaxShards)
	}
	if c.PriorityScope == PriorityAcrossTenants {
		c.Shards = 1
	}
	c.Shards = 1 << bits.Len(uint(c.Shards-1))
	setDefault(&c.MaxGlobal, DefaultMaxGlobal)
	setDefault(&c.MaxPerTenant, c.MaxGlobal)
	c.MaxPerTenant = min(c.MaxPerTenant, c.MaxGlobal)
	setDefault(&c.Quantum, 1)
	setDefault(&c.LowWater, DefaultLowWater)
	setDefault(&c.HighWater, DefaultHighWater)
	setDefault(&c.MaxFlows, DefaultMaxFlows)
	setDefault(&c.FairnessSlack, 1)
	setDefault(&c.TopTenants, DefaultTopTenants)
	setDefault(&c.TenantIdle, DefaultTenantIdle)
	setDefault(&c.Interval, DefaultInterval)
	return c, nil
}

func setDefault[N int | int64 | time.Duration](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}

// check returns an error for each field that makes no sense, joined.
func (c *Config[K, T]) check() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalidConfig}, args...)...))
	}
	for _, f := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"Shards", int64(c.Shards), MaxShards},
		{"MaxGlobal", int64(c.MaxGlobal), MaxTasks},
		{"MaxPerTenant", int64(c.MaxPerTenant), MaxTasks},
		{"MaxTenants", int64(c.MaxTenants), math.MaxInt64},
		{"MaxInFlightPerTenant", int64(c.MaxInFlightPerTenant), MaxTasks},
		{"Quantum", c.Quantum, math.MaxInt64},
		{"MaxQueueAge", int64(c.MaxQueueAge), math.MaxInt64},
		{"TargetWait", int64(c.TargetWait), math.MaxInt64},
		{"Interval", int64(c.Interval), math.MaxInt64},
		{"LowWater", int64(c.LowWater), math.MaxInt64},
		{"HighWater", int64(c.HighWater), math.MaxInt64},
		{"PriorityAging", int64(c.PriorityAging), math.MaxInt64},
		{"MaxFlows", int64(c.MaxFlows), MaxTasks},
		{"FairnessSlack", int64(c.FairnessSlack), math.MaxInt32},
		{"TopTenants", max(int64(c.TopTenants), 0), 1 << 20},
		{"TenantIdle", int64(c.TenantIdle), math.MaxInt64},
	} {
		if f.value < 0 {
			wrong("%s: %d, must not be negative", f.name, f.value)
		} else if f.value > f.most {
			wrong("%s: %d, must be at most %d", f.name, f.value, f.most)
		}
	}
	if a := c.DynamicThreshold; math.IsNaN(a) || math.IsInf(a, 0) || a < 0 {
		wrong("DynamicThreshold: %v, must be a finite number, not negative", a)
	}
	if low, high := cmp.Or(c.LowWater, DefaultLowWater), cmp.Or(c.HighWater, DefaultHighWater); low > high && high > 0 {
		wrong("LowWater: %d is above HighWater %d (defaults %d and %d)", low, high, DefaultLowWater, DefaultHighWater)
	}
	if c.Order > AdaptiveLIFO {
		wrong("Order: unknown order %d", c.Order)
	}
	if c.TargetWait > 0 && c.Order != FIFO {
		wrong("TargetWait: needs the Order FIFO: with another one the tasks whose turn comes do not tell how long the rest has waited")
	}
	if c.PriorityScope > PriorityAcrossTenants {
		wrong("PriorityScope: unknown scope %d", c.PriorityScope)
	}
	return errors.Join(append(errs, c.Backpressure.Validate())...)
}

package firq

import (
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
// QuantumFor, MaxPerTenantFor, MaxInFlightFor, BackpressureFor and OnDrop may call
// the scheduler. A panic of theirs goes to the caller of the method that called them;
// it leaves no lock, place, ticket or waiting call behind, and the counters add up. So
// does runtime.Goexit, which ends the goroutine of that caller.
type Config[K comparable, T any] struct {
	// Shards is the number of independently served parts, at most MaxShards;
	// rounded up to a power of two. 0: chosen from GOMAXPROCS. With 1 the order
	// of service is exactly deficit round robin.
	Shards int
	// MaxGlobal is how many tasks may be queued, at most MaxTasks, until
	// SetMaxGlobal says otherwise. Strict: Len never exceeds it, at any instant,
	// under any interleaving. 0: 65,536.
	MaxGlobal int
	// MaxPerTenant is how many tasks one tenant may have queued. Strict too.
	// 0, or more than the present MaxGlobal: that.
	MaxPerTenant int
	// MaxPerTenantFor gives each tenant a MaxPerTenant of its own; SetLimit
	// overrides it. It is asked when QuantumFor is, and its answer holds for as long;
	// also, SetLimit(tenant, 0) asks it. 0: MaxPerTenant; below 0 counts as 1. nil:
	// MaxPerTenant.
	MaxPerTenantFor func(K) int
	// MaxTenants is how many tenants may be known at a time. A new one then takes
	// the place of one that is not in use: that has nothing queued, nothing in flight
	// (with an in-flight limit) and no debt (Item.Charge); of those on its shard,
	// the one that has been idle for longest, whatever TenantIdle says. Only while
	// MaxTenants tenants are in use a new one gets ErrTooManyTenants. (That rounds
	// have paid a debt off is noticed within an eighth of TenantIdle.) 0: no limit.
	MaxTenants int
	// MaxInFlightPerTenant is how many items of one tenant may be delivered and
	// not yet Done. With 1 a tenant's tasks run strictly one after another, in
	// order. 0: no limit, and Done need not be called.
	MaxInFlightPerTenant int
	// MaxInFlightFor gives each tenant a MaxInFlightPerTenant of its own. It is asked
	// when QuantumFor is, and its answer holds for as long. If a limit rises, the
	// tenant goes on being served at once; if it falls, once enough items are Done.
	// Items that were delivered while the tenant had no limit do not count. 0:
	// MaxInFlightPerTenant; below 0 counts as 1. nil: MaxInFlightPerTenant.
	MaxInFlightFor func(K) int
	// DynamicThreshold is alpha: a tenant is admitted only while it holds less
	// than alpha x the free global capacity (Choudhury and Hahne 1998; of the present
	// MaxGlobal), so that there is always room for the quiet ones. Typical: 0.5 to 4.
	// 0: off.
	DynamicThreshold float64
	// Quantum is the cost that a tenant may spend per round. For O(1) work per
	// task choose it about as large as the largest common cost. 0: 1.
	Quantum int64
	// QuantumFor gives each tenant a weight. What it said last when the tenant became
	// active (got a task, having had none) holds until it becomes active again. It is
	// asked before that, and may be asked at any Enqueue of the tenant, also one that
	// is refused, and by ResetQuantum; never with a lock held. Below 1 counts as 1.
	// nil: Quantum.
	//
	// Where Enqueue or EnqueueWait panics with what QuantumFor panics with (or
	// MaxPerTenantFor, or MaxInFlightFor), the task was not admitted; of a batch, what went before may have been. ResetQuantum has
	// forgotten the override by then.
	QuantumFor func(K) int64
	// Backpressure says what happens at a limit. Zero: Reject.
	Backpressure Backpressure
	// BackpressureFor overrides Backpressure per tenant; it is asked at a limit,
	// never with a lock held. If it panics, the task was not admitted; of a batch,
	// what went before was. nil: Backpressure.
	BackpressureFor func(K) Backpressure
	// MaxQueueAge gives tasks without a Deadline one. It counts from the admission
	// of the task: the time for which a producer waits for room (EnqueueWait, the
	// policy Wait) is neither age nor queue time. 0: none.
	MaxQueueAge time.Duration
	// TargetWait turns on CoDel (RFC 8289), for each tenant and priority by itself: how
	// long tasks may wait as a rule. If those of a tenant have waited for longer all
	// through an Interval, the next one is dropped when its turn comes (DropOverload), at
	// no cost to the tenant, and further ones at growing pace until the wait is below
	// TargetWait again; bursts that are over within an Interval lose nothing. The last task
	// of a tenant is not dropped, and none is after Shutdown. Only with Order FIFO. It is
	// for moderate overload, up to about 1.5 times of what can be served, or clients that
	// slow down; else see AdaptiveLIFO, and docs/design/order.md for figures. 0: off.
	TargetWait time.Duration
	// Interval is for how long waits may be above TargetWait: somewhat longer than what
	// a common burst takes. The shorter, the faster it drops: against clients that do not
	// slow down a few times TargetWait. It matters with TargetWait only. 0: 100 ms.
	Interval time.Duration
	// Order within one tenant and priority. Zero: FIFO.
	Order Order
	// LowWater and HighWater are AdaptiveLIFO's hysteresis on the tenant's
	// number of queued tasks: LIFO from above HighWater until below LowWater.
	// 0: 40 and 80.
	LowWater, HighWater int
	// PriorityScope says whether priorities matter within a tenant (zero) or
	// strictly across everybody. The latter is one order for all, so Shards
	// then counts as 1.
	PriorityScope PriorityScope
	// PriorityAging lets a task count one level higher for each such time that
	// it has waited, so that low priorities do not starve. 0: strict.
	PriorityAging time.Duration
	// MaxFlows is how many flows (Task.Flow) one tenant may have queued apart, at each
	// priority, at most MaxTasks. They share what the tenant gets by deficit round robin,
	// with the tenant's quantum for each, and each is served in Order; what other tenants
	// get does not depend on them. Priorities come first: flows share among tasks of
	// the same one.
	//
	// A further flow shares the line of one of them, chosen by a seeded hash, until no
	// task of its own is left in it; one that is queued apart stays apart as long as it
	// has tasks. A flow that shares a line shares its turns. 0: 64. 1: flows do not matter.
	MaxFlows int
	// NewTenantsFirst serves a tenant that becomes active one quantum ahead of
	// the backlogged ones (DRR++, RFC 8290).
	NewTenantsFirst bool
	// FairnessSlack is by how many rounds backlogged shards may run apart. 0: 1.
	FairnessSlack int
	// TopTenants bounds Stats.TopTenants. 0: 16; below 0: off.
	TopTenants int
	// TenantIdle is how long a tenant is remembered that has nothing queued and, with
	// an in-flight limit, nothing in flight. (Without it a delivery does not keep
	// its tenant: a later Item.Charge reaches it if it is back by then, else it is
	// lost.) It is forgotten by calls that take the lock of any shard anyway
	// (deliveries, Done, Cancel, Stats; Enqueue if it takes one), 32 tenants by each,
	// all by Stats; a round begins every half TenantIdle. So with some traffic it is
	// forgotten before twice TenantIdle is over, and without any call not before the
	// next one. 0: 1 minute.
	TenantIdle time.Duration
	// OnDrop is told about each accepted task that is not delivered. It is
	// called without any lock held, by the goroutine whose call found out, and
	// may call the scheduler. nil: nobody is told.
	//
	// If it panics, the rest of what the call had to tell is told first, in
	// goroutines of their own, and what those calls panic with is lost. Then the
	// first panic goes to the caller: Ticket.Cancel has cancelled the task, Close has
	// closed the scheduler, Enqueue may have admitted its task or not. But a call that
	// has items to return returns them: the next call of TryDequeue, Dequeue or
	// DequeueBatch, whoever makes it, panics instead and takes nothing.
	// runtime.Goexit ends the goroutine after the rest was told; items that its call
	// had to return go with it, and count as Done.
	OnDrop func(tenant K, payload T, why DropReason)
}

// Backpressure is a policy and, for the policy Wait, how long to wait.
type Backpressure struct {
	Policy Policy
	// Wait must be positive with the policy Wait; the others ignore it.
	Wait time.Duration
}

// Policy says what Enqueue does at a limit.
type Policy uint8

const (
	// Reject answers with the limit's error.
	Reject Policy = iota
	// DropOldest evicts the tenant's oldest task of a priority at most the new
	// one's, lowest priority first, and admits the new one; with nothing to
	// evict it rejects. Where several flows of the tenant are queued at that priority
	// (Config.MaxFlows), it is the oldest one of the flow with the most tasks, so that
	// who floods a tenant evicts its own.
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
	// AdaptiveLIFO: oldest first, newest first while the tenant is overloaded
	// ("Fail at Scale", ACM Queue 2015).
	AdaptiveLIFO
)

// PriorityScope says among whom priorities are compared.
type PriorityScope uint8

const (
	// PriorityWithinTenant: a tenant's share is fixed by its quantum; inside it
	// the highest priority goes first. Nobody gains by marking everything
	// critical.
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
// matches ErrInvalidConfig and names the field. Every scheduler calls it.
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
	if c.LowWater > c.HighWater {
		return c, fmt.Errorf("%w: LowWater: %d is above HighWater %d (defaults %d and %d)",
			ErrInvalidConfig, c.LowWater, c.HighWater, DefaultLowWater, DefaultHighWater)
	}
	return c, nil
}

func setDefault[N int | int64 | time.Duration](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}

func (c *Config[K, T]) check() error {
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
			return fmt.Errorf("%w: %s: %d, must not be negative", ErrInvalidConfig, f.name, f.value)
		}
		if f.value > f.most {
			return fmt.Errorf("%w: %s: %d, must be at most %d", ErrInvalidConfig, f.name, f.value, f.most)
		}
	}
	if a := c.DynamicThreshold; math.IsNaN(a) || math.IsInf(a, 0) || a < 0 {
		return fmt.Errorf("%w: DynamicThreshold: %v, must be a finite number, not negative", ErrInvalidConfig, a)
	}
	if c.Order > AdaptiveLIFO {
		return fmt.Errorf("%w: Order: unknown order %d", ErrInvalidConfig, c.Order)
	}
	if c.TargetWait > 0 && c.Order != FIFO {
		return fmt.Errorf("%w: TargetWait: needs the Order FIFO: with another one the tasks whose turn comes do not tell how long the rest has waited", ErrInvalidConfig)
	}
	if c.PriorityScope > PriorityAcrossTenants {
		return fmt.Errorf("%w: PriorityScope: unknown scope %d", ErrInvalidConfig, c.PriorityScope)
	}
	return c.Backpressure.Validate()
}

package gate

import (
	"errors"
	"fmt"
	"time"

	"github.com/firq-go/firq"
)

// MaxSlots is the most that a limit may be, and the most that Config.MaxGlobal
// may be.
const MaxSlots = fieldMax

// Config says how a gate behaves. The zero value is a working gate: plain fairness, up
// to 65,536 waiters, refuse when more come. The fields are those of firq.Config,
// because waiting calls of Acquire are the tasks of a scheduler. A field of the same
// name has the same meaning, unless its comment here says otherwise.
type Config[K comparable] struct {
	// Shards is the number of independently served parts of the queue. 0: 1, with which
	// the order is exactly deficit round robin. (firq.Config has another default. Here
	// the sleep is what a waiter costs, not the queue.)
	Shards int
	// MaxGlobal is how many calls may queue, at most MaxSlots. Strict. Beyond it
	// Acquire returns ErrGlobalFull. In addition one call may be next, waiting for
	// slots, and as many again may wait aside, being heavier than the limit. 0: 65,536.
	MaxGlobal int
	// MaxPerTenant is how many calls of one tenant may queue. Strict. Beyond it Acquire
	// returns ErrTenantFull. As many again may wait aside. 0, or more than MaxGlobal:
	// MaxGlobal.
	MaxPerTenant int
	// MaxPerTenantFor gives each tenant its own MaxPerTenant, for the calls that
	// queue (MaxPerTenant still limits those aside). It is called whenever QuantumFor
	// is, and may panic likewise. 0: MaxPerTenant; below 0 counts as 1. nil:
	// MaxPerTenant.
	MaxPerTenantFor func(K) int
	// MaxTenants is how many tenants may wait (or, with MaxInFlightPerTenant, hold
	// permits) at a time; at this limit, a call of another tenant that would have to
	// wait gets ErrTooManyTenants. A tenant that has left counts only as long as it
	// owes something (Permit.Charge), at most for TenantIdle. 0: no limit.
	MaxTenants int
	// MaxInFlightPerTenant is how many permits one tenant may hold, whatever each
	// weighs: it counts permits, not slots. A tenant at this limit waits, while free
	// slots go to others. Every permit then goes through the queue, which costs several
	// times as much. 0: no limit.
	MaxInFlightPerTenant int
	// MaxInFlightFor gives each tenant its own MaxInFlightPerTenant. It is called
	// whenever QuantumFor is, and may panic likewise. Every permit then goes through
	// the queue. Permits that a tenant got while it had no limit do not count. 0:
	// MaxInFlightPerTenant; below 0 counts as 1. nil: MaxInFlightPerTenant.
	MaxInFlightFor func(K) int
	// DynamicThreshold is alpha: a tenant's call may wait only while it has fewer
	// than alpha x the free places of the queue; beyond it Acquire returns
	// ErrTenantThreshold. Typical: 0.5 to 4. 0: off.
	DynamicThreshold float64
	// Quantum is the cost that a tenant is granted per round. 0: 1.
	Quantum int64
	// QuantumFor gives each tenant a quantum when the tenant begins to wait. It is
	// never called with a lock held. If it panics, so does the call of Acquire, which
	// leaves nothing behind; likewise for runtime.Goexit. nil: Quantum.
	QuantumFor func(K) int64
	// Policy says what Acquire does at a limit of the queue: firq.Reject (zero),
	// or firq.DropOldest or firq.DropNewest, by which another waiter of the tenant
	// gives way and gets ErrEvicted. firq.Wait is invalid: to let more calls wait,
	// let MaxGlobal be larger.
	Policy firq.Policy
	// PolicyFor overrides Policy per tenant. It is called when a limit is reached,
	// never with a lock held, and may panic as QuantumFor may. nil: Policy.
	PolicyFor func(K) firq.Policy
	// MaxQueueAge is how long a call without a Deadline may wait; then Acquire
	// returns ErrTimeout. 0: as long as its context.
	MaxQueueAge time.Duration
	// Order of one tenant's waiters of the same priority. Zero: firq.FIFO.
	Order firq.Order
	// LowWater and HighWater are firq.AdaptiveLIFO's. 0: 40 and 80.
	LowWater, HighWater int
	// PriorityScope says whether priorities matter within a tenant (zero) or strictly
	// across all tenants.
	PriorityScope firq.PriorityScope
	// PriorityAging raises a waiter by one level each time that it has waited for this
	// long. 0: strict.
	PriorityAging time.Duration
	// NewTenantsFirst serves a tenant that comes to wait one quantum ahead of the
	// backlogged ones (DRR++, RFC 8290).
	NewTenantsFirst bool
	// TargetWait turns on CoDel (RFC 8289): if all of a tenant's waiters have waited
	// for longer than this throughout an Interval, some of them get ErrOverload when
	// their turn comes, so that the others wait less; see firq.Config.TargetWait. It
	// needs Order FIFO. 0: off.
	TargetWait time.Duration
	// Interval is how long waits may stay above TargetWait. 0: 100 ms.
	Interval time.Duration
	// MaxFlows is how many flows (Request.Flow) of one tenant may have queues of their
	// own, at each priority; further flows share these by hash. 0: 64. 1: flows do not
	// matter.
	MaxFlows int
	// FairnessSlack is how many rounds backlogged shards may be apart. 0: 1.
	FairnessSlack int
	// TopTenants bounds Stats.Queue.TopTenants. 0: 16; below 0: off.
	TopTenants int
	// TenantIdle is how long a tenant that neither waits nor, with
	// MaxInFlightPerTenant, holds permits is remembered, with its debt. As long as
	// permits are released, it is not remembered for much longer than twice that. 0: 1
	// minute.
	TenantIdle time.Duration
}

// scheduler returns the config of the gate's scheduler, its defaults filled in.
func (c *Config[K]) scheduler(onDrop func(K, *holder[K], firq.DropReason)) (firq.Config[K, *holder[K]], error) {
	shards := c.Shards
	if shards == 0 {
		shards = 1
	}
	cfg := firq.Config[K, *holder[K]]{
		Shards:               shards,
		MaxGlobal:            c.MaxGlobal,
		MaxPerTenant:         c.MaxPerTenant,
		MaxPerTenantFor:      c.MaxPerTenantFor,
		MaxTenants:           c.MaxTenants,
		MaxInFlightPerTenant: c.MaxInFlightPerTenant,
		MaxInFlightFor:       c.MaxInFlightFor,
		DynamicThreshold:     c.DynamicThreshold,
		Quantum:              c.Quantum,
		QuantumFor:           c.QuantumFor,
		Backpressure:         firq.Backpressure{Policy: c.Policy},
		MaxQueueAge:          c.MaxQueueAge,
		Order:                c.Order,
		LowWater:             c.LowWater,
		HighWater:            c.HighWater,
		PriorityScope:        c.PriorityScope,
		PriorityAging:        c.PriorityAging,
		NewTenantsFirst:      c.NewTenantsFirst,
		TargetWait:           c.TargetWait,
		Interval:             c.Interval,
		MaxFlows:             c.MaxFlows,
		FairnessSlack:        c.FairnessSlack,
		TopTenants:           c.TopTenants,
		TenantIdle:           c.TenantIdle,
		OnDrop:               onDrop,
	}
	if ask := c.PolicyFor; ask != nil {
		cfg.BackpressureFor = func(k K) firq.Backpressure { return firq.Backpressure{Policy: ask(k)} }
	}
	var errs []error
	if c.Policy == firq.Wait {
		errs = append(errs, fmt.Errorf("%w: Policy: Wait, must be Reject, DropOldest or DropNewest", firq.ErrInvalidConfig))
		cfg.Backpressure.Policy = firq.Reject // it is named, without the Wait that it would need
	}
	if c.MaxGlobal > MaxSlots {
		errs = append(errs, fmt.Errorf("%w: MaxGlobal: %d, must be at most %d", firq.ErrInvalidConfig, c.MaxGlobal, MaxSlots))
		cfg.MaxGlobal = 0 // it is named, with a limit that is lower than the scheduler's
	}
	cfg, err := cfg.Resolve()
	return cfg, errors.Join(append(errs, err)...)
}

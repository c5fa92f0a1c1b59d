package firq

import "time"

// Stats is a snapshot. The counters only grow. At rest (no call in progress)
//
//	Enqueued = Dequeued + Expired + Cancelled + DroppedPolicy + Overload + Closed + QueueLen
//
// holds exactly; while calls are in progress the fields need not be from the
// same instant. The rejections count tasks, not calls: each task that EnqueueBatch
// leaves out because of a limit is one.
type Stats[K comparable] struct {
	Enqueued  uint64 // tasks accepted
	Dequeued  uint64 // tasks delivered to a consumer
	Expired   uint64 // tasks dropped because their deadline had passed
	Cancelled uint64 // tasks taken out through their Ticket
	Overload  uint64 // tasks dropped because their tenant's had waited for too long (Config.TargetWait)
	Closed    uint64 // tasks handed to OnDrop by Close

	Dropped         uint64 // RejectedGlobal + RejectedTenant + TimeoutRejected + DroppedPolicy
	RejectedGlobal  uint64 // answered with ErrGlobalFull
	RejectedTenant  uint64 // ErrTenantFull, ErrTenantThreshold, ErrTooManyTenants
	TimeoutRejected uint64 // ErrTimeout; not called RejectedTimeout, as the call was not refused but ended while it waited
	DroppedPolicy   uint64 // accepted, then evicted by DropOldest or DropNewest

	QueueLen        int     // tasks queued, places reserved by calls in progress included
	MaxGlobal       int     // the current limit: Config.MaxGlobal, or what SetMaxGlobal has set
	InFlight        int     // delivered and not yet Done; only of tenants with an in-flight limit
	Tenants         int     // tenants known: queued, in flight, or idle for less than TenantIdle; MaxTenants at most
	QueueSaturation float64 // QueueLen / MaxGlobal; above 1 after SetMaxGlobal has set it below what was queued

	QueueTime  QueueTime
	TopTenants []TenantCount[K] // by delivered tasks, most first; an approximate ranking
	Lag        Lag[K]           // the tenant that is furthest behind its fair share
}

// QueueTime says how long delivered tasks had waited, from admission to dequeue. The
// time for which their producers waited for room is not part of it.
type QueueTime struct {
	Sum                 time.Duration // of all samples, or the largest Duration if it is more
	P50, P95, P99, P999 time.Duration // quantiles, at most 0.1 % above the exact ones; 0 without samples
	Max                 time.Duration // the longest, exactly; 0 without samples
	Samples             uint64        // how many waits were recorded
	Buckets             []Bucket      // ascending; together they hold all samples
}

// Bucket counts the samples above the previous bucket's UpperBound and up to
// its own. It is not cumulative.
type Bucket struct {
	UpperBound time.Duration // the longest wait that counts here
	Count      uint64        // samples
}

// TenantCount is one row of Stats.TopTenants.
type TenantCount[K comparable] struct {
	Tenant   K
	Dequeued uint64  // its delivered tasks, since it became known
	Lag      float64 // as in Lag.Max, of this tenant
}

// Lag says how far behind its fair share a tenant is, in rounds: in each round every
// tenant that has something to deliver may spend its quantum. The cost of the tenant's
// front task, and what the tenant has saved, say in which round the task should be
// served. The lag is by how many rounds others have passed that round. A tenant without
// a task, or at its limit in flight, has no lag. In a scheduler that works, Max is at
// most Config.FairnessSlack (docs/fairness.md, "Lag", has the few exceptions), whatever
// tasks cost and however long the queues are. So a lag says nothing about load, and a
// larger Max means that a tenant is passed over.
type Lag[K comparable] struct {
	Max    float64
	Tenant K // the tenant with this lag; the zero value while Max is 0
}

// Package gate is a semaphore that many tenants share fairly: at most so many
// permits are out, and when one comes back, deficit round robin over the tenants
// says who is next. It feels like golang.org/x/sync/semaphore, with a tenant.
//
//	g := gate.New(64, gate.Config[string]{MaxPerTenant: 100})
//	...
//	p, err := g.Acquire(ctx, tenant, gate.Request{})
//	if err != nil {
//		return err
//	}
//	defer p.Release()
//
// # What is guaranteed
//
// Slots: a permit takes one, or as many as Request.Weight says, all at once. Never
// more than the limit are taken, at any instant; after SetLimit down, no permit is
// given out until enough have come back. A slot is not free while somebody waits
// who may have it. Nobody who comes overtakes those who wait, by being quick: as
// long as somebody waits, everybody queues. Whoever is next gets what comes free
// until its slots are there, so light calls do not starve a heavy one; a call that
// is heavier than the limit stands in nobody's way.
//
// Shares: while several tenants wait, each is granted cost in proportion to its
// quantum, as docs/fairness.md bounds it. Cost is what a permit counts for
// fairness, its weight unless the request says otherwise: say, the expected time or
// tokens. What it really was can be corrected with Permit.Charge. For O(1) work per
// permit the quantum should be about as large as the dearest common request.
//
// Giving up: a waiter whose context ends, or whose Deadline passes, leaves at once,
// and its place is free for somebody else.
//
// # How it works
//
// There is no goroutine. A permit that is free while nobody waits costs one
// compare-and-swap to take and one to give back, and touches no queue. Everybody
// else becomes a task of a firq.Scheduler (package lockfree), and sleeps; whoever
// releases a permit dequeues the next and wakes it. See Gate for the protocol. A
// timer runs while there are tenants to be forgotten.
//
// # Concurrency properties
//
//	Acquire    lock-free while slots are free and nobody waits; else as lockfree's
//	           Enqueue and, if a slot is free, as Release; then it sleeps. No allocations in the steady
//	           state, on either way
//	TryAcquire never sleeps
//	Release    lock-free while nobody waits; else it takes a lock, under which it
//	           is as lockfree's TryDequeue, once for each waiter that it wakes
//	           (usually one)
//	Charge     takes a lock for a moment
//	SetLimit   takes the lock, and lets in whoever may
//	Stats      takes the scheduler's leases in turn
//
// With Config.MaxInFlightPerTenant every permit goes through the queue, because
// that is where the permits of each tenant are counted.
//
// # Adaptive limits
//
// Adaptive moves the limit by the latency that it is told, between a minimum and
// a maximum. It is off unless you make one.
package gate

// Package gate is a semaphore that many tenants share fairly: it limits the number of
// permits in use, and when a permit comes back, deficit round robin over the tenants
// decides which call is next. Its API resembles golang.org/x/sync/semaphore, with a
// tenant.
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
// Slots: a permit takes one slot, or as many as Request.Weight says, all together. When
// a permit is given out, the slots taken never exceed the limit. After SetLimit has
// lowered the limit, no permit is given out until enough slots have come back. No slot
// stays free while a call that may have it waits. A new call does not overtake waiting
// calls: as long as any call waits, all calls queue. The next call collects slots as
// they come free until it has enough, so light calls do not starve a heavy one. A call
// heavier than the limit blocks no other call.
//
// Shares: while several tenants wait, each is granted cost in proportion to its
// quantum, as docs/fairness.md bounds it. Cost is what a permit counts for fairness:
// its weight, unless the request sets another, such as the expected time or tokens.
// Permit.Charge corrects it to the real cost. For O(1) work per permit the quantum
// should be about as large as the most expensive common request.
//
// Giving up: if the context of a waiter ends, or its Deadline passes, the waiter leaves
// immediately, and its place is free for another call.
//
// # How it works
//
// There is no goroutine. While no call waits, a free permit costs one compare-and-swap
// to take and one to give back, and touches no queue. Any other call becomes a task of
// a firq.Scheduler (package lockfree), and sleeps; the call that releases a permit
// dequeues the next task and wakes its call. The protocol is in pump.go. A timer runs
// while there are tenants to be forgotten.
//
// # Concurrency properties
//
//	Acquire    lock-free while slots are free and no call waits; else as lockfree's
//	           Enqueue and, if a slot is free, as Release; then it sleeps. In the
//	           steady state neither path allocates
//	TryAcquire never sleeps
//	Release    lock-free while no call waits; else it takes a lock, under which it
//	           is as lockfree's TryDequeue, once for each waiter that it wakes
//	           (usually one)
//	Charge     takes a lock for a moment
//	SetLimit   takes the lock, and admits the calls that the new limit allows
//	SetMax...  take the scheduler's locks in turn, once for each tenant that waits (or,
//	           with an in-flight limit, holds permits); SetMaxGlobal none
//	Stats      takes the scheduler's locks in turn
//
// With Config.MaxInFlightPerTenant every permit goes through the queue, because the
// queue counts the permits of each tenant.
//
// # Adaptive limits
//
// Adaptive moves the limit between a minimum and a maximum, by the latencies that the
// caller reports to it. A gate has a fixed limit unless you make an Adaptive for it.
package gate

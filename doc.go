// Package firq is the contract of an in-process multi-tenant scheduler.
//
// A service with many tenants (API keys, merchants, customers, routes) runs their work
// on one set of workers, so one noisy tenant spoils the tail latency of all others. A
// firq scheduler sits in between: each tenant has a queue, deficit round robin by cost
// decides which task is next, limits bound memory and push back explicitly, and
// deadlines drop tasks that no caller is waiting for any more.
//
// # Usage
//
// Build a core with lockfree.New (or baseline.New, the mutex one, to compare),
// enqueue from anywhere, dequeue from workers:
//
//	s, err := lockfree.New(firq.Config[string, Job]{MaxPerTenant: 100})
//	err = s.Enqueue("tenant-a", firq.Task[Job]{Payload: job})
//	for it := range firq.All(ctx, s) {
//		handle(it.Payload)
//	}
//
// # Concurrency properties
//
// This package starts no goroutine and holds no lock. Every method of a Scheduler is
// safe for concurrent use; the documentation of each core says which of them may block,
// and on what. An accepted task ends in exactly one of: delivered, expired, cancelled,
// evicted, dropped by CoDel, closed, still queued.
//
// # Implementing a Scheduler
//
// Settler, Item.Bind, TicketOwner and the methods of Ticket other than Cancel are for
// implementations. Package schedtest tests an implementation.
package firq

// Package drr implements a queue that serves many tenants in turn, each in proportion to its weight:
// deficit round robin with costs, priorities, orders, flows, deadlines and cancellation. It is for
// programs with their own event loop or lock, and for simulations:
//
//	q := drr.New[string, Job](drr.Config{})
//	err := q.Push(now, "acme", firq.Task[Job]{Payload: job, Cost: 3})
//	...
//	item, ok := q.Next(now)
//
// It is single-threaded: no goroutine, no clock, no lock. The caller provides the time, and the
// lock if several goroutines use a Queue. Programs whose producers and consumers are goroutines should
// use package lockfree, which adds waiting, limits and statistics to the same order of service.
package drr

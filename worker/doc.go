// Package worker runs handlers over a firq.Scheduler, or anything else that is a
// firq.Consumer: a fixed number of goroutines that each take one task, handle it,
// say Done, and take the next.
//
// # Usage
//
//	err := worker.Run(ctx, s, func(ctx context.Context, it *firq.Item[string, Job]) error {
//		return it.Payload.Do(ctx)
//	}, worker.Options[string, Job]{Name: "jobs", Concurrency: 16})
//
// Run blocks until ctx is done or the scheduler is closed. New and Pool.Run are
// the same in two steps, for who wants Pool.Stats meanwhile.
//
// # What a handler may rely on
//
//   - A worker takes a task only when it is free. Nothing is prefetched, so the
//     next free worker gets what the scheduler finds most urgent at that moment,
//     and no task passes its deadline in a worker's hands before its handler starts.
//   - What was taken is handled, whatever happens: also when ctx is done at the
//     same instant.
//   - Item.Done is called once the handler has really returned, not when its
//     time is over. So with MaxInFlightPerTenant 1 two tasks of a tenant never
//     overlap, even if a handler ignores its cancelled context. (A handler that
//     calls it.Done itself gives that up, from then on.)
//   - The context carries the values of Run's ctx, but it is not cancelled with
//     it: see Options.Grace. Its deadline is the earlier of the task's own
//     (unless Options.IgnoreDeadline) and of Options.Timeout (unless it only warns).
//     Context and item are the handler's until it returns, not longer: the
//     memory of the item is used again, and what the handler leaves running in the
//     background is not waited for.
//
// # Limits per tenant
//
// How many tasks of one tenant are handled at once is firq.Config's
// MaxInFlightPerTenant, not an option of the pool. Only the scheduler can pass
// over a tenant at its limit and serve somebody else; a pool that has taken a
// task could only sit on it, with a worker that others wait for. What the pool does is call
// Item.Done, without which that limit would fill up for good. Without that limit
// one tenant may have all workers at a time, if nobody else has work queued when
// they become free: fairness then decides who is next, not who may go on.
//
// # Time
//
// There are four limits, all off by default:
//
//	SlowAfter      calls OnSlow, nothing else
//	Timeout        calls OnTimeout, and by TimeoutMode:
//	                 Warn     nothing else; the context is never cancelled
//	                 Cancel   the handler's context is cancelled
//	                 Stop     that, and the pool stops: Run returns ErrTimeout
//	StuckAfter     after a handler's context was cancelled and it has not
//	               returned: calls OnStuck, counts it as stuck, and may start a
//	               worker in its place (MaxReplacements)
//	Grace          after Run's ctx is done: cancels the contexts of all handlers
//
// Go cannot end a goroutine from outside. A handler that ignores its context keeps its
// worker (and its tenant's place in flight) until it returns. The pool says so, and
// goes on with the workers that are left.
//
// One timer per worker watches over this. It is not set for each task: it rings at most
// once per limit, looks whether the task that runs now is over its time, and if not
// is set again for that one. (Resetting it for each task costs 96 ns, this 30.)
// A context with a deadline of its own costs 530 ns and 4 allocations, so a
// handler gets one only if the task has a deadline or the pool a Timeout that cancels.
//
// # Concurrency properties
//
// Pool is safe for concurrent use; Run may be called once. Hooks are called by the
// worker or by the timer's goroutine, never with a lock held, several at a time;
// they should be quick, must not panic (that ends the program, as in any
// goroutine) and must not wait for Run to return. One that ends its goroutine by
// runtime.Goexit, as testing's FailNow does, costs the pool nothing. Run waits for
// hooks, except those of handlers that it leaves behind.
//
// # Long loops
//
// YieldBudget and YieldEvery help handlers that compute for long; their comments say when.
package worker

// Package worker runs handlers over a firq.Scheduler, or anything else that is a
// firq.Consumer: a fixed number of goroutines that each take one task, handle it, call
// Done, and take the next.
//
// # Usage
//
//	err := worker.Run(ctx, s, func(ctx context.Context, it *firq.Item[string, Job]) error {
//		return it.Payload.Do(ctx)
//	}, worker.Options[string, Job]{Name: "jobs", Concurrency: 16})
//
// Run blocks until ctx is done or the scheduler is closed. New and Pool.Run do the same
// in two steps, for programs that read Pool.Stats while it runs.
//
// # Ending
//
// To handle the backlog first, call Shutdown of the scheduler: it admits nothing more,
// the pool handles what is queued, and Run returns nil (the example of Run). To end
// sooner, end Run's ctx: the pool takes no more tasks, handlers have Options.Grace, and
// the tasks that are still queued stay in the scheduler, whose Close hands them to
// Config.OnDrop. Queued tasks that have to outlive the process belong in the queue of
// contrib/firqredis.
//
// # What a handler may rely on
//
//   - A worker takes a task only when it is free. Nothing is prefetched, so the
//     next free worker gets what the scheduler finds most urgent at that moment,
//     and no task passes its deadline in a worker's hands before its handler starts.
//   - A task that was taken is handled in any case, even if ctx is done at the same
//     instant.
//   - The pool calls Item.Done once the handler has really returned, not when its time
//     is over. So with MaxInFlightPerTenant 1 two tasks of a tenant never overlap, even
//     if a handler ignores its cancelled context. (A handler that calls it.Done itself
//     gives this up from then on.)
//   - The context carries the values of Run's ctx, but it is not cancelled with it: see
//     Options.Grace. Its deadline is the task's own (unless Options.IgnoreDeadline) or
//     that of Options.Timeout (unless it only warns), whichever is earlier. Context and
//     item belong to the handler only until it returns: the pool reuses the memory of
//     the item, and does not wait for goroutines that the handler leaves behind.
//
// # Limits per tenant
//
// firq.Config.MaxInFlightPerTenant, not an option of the pool, limits how many tasks of
// one tenant run at the same time. Only the scheduler can pass over a tenant at its limit and
// serve another one; a pool that has taken a task could only hold on to it, and so
// occupy a worker that other tasks wait for. The pool calls Item.Done, so that tasks do
// not stay in flight for ever. Without the limit one tenant may occupy all workers, if
// no other tenant has work queued when they become free: fairness decides which task
// starts next, not which may keep running.
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
// worker (and its tenant's place in flight) until it returns. The pool reports this,
// and goes on with the remaining workers.
//
// One timer per worker watches these limits. It is not set anew for each task: it fires
// at most once per limit, checks whether the running task has exceeded its time, and if
// not, is set again for that task. (Resetting it for each task would cost 96 ns; this
// costs 30.) A context with its own deadline costs 530 ns and 4 allocations, so a
// handler gets one only if the task has a deadline or the pool has a Timeout that
// cancels.
//
// # Concurrency properties
//
// Pool is safe for concurrent use; Run may be called once. Hooks are called by the
// worker or by the timer's goroutine, never with a lock held, several at a time; they
// should be quick, must not panic (that ends the program, as in any goroutine) and must
// not wait for Run to return. A hook that ends its goroutine by runtime.Goexit, as
// testing's FailNow does, does not harm the pool. Run waits for hooks, except those of
// handlers that it leaves behind.
//
// # Long loops
//
// YieldBudget and YieldEvery help handlers that compute for a long time; see their
// comments.
package worker

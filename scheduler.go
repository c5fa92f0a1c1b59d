package firq

import (
	"context"
	"iter"
)

// Producer is the end of a Scheduler that tasks go in at. Safe for concurrent
// use.
//
// A tenant is any key that a map would take. One that is not equal to itself (NaN,
// or a struct, array or interface that holds one) is ErrInvalidTask: no map would
// find it again. One that cannot be compared (an interface that holds a slice, map or
// func) panics, as a map does, before anything was changed.
type Producer[K comparable, T any] interface {
	// Enqueue admits the task or returns the reason immediately: ErrInvalidTask,
	// ErrClosed or an error that matches ErrRejected. What happens at a limit
	// is Config.Backpressure; with the policy Wait, Enqueue blocks for at most
	// Backpressure.Wait.
	Enqueue(tenant K, t Task[T]) error
	// EnqueueWait is Enqueue that waits for capacity until ctx is done, whatever
	// the policy. Its error then matches ErrTimeout and ctx.Err().
	EnqueueWait(ctx context.Context, tenant K, t Task[T]) error
	// EnqueueBatch admits a prefix of ts, in order, and returns its length; err
	// says why the rest was not admitted. If that is a limit, each task of the rest
	// counts as one rejection, though only the first of them was tried.
	EnqueueBatch(tenant K, ts []Task[T]) (accepted int, err error)
	// Tenant returns a Handle, which enqueues for one tenant. It makes no tenant
	// known, and is not to be given back.
	Tenant(tenant K) Handle[K, T]
}

// Handle is the end of a Scheduler that tasks of one tenant go in at. It does what
// the methods of Producer of the same names do, and says the same, for any key; but
// it remembers where the tenant is, and so needs no look-up per call. Worth keeping
// where one goroutine, connection or route enqueues for the same tenant again and
// again.
//
// A Handle never goes stale: if the tenant was forgotten it becomes known again with
// the next task, as it does by key. A Handle keeps no tenant known, and holds no place
// of Config.MaxTenants; what it remembers of a tenant that was forgotten, it keeps in
// memory until it is used again. Making one allocates once, using it does not. Safe
// for concurrent use.
type Handle[K comparable, T any] interface {
	// Tenant returns the key.
	Tenant() K
	// Enqueue is Producer.Enqueue.
	Enqueue(t Task[T]) error
	// EnqueueWait is Producer.EnqueueWait.
	EnqueueWait(ctx context.Context, t Task[T]) error
	// EnqueueBatch is Producer.EnqueueBatch.
	EnqueueBatch(ts []Task[T]) (accepted int, err error)
}

// Consumer is the end of a Scheduler that items come out of. Safe for
// concurrent use.
type Consumer[K comparable, T any] interface {
	// TryDequeue returns the next item. It reports false only when nothing
	// deliverable is queued.
	TryDequeue() (Item[K, T], bool)
	// Dequeue waits for the next item, without polling. It returns ErrClosed after
	// Close, or after Shutdown once the backlog is gone, and ctx.Err() when ctx is done
	// before there is one. If an item is there, it is delivered even if ctx is done.
	Dequeue(ctx context.Context) (Item[K, T], error)
	// DequeueBatch waits for at least one item and fills dst with what is
	// deliverable, at most len(dst), in service order. An error comes with 0.
	DequeueBatch(ctx context.Context, dst []Item[K, T]) (int, error)
}

// Scheduler is the contract that both cores keep: package lockfree, the
// low-contention core, and package baseline, the mutex one. Package schedtest
// is the same contract as a test suite. Safe for concurrent use.
type Scheduler[K comparable, T any] interface {
	Producer[K, T]
	Consumer[K, T]
	// Len returns the number of queued tasks, never above MaxGlobal, unless
	// SetMaxGlobal has set it below what was queued.
	Len() int
	// Stats returns a snapshot.
	Stats() Stats[K]
	// SetQuantum overrides the tenant's quantum from its next turn on, known tenant or
	// not, until ResetQuantum. The override stays even if the tenant is forgotten or
	// never comes, so overrides for unbounded keys take unbounded memory. Below 1
	// counts as 1. For a tenant that is not equal to itself (NaN), SetQuantum and
	// ResetQuantum do nothing.
	SetQuantum(tenant K, quantum int64)
	// ResetQuantum gives the tenant the quantum from Config again.
	ResetQuantum(tenant K)
	// SetMaxGlobal sets how many tasks may be queued from now on, 1 to MaxTasks; it
	// panics for any other n. It is strict for every call that begins after it has
	// returned. A call that is in progress at that time obeys the old limit or the new
	// one. Tasks queued beyond a lower limit stay until they are delivered, expire, or
	// are cancelled. Until enough of them have left to make room, nothing is admitted,
	// except that the policies DropOldest and DropNewest still put a new task in the
	// place of an old one. A call that waits for capacity is woken when the limit
	// rises.
	SetMaxGlobal(n int)
	// SetLimit sets how many tasks this tenant may have queued from now on, instead of
	// what Config.MaxPerTenantFor and Config.MaxPerTenant say; 0 restores what they
	// say. A negative n panics; a limit above MaxGlobal has no effect. Otherwise it
	// does for the tenant what SetMaxGlobal does for all. It holds for known and
	// unknown tenants, until the next SetLimit. It stays even if the tenant is
	// forgotten or never comes, so limits for unbounded keys take unbounded memory. For
	// a tenant that is not equal to itself (NaN) it does nothing.
	//
	// SetLimit(tenant, 0) may call Config.MaxPerTenantFor. If that panics, the limit
	// that was set before still holds.
	SetLimit(tenant K, n int)
	// Shutdown stops admitting and returns nil once every accepted task was delivered
	// (or expired, or was cancelled); then Dequeue returns ErrClosed. Consumers have to
	// go on dequeuing until then: an expired task counts when a call drops it, one whose
	// tenant is at its in-flight limit upon Done. If ctx is done first, Shutdown returns
	// ctx.Err(), and the scheduler goes on draining; if Close is called first, it returns
	// ErrClosed.
	Shutdown(ctx context.Context) error
	// Close stops immediately: it wakes all waiting calls, nothing more is delivered, and
	// queued tasks are handed to Config.OnDrop with DropClosed. A second call does
	// nothing and returns immediately, though the first may still be at work. It returns
	// nil.
	Close() error
}

// All returns an iterator over the items that c delivers. It ends when ctx is
// done, even if there is a backlog, or c is closed (or ctx is nil); an item is
// dequeued only when the loop asks for it.
//
//	for it := range firq.All(ctx, s) {
//		handle(it.Payload)
//		it.Done()
//	}
func All[K comparable, T any](ctx context.Context, c Consumer[K, T]) iter.Seq[Item[K, T]] {
	return func(yield func(Item[K, T]) bool) {
		// Dequeue looks at ctx only when it has to wait.
		for ctx != nil && ctx.Err() == nil {
			it, err := c.Dequeue(ctx)
			if err != nil || !yield(it) {
				return
			}
		}
	}
}

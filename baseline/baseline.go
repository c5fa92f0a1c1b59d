// Package baseline is the scheduler of package firq with a mutex, for programs in which little
// contends for it.
//
//	s, err := baseline.New(firq.Config[string, Job]{MaxPerTenant: 100})
//	err = s.Enqueue("tenant-a", firq.Task[Job]{Payload: job})
//	it, err := s.Dequeue(ctx)
//
// It is the scheduler of package lockfree without that one's two ways to hand over a task without the
// lock: one engine under one lock (Shards: 1), or under one per shard. Package lockfree, which does the
// same with less contention, is measured against it, and what it gains is those two ways.
//
// # Concurrency properties
//
// Every method that changes a shard takes its mutex and may wait for it; none does unbounded work under
// it. A task is refused without it where a limit surely stands in the way. User code is never
// called with a lock held; keys that cannot be hashed panic before a lock is taken (see firq.Producer).
package baseline

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
)

// Scheduler is a firq.Scheduler. Make it with New; safe for concurrent use.
type Scheduler[K comparable, T any] = lockfree.Scheduler[K, T]

// New builds a scheduler. A config that makes no sense is firq.ErrInvalidConfig.
// Without Shards it has one, and one lock.
func New[K comparable, T any](cfg firq.Config[K, T]) (*Scheduler[K, T], error) {
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	return lockfree.NewLocked(cfg)
}

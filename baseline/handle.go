package baseline

import (
	"context"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// handle is a firq.Handle: a key, its shard, and the tenant that was last found under
// it. Calls by key make one for the time that they take.
type handle[K comparable, T any] struct {
	s     *Scheduler[K, T] // immutable, as are key and sh
	key   K
	sh    *shard[K, T]  // nil if the key cannot be compared: no call comes so far then
	found *tenant[K, T] // nil: not found yet. It may be forgotten. Guarded by sh.mu
}

func (s *Scheduler[K, T]) at(k K) handle[K, T] {
	return handle[K, T]{s: s, key: k, sh: s.shardOf(k)}
}

// Tenant returns a handle of a tenant.
func (s *Scheduler[K, T]) Tenant(k K) firq.Handle[K, T] {
	h := &handle[K, T]{s: s, key: k}
	if s.shared.CanLookUp(&h.key) {
		h.sh = s.shardOf(k)
	}
	return h
}

// tenant returns the tenant, nil if it is not known. It looks it up if it has not found
// it yet, or has found one that is forgotten. Under mu.
func (h *handle[K, T]) tenant() *tenant[K, T] {
	if h.found == nil || !h.found.Registered() {
		h.found = h.sh.tenants[h.key]
	}
	return h.found
}

// Tenant returns the key.
func (h *handle[K, T]) Tenant() K { return h.key }

// Enqueue is the scheduler's.
func (h *handle[K, T]) Enqueue(t firq.Task[T]) error { return h.enqueue(h, &t) }

// EnqueueWait is the scheduler's.
func (h *handle[K, T]) EnqueueWait(ctx context.Context, t firq.Task[T]) error {
	return h.s.shared.EnqueueWait(ctx, h, h.key, t)
}

// EnqueueBatch is the scheduler's.
func (h *handle[K, T]) EnqueueBatch(ts []firq.Task[T]) (accepted int, err error) {
	return h.enqueueBatch(h, ts)
}

// Admit, Replace, NextDueOf and NextDue implement serve.Admitter.

func (h *handle[K, T]) Admit(_ K, task drr.Task[T]) error { return h.admitOne(&task) }

// Replace is the scheduler's.
func (h *handle[K, T]) Replace(_ K, task drr.Task[T], newest bool) (bool, error) {
	return h.replace(&task, newest)
}

// NextDueOf is the scheduler's.
func (h *handle[K, T]) NextDueOf(k K) int64 { return h.s.NextDueOf(k) }

// NextDue is the scheduler's.
func (h *handle[K, T]) NextDue() int64 { return h.s.NextDue() }

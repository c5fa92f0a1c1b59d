package lockfree

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// handle is a firq.Handle: a key, and the tenant that was last found under it. It is
// lock-free as Enqueue is.
type handle[K comparable, T any] struct {
	s   *Scheduler[K, T] // immutable, as is key
	key K
	at  atomic.Pointer[tenant[K, T]] // nil: not found yet. It may be dead
}

// Tenant returns a handle of a tenant.
func (s *Scheduler[K, T]) Tenant(k K) firq.Handle[K, T] { return &handle[K, T]{s: s, key: k} }

// tenant looks the tenant up if it does not know it, or knows one that is dead.
func (h *handle[K, T]) tenant() *tenant[K, T] {
	// It may die as soon as it was looked at: then it gives no place (hasRoom), and the call takes the lock,
	// where the map says which tenant it is.
	if t := h.at.Load(); t != nil && !t.load().dead() {
		return t
	}
	failpoint.At("handle look up")
	t, _ := h.s.tenants.Load(h.key)
	if t != nil {
		h.at.Store(t) // two at a time may store two: the one that is dead is looked up again
	}
	return t
}

// Tenant returns the key.
func (h *handle[K, T]) Tenant() K { return h.key }

// Enqueue is the scheduler's.
func (h *handle[K, T]) Enqueue(t firq.Task[T]) error {
	s := h.s
	if err := s.shared.CheckTenant(h.key); err != nil {
		return err
	}
	at, now := h.tenant(), s.shared.Clock.Now()
	var full error
	if at != nil {
		var n int
		if n, full = at.enter(unsafe.Slice(&t, 1), now); n == 1 {
			return nil
		}
	}
	return s.enqueueLocked(h, h.key, &t, now, full)
}

// EnqueueWait is the scheduler's.
func (h *handle[K, T]) EnqueueWait(ctx context.Context, t firq.Task[T]) error {
	return h.s.shared.EnqueueWait(ctx, h, h.key, t)
}

// EnqueueBatch is the scheduler's.
func (h *handle[K, T]) EnqueueBatch(ts []firq.Task[T]) (accepted int, err error) {
	return h.s.enqueueBatch(h, h.key, ts)
}

// Admit, Replace, NextDueOf and NextDue implement serve.Admitter. What comes after Admit has
// failed is done by key.

func (h *handle[K, T]) Admit(k K, task drr.Task[T]) error { return h.s.admit(k, &task) }

// Replace is the scheduler's.
func (h *handle[K, T]) Replace(k K, task drr.Task[T], newest bool) (bool, error) {
	return h.s.Replace(k, task, newest)
}

// NextDueOf is the scheduler's.
func (h *handle[K, T]) NextDueOf(k K) int64 { return h.s.NextDueOf(k) }

// NextDue is the scheduler's.
func (h *handle[K, T]) NextDue() int64 { return h.s.NextDue() }

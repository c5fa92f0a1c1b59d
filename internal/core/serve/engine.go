package serve

import (
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// This file is the engine: the straight way of a task in and out of a shard, under the
// shard's lock. Both cores are made of it. What is plain (a payload and a cost, of a tenant
// with nothing else) takes the first branch of each function; the rest is the general queue.

// IsPlain reports whether the task is valid and has nothing but a payload and a cost.
func IsPlain[T any](t *firq.Task[T]) bool {
	return t.Ticket == nil && t.Flow == 0 && t.Deadline.IsZero() && t.Cost >= 0 && t.Cost <= drr.MostPlain &&
		(t.Priority == 0 || t.Priority == firq.PriorityNormal)
}

// PutPlain queues a plain task, whose cost is at least 1. What the tenant is to have when it
// becomes active it has already.
func (s *Shard[K, T]) PutPlain(t *Tenant[K, T], payload *T, cost, now int64) {
	s.enqueued++
	s.Queue.PushPlain(&t.Tenant, payload, cost, now)
	if s.bounded {
		s.settle(t)
	}
}

// Next takes out the task that is served next, and completes the item that the consumer gets
// of it; nil if there is none within the limit, or after a good deal of looking. The caller binds
// the item to the token, with what Fly adds.
func (s *Shard[K, T]) Next(it *firq.Item[K, T], now int64, limit uint64) (t *Tenant[K, T], token uint64) {
	var h drr.Head
	dt, _ := s.Queue.NextWithin(now, limit, &it.Payload, &h)
	if dt == nil {
		return nil, 0
	}
	t = TenantOf(dt)
	wait := time.Duration(max(now-h.Enqueued, 0))
	it.Tenant, it.Cost, it.Priority, it.Flow, it.Wait = t.Key, h.Cost, h.Priority, h.Flow, wait
	if it.Deadline = (time.Time{}); h.Due != drr.NoDeadline {
		it.Deadline = s.shared.Clock.Time(h.Due)
	}
	s.waits[s.servedBy&1].Record(wait)
	s.dequeued++
	t.lastUsed = max(t.lastUsed, now) // the goroutine that reads the clock first may come last
	s.top.delivered(t)
	return t, uint64(h.Priority) << tokenPriority
}

// Fly comes after each Next, once the tenant has been pushed what it may have next: a tenant that is
// blocked with a task keeps its place. It puts the delivery in flight, if the tenant has an in-flight limit,
// blocks the tenant if that is reached, and returns which delivery it is; and it settles the tenant,
// where the number of tenants is limited.
func (s *Shard[K, T]) Fly(t *Tenant[K, T]) (token uint64) {
	if !s.exacts {
		return 0
	}
	if f := t.flights; f != nil && f.limit > 0 {
		token = f.start()
		s.inFlight++
		if f.full() {
			s.bar(t)
		}
	}
	if s.bounded {
		s.settle(t)
	}
	return token
}

// PublishChanges publishes what has changed in a hold, before the lock is released. The holder
// calls it if the shard is not ready, has not published that it is, or is not Unchanged. A shard
// that is not ready may linger.
func (s *Shard[K, T]) PublishChanges(ready bool) {
	if s.sharesTime || s.published.ready != (ready || s.Queue.Lingering()) {
		s.Publish(ready)
	}
	if s.bounded {
		s.PublishIdle()
	}
}

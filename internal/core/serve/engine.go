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

// CompletePlain completes the item that the consumer of a plain task gets, but for its tenant.
func CompletePlain[K comparable, T any](it *firq.Item[K, T], cost, wait int64) {
	it.Cost, it.Priority, it.Flow, it.Deadline = cost, firq.PriorityNormal, 0, time.Time{}
	it.Wait = time.Duration(max(wait, 0))
}

// NextOfAll is NextPlain of a task that may be anything. It completes the item.
func (s *Shard[K, T]) NextOfAll(it *firq.Item[K, T], now int64, limit uint64) *drr.Tenant[K, T] {
	var h drr.Head
	dt, v := s.Queue.NextOfAll(now, limit, &it.Payload, &h)
	if v == drr.Delivered {
		it.Cost, it.Priority, it.Flow, it.Deadline = h.Cost, h.Priority, h.Flow, time.Time{}
		it.Wait = time.Duration(max(now-h.Enqueued, 0))
		if h.Due != drr.NoDeadline {
			it.Deadline = s.shared.Clock.Time(h.Due)
		}
	}
	return dt
}

// Delivered and Rank are the books of a delivery, all plain: they are the holder's, and Stats reads them
// as a holder. (They are small, so that they are inlined.)

// Delivered counts a delivery of the shard.
func (s *Shard[K, T]) Delivered(wait time.Duration) {
	s.waits[s.servedBy&1].Record(wait)
	s.dequeued++
}

// DeliveredAll counts the deliveries of a hold.
func (s *Shard[K, T]) DeliveredAll(items []firq.Item[K, T]) {
	s.dequeued += uint64(len(items))
	for len(items) > 0 {
		var waits [32]time.Duration
		n := min(len(items), len(waits))
		for i := range items[:n] {
			waits[i] = items[i].Wait
		}
		s.waits[s.servedBy&1].RecordAll(waits[:n])
		items = items[n:]
	}
}

// Delivered counts a delivery of the tenant, and reports whether to call Rank: often at first, so that a
// new tenant is ranked soon, then at each 64th, as a rank is worth no more.
func (t *Tenant[K, T]) Delivered(now int64) (rank bool) {
	t.lastUsed = max(t.lastUsed, now) // the goroutine that reads the clock first may come last
	t.delivered++
	return t.delivered&63 == 0 || t.delivered&(t.delivered-1) == 0
}

// Rank lets the tenant be among those that were delivered most.
func (s *Shard[K, T]) Rank(t *Tenant[K, T]) { s.top.offer(t) }

// TokenOf returns the token of a delivery, to which Fly may add.
func TokenOf(p firq.Priority) uint64 { return uint64(p) << tokenPriority }

// Exacts reports whether Fly has something to do.
func (s *Shard[K, T]) Exacts() bool { return s.exacts }

// Fly comes after each delivery, once the tenant has been pushed what it may have next: a tenant that is
// blocked with a task keeps its place. It puts the delivery in flight, if the tenant has an in-flight limit,
// blocks the tenant if that is reached, and returns which delivery it is; and it reclassifies the tenant,
// where the number of tenants is limited.
func (s *Shard[K, T]) Fly(t *Tenant[K, T]) (token uint64) {
	if f := t.flights; f != nil && f.limit > 0 {
		token = f.start()
		s.inFlight++
		if f.full() {
			s.bar(t)
		}
	}
	if s.bounded {
		s.reclassify(t)
	}
	return token
}

// HasNews reports whether a hold has something to publish (Publish). A shard that no other is
// fair to stays ready when its last task has just been served: the consumer that comes next, and finds
// nothing, ends that, so nothing is published where tasks come and go one at a time.
func (s *Shard[K, T]) HasNews(ready, served bool) bool {
	if s.settled && (ready || served) {
		return false
	}
	return ready != s.published.ready || s.hasNews(ready)
}

func (s *Shard[K, T]) hasNews(ready bool) bool {
	return !s.sharesTime || !ready || s.bounded || !s.unchanged()
}

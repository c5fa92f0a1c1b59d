package serve

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
)

// Counters are the counters of several shards added up.
type Counters[K comparable] struct {
	stats firq.Stats[K]
	waits *hist.Snapshot
}

// NewCounters returns empty counters.
func NewCounters[K comparable]() *Counters[K] { return &Counters[K]{waits: hist.NewSnapshot()} }

// AddTo adds the shard's counters. The caller holds its lock.
func (s *Shard[K, T]) AddTo(b *Counters[K]) {
	now := s.shared.Clock.Now()
	b.stats.Enqueued += s.enqueued
	b.stats.Dequeued += s.dequeued
	b.stats.Expired += s.expired
	b.stats.Cancelled += s.cancelled
	b.stats.DroppedPolicy += s.evicted
	b.stats.Overload += s.overload
	b.stats.Closed += s.closed
	b.stats.InFlight += s.inFlight
	b.stats.Tenants += s.tenants
	for _, t := range s.top.tenants {
		b.stats.TopTenants = append(b.stats.TopTenants, firq.TenantCount[K]{Tenant: t.Key, Dequeued: t.count(), Lag: s.lag(t, now)})
	}
	b.stats.Lag = lagOf(b.stats.Lag, s.behind.last)
	for _, w := range s.waits {
		w.AddTo(b.waits)
	}
}

// Stats completes the books with what is counted elsewhere, such as the tasks
// queued now, and how many may be.
func (sh *Shared[K, T]) Stats(b *Counters[K], queued, maxGlobal int) firq.Stats[K] {
	s := b.stats
	s.RejectedGlobal = uint64(sh.rejects.global.Value())
	s.RejectedTenant = uint64(sh.rejects.tenant.Value())
	s.TimeoutRejected = uint64(sh.rejects.timeout.Value())
	s.Dropped = s.RejectedGlobal + s.RejectedTenant + s.TimeoutRejected + s.DroppedPolicy
	s.QueueLen, s.MaxGlobal = queued, maxGlobal
	s.QueueSaturation = float64(queued) / float64(s.MaxGlobal)
	s.QueueTime = b.waits.QueueTime()
	if most := sh.Config.MaxTenants; most > 0 {
		// Shards are asked one after the other: a tenant that one of them has forgotten
		// since, and the one that has its place on another, are both counted.
		s.Tenants = min(s.Tenants, most)
	}
	s.TopTenants = rankTop(s.TopTenants, sh.Config.TopTenants)
	return s
}

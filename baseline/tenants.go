package baseline

import (
	"maps"

	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

func (sh *shard[K, T]) newTenant(k K) *tenant[K, T] {
	t := &tenant[K, T]{shard: sh}
	t.Init(k, 1)
	t.Ticket.Canceler = t
	return t
}

// add makes a new tenant known. Under mu.
func (sh *shard[K, T]) add(t *tenant[K, T]) {
	sh.tenants[t.Key] = t
	sh.most = max(sh.most, len(sh.tenants))
	sh.Add(&t.Tenant, sh.s.shared.Clock.Now())
	if !sh.s.shared.Asks { // else what is said comes with its first task
		sh.configure(t, &sh.s.shared.Defaults)
	}
}

// forget is SweepSome's callback for idle tenants. Under mu.
func (sh *shard[K, T]) forget(t *serve.Tenant[K, T]) bool {
	delete(sh.tenants, t.Key)
	if n := len(sh.tenants); n < sh.most/8 && sh.most > 4096 {
		// Go's map does not shrink: it would keep the memory of the largest crowd.
		sh.tenants, sh.most = maps.Collect(maps.All(sh.tenants)), n
	}
	if sh.s.shared.Config.MaxTenants > 0 {
		sh.s.tenants.Add(-1)
	}
	return true
}

// sweep goes on with forgetting tenants that have been idle for long, if that is due.
// The caller holds no lock.
func (s *Scheduler[K, T]) sweep(now int64) {
	if s.shared.SweepDue(now) {
		s.sweepSome(now)
	}
}

func (s *Scheduler[K, T]) sweepSome(now int64) {
	s.shared.Sweep(now, func(i int, start bool) (looked, more bool) {
		sh := s.shards[i]
		failpoint.At("lock try")
		if !sh.mu.TryLock() {
			return false, false
		}
		more = sh.SweepSome(now, start, serve.SweepStep, sh.forget)
		sh.unlock()
		return true, more
	})
}

// sweepAll forgets idle tenants everywhere and reports whether it found any.
func (s *Scheduler[K, T]) sweepAll() bool {
	if !s.shared.SweepAllDue() {
		return false
	}
	before := s.tenants.Load()
	for _, sh := range s.shards {
		sh.sweepAll()
	}
	return s.tenants.Load() < before
}

// sweepAll forgets the shard's idle tenants, a thousand at each hold of the lock.
func (sh *shard[K, T]) sweepAll() {
	now := sh.s.shared.Clock.Now()
	for start, more := true, true; more; start = false {
		failpoint.Lock(&sh.mu, "lock")
		more = sh.SweepSome(now, start, 1024, sh.forget)
		sh.PublishIdle()
		sh.mu.Unlock()
	}
}

// roomForTenant forgets the longest idle tenant of some shard, so that a new one can
// have its place, and reports whether it is worth trying again.
func (s *Scheduler[K, T]) roomForTenant() bool {
	return s.shared.MakeRoomForTenant(&s.tenants, func(i int) bool {
		sh := s.shards[i]
		sh.lock()
		defer sh.unlock()
		return sh.ForgetLongest(sh.forget)
	}, func() {})
}

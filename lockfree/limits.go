package lockfree

import (
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// SetLimit sets how many tasks the tenant may have queued. It takes the lock of the
// tenant's shard.
func (s *Scheduler[K, T]) SetLimit(k K, n int) {
	apply, unlock := s.limits(k, func() { s.shared.NoteLimit(k, n) })
	s.shared.SetLimit(k, n, apply, unlock)
}

// limits returns how Shared gives a tenant another limit.
func (s *Scheduler[K, T]) limits(k K, note func()) (apply func(limit int) (risen int), unlock func()) {
	sh := s.shardOf(k)
	return func(limit int) (risen int) {
		sh.lock()
		note() // under the lock: a tenant that is made, or becomes active, later sees it
		failpoint.At("limit noted")
		if t, ok := s.tenants.Load(k); ok {
			risen = t.setLimit(s.shared.Limit(k, limit))
		}
		return risen
	}, sh.unlock
}

// SetMaxPerTenant changes Config.MaxPerTenant to n, 0 to firq.MaxTasks (anything else panics),
// for all tenants to which neither SetLimit nor Config.MaxPerTenantFor gives a limit of their
// own; 0: no limit but MaxGlobal. What firq.Scheduler says of SetLimit holds for each: it is
// strict for every call that begins after it has returned. It takes the shards' locks, once
// for each known tenant, and may call MaxPerTenantFor for each; if that panics, tenants that
// come later keep their limits until they next become active.
func (s *Scheduler[K, T]) SetMaxPerTenant(n int) {
	s.shared.SetMaxPerTenant(n)
	failpoint.At("limit noted")
	s.fence()
	for k := range s.tenants.Range { // those that are created later see what was noted
		apply, unlock := s.limits(k, func() {})
		s.shared.Relimit(k, apply, unlock)
	}
}

// SetMaxInFlightPerTenant changes Config.MaxInFlightPerTenant to n, 0 to firq.MaxTasks, for all
// tenants to which Config.MaxInFlightFor gives no other limit; 0: no limit. A scheduler
// that was made without an in-flight limit does not count what is in flight: then, and with any
// other n, it panics. Nothing more of a tenant that is at a lower limit, or beyond it, is
// delivered until enough of it is Done; with a higher one it is served immediately. It is
// strict for every call that begins after it has returned. Otherwise it is like
// SetMaxPerTenant.
func (s *Scheduler[K, T]) SetMaxInFlightPerTenant(n int) {
	s.shared.SetMaxInFlight(n)
	s.fence()
	for k := range s.tenants.Range {
		said := s.shared.AskInFlight(k)
		sh := s.shardOf(k)
		sh.lock()
		if t, ok := s.tenants.Load(k); ok {
			sh.LimitFlights(&t.Tenant, said)
		}
		sh.unlock()
	}
}

// SetMaxGlobal sets how many tasks may be queued. It takes no lock.
func (s *Scheduler[K, T]) SetMaxGlobal(n int) {
	serve.CheckMaxGlobal(n)
	risen := s.credit.SetCap(n)
	if s.life.State() == serve.Draining {
		s.drainCheck() // a call that looked in between was not sure
	}
	if risen > 0 {
		failpoint.At("max global risen")
		s.shared.Waiters.GlobalRaised(risen)
	}
}

// fence waits for calls that are making a tenant, which they do under its shard's lock.
func (s *Scheduler[K, T]) fence() {
	for _, sh := range s.shards {
		sh.lock()
		sh.unlock()
	}
}

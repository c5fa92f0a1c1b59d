package baseline

import (
	"maps"
	"slices"

	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// SetLimit sets how many tasks the tenant may have queued.
func (s *Scheduler[K, T]) SetLimit(k K, n int) {
	apply, unlock := s.limits(k, func() { s.shared.NoteLimit(k, n) })
	s.shared.SetLimit(k, n, apply, unlock)
}

// limits returns how Shared gives a tenant another limit.
func (s *Scheduler[K, T]) limits(k K, note func()) (apply func(limit int) (risen int), unlock func()) {
	sh := s.shardOf(k)
	return func(limit int) (risen int) {
		sh.lock()
		note()
		if t := sh.tenants[k]; t != nil {
			limit = s.shared.Limit(k, limit)
			risen, t.limit = limit-t.limit, limit
		}
		return risen
	}, sh.unlock
}

// SetMaxPerTenant changes Config.MaxPerTenant to n, as lockfree.Scheduler's does.
func (s *Scheduler[K, T]) SetMaxPerTenant(n int) {
	s.shared.SetMaxPerTenant(n)
	for _, k := range s.known() {
		apply, unlock := s.limits(k, func() {})
		s.shared.Relimit(k, apply, unlock)
	}
}

// SetMaxInFlightPerTenant is that of lockfree.Scheduler: it changes
// Config.MaxInFlightPerTenant to n.
func (s *Scheduler[K, T]) SetMaxInFlightPerTenant(n int) {
	s.shared.SetMaxInFlight(n)
	for _, k := range s.known() {
		said := s.shared.AskInFlight(k)
		sh := s.shardOf(k)
		sh.lock()
		if t := sh.tenants[k]; t != nil {
			sh.LimitFlights(&t.Tenant, said)
		}
		sh.unlock()
	}
}

// known returns the tenants that there are.
func (s *Scheduler[K, T]) known() (all []K) {
	for _, sh := range s.shards {
		failpoint.Lock(&sh.mu, "lock")
		all = slices.AppendSeq(all, maps.Keys(sh.tenants))
		sh.mu.Unlock()
	}
	return all
}

// SetMaxGlobal sets how many tasks may be queued. It takes the locks of all shards at a
// time, in the order of their indexes; no other call takes more than one.
func (s *Scheduler[K, T]) SetMaxGlobal(n int) {
	serve.CheckMaxGlobal(n)
	for _, sh := range s.shards {
		failpoint.Lock(&sh.mu, "lock")
	}
	risen := n - int(s.most.Swap(int64(n)))
	for _, sh := range s.shards {
		sh.mu.Unlock()
	}
	if risen > 0 {
		failpoint.At("max global risen")
		s.shared.Waiters.GlobalRaised(risen)
	}
}

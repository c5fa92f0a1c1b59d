package lockfree

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// limit is how many tasks a tenant may hold: times<<limitBits | limit. times is how
// often the limit was changed, and half-way in between: so equal words, if they are of
// even times, mean that it did not change.
type limit struct{ word atomic.Uint64 }

const (
	limitBits  = 32
	limitTimes = 1 << limitBits
)

func (l *limit) get() int { return int(uint32(l.word.Load())) }

func (l *limit) set(n int) { l.word.Store(uint64(n)) }

// setLimit changes how many tasks the tenant may hold, and returns by how much that has
// risen. What it has room for changes in one step, which is the only one that matters:
// a producer that draws a ticket, and takes a place with it, does so before that step or goes
// by the new limit. If the tenant holds more, its room is below 0, and what comes free
// goes there first. Under the lease.
func (t *tenant[K, T]) setLimit(n int) (risen int) {
	old := t.limit.word.Load()
	risen = n - t.limit.get()
	if risen == 0 {
		return 0
	}
	t.limit.word.Store(old + limitTimes) // first: see holds
	failpoint.At("limit room")
	t.word.Add(uint64(risen) * roomUnit)
	failpoint.At("limit said")
	t.limit.word.Store((old+2*limitTimes)&^(limitTimes-1) | uint64(n))
	return risen
}

// holds returns how many tasks the tenant holds. Any goroutine may ask.
func (t *tenant[K, T]) holds() int {
	for {
		before := t.limit.word.Load()
		failpoint.At("limit holds?")
		room := roomIn(t.word.Load())
		if before&limitTimes == 0 && t.limit.word.Load() == before {
			return int(uint32(before)) - room
		}
		failpoint.Gosched("limit changes")
	}
}

// SetLimit sets how many tasks the tenant may have queued. It takes the lease of the
// tenant's shard.
func (s *Scheduler[K, T]) SetLimit(k K, n int) {
	apply, unlock := s.limits(k, func() { s.shared.NoteLimit(k, n) })
	s.shared.SetLimit(k, n, apply, unlock)
}

// limits returns how Shared gives a tenant another limit.
func (s *Scheduler[K, T]) limits(k K, note func()) (apply func(limit int) (risen int), unlock func()) {
	sh := s.shards[s.placer.Shard(k)]
	return func(limit int) (risen int) {
		sh.lock()
		note()
		failpoint.At("limit noted")
		// A producer that is just creating the tenant is waited for, or sees what was noted.
		s.tenants.Compute(k, func(t *tenant[K, T], loaded bool) (*tenant[K, T], bool) {
			if loaded {
				risen = t.setLimit(s.shared.Limit(k, limit))
			}
			return t, !loaded
		})
		return risen
	}, sh.unlock
}

// SetMaxPerTenant changes Config.MaxPerTenant to n, 0 to firq.MaxTasks (anything else panics),
// for all tenants to which neither SetLimit nor Config.MaxPerTenantFor gives a limit of their
// own; 0: no limit but MaxGlobal. What firq.Scheduler says of SetLimit holds for each: it is
// strict for every call that begins after it has returned. It takes the shards' leases, once
// for each known tenant, and may call MaxPerTenantFor for each; if that panics, tenants that
// come later keep their limits until they next become active.
func (s *Scheduler[K, T]) SetMaxPerTenant(n int) {
	s.shared.SetMaxPerTenant(n)
	failpoint.At("limit noted")
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
	for k := range s.tenants.Range {
		said := s.shared.AskInFlight(k)
		sh := s.shards[s.placer.Shard(k)]
		sh.lock()
		if t, ok := s.tenants.Load(k); ok {
			t.setInFlight(said)
			sh.LimitFlights(&t.Tenant, said)
		}
		sh.unlock()
	}
}

// SetMaxGlobal sets how many tasks may be queued. It takes no lease.
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

// enterAsking is enter that asks before what the config says of the tenant.
func (s *Scheduler[K, T]) enterAsking(t *tenant[K, T], k K, task *drr.Task[T], hint int) error {
	conf := s.ask(t, k)
	return s.enter(t, k, task, &conf, hint)
}

// ask asks what the config says of a tenant, which is nil if it is not known. If that
// is another limit than the tenant has, and it holds nothing, it gets that now, before
// the caller's task is admitted.
func (s *Scheduler[K, T]) ask(t *tenant[K, T], k K) serve.TenantConfig {
	conf := s.shared.Ask(k)
	if t != nil && s.shared.Limit(k, conf.PerTenant) != t.limit.get() && t.holds() == 0 {
		s.relimit(t, conf.PerTenant)
	}
	return conf
}

// relimit gives a tenant that holds nothing the limit that it has from when it becomes
// active, unless SetLimit has said another one.
func (s *Scheduler[K, T]) relimit(t *tenant[K, T], perTenant int) {
	sh, risen := t.shard, 0
	sh.lock()
	if w := t.word.Load(); w&deadBit == 0 && t.held(w) == 0 {
		risen = t.setLimit(s.shared.Limit(t.Key, perTenant))
	}
	if risen > 0 { // a producer that was woken for its last place is not the only one now
		defer s.shared.Waiters.TenantRaised(t.Key, risen)
	}
	sh.unlock()
}

// noteFirst is note, if the task that took its place from this word is the tenant's only one:
// else the answer holds that it became active with. limit is what the limit's word was before
// that: if it has changed since, the word does not say whether the tenant had a task.
func (t *tenant[K, T]) noteFirst(conf *serve.TenantConfig, word, limit uint64) {
	if limit&limitTimes != 0 || t.limit.word.Load() != limit || roomIn(word) == int(uint32(limit)) {
		t.note(conf)
	}
}

// note notes what the tenant will have when it becomes active.
func (t *tenant[K, T]) note(conf *serve.TenantConfig) {
	t.quantum.Store(conf.Quantum)
	if t.shard.s.shared.Config.MaxInFlightFor != nil {
		t.setInFlight(conf.InFlight)
	}
}

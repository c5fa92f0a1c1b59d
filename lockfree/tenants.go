package lockfree

import "github.com/firq-go/firq/internal/core/serve"

// roomForTenant forgets the longest idle tenant of some shard, so that a new one can
// have its place, and reports whether it is worth trying again.
func (s *Scheduler[K, T]) roomForTenant() bool {
	return s.shared.MakeRoomForTenant(&s.known, s.forgetLongest, func() {
		for _, sh := range s.shards { // a new tenant is known once its first task is taken in
			if sh.activations.Ready() {
				sh.lock()
				sh.unlock()
			}
		}
	})
}

// forgetLongest forgets the tenant of a shard that has been idle for longest.
func (s *Scheduler[K, T]) forgetLongest(shard int) bool {
	sh := s.shards[shard]
	sh.lock()
	found := sh.ForgetLongest(func(st *serve.Tenant[K, T]) bool {
		sh.drainAll(ownerOf(&st.Tenant)) // something may have been put in and not announced
		sh.flush()
		return sh.forget(st)
	})
	sh.unlock()
	return found
}

// sweep goes on with forgetting tenants that have been idle for long, if that is due.
// The caller holds no lease.
func (s *Scheduler[K, T]) sweep(now int64) {
	if s.shared.SweepDue(now) {
		s.sweepSome(now)
	}
}

func (s *Scheduler[K, T]) sweepSome(now int64) {
	s.shared.Sweep(now, func(shard int, start bool) (looked, more bool) {
		sh := s.shards[shard]
		if !sh.try() {
			return false, false
		}
		sh.begin()
		sh.flush()
		more = sh.SweepSome(now, start, serve.SweepStep, sh.forget)
		sh.unlock()
		return true, more
	})
}

// sweepAll forgets idle tenants everywhere, if that is due, and reports whether
// it found any.
func (s *Scheduler[K, T]) sweepAll() bool {
	if !s.shared.SweepAllDue() {
		return false
	}
	before := s.known.Load()
	for _, sh := range s.shards {
		sh.sweepAll()
	}
	return s.known.Load() < before
}

// sweepAll forgets the shard's idle tenants, a thousand at each hold of the
// lease.
func (sh *shard[K, T]) sweepAll() {
	now := sh.s.shared.Clock.Now()
	for start, more := true, true; more; start = false {
		sh.lock()
		if start {
			sh.drainPolled() // a lag is that of the task which is next
		}
		sh.flush()
		more = sh.SweepSome(now, start, 1024, sh.forget)
		sh.unlock()
	}
}

package serve

import (
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// registeredTenants are the tenants that a shard knows: those that a sweep looks at. They belong
// to the holder of the shard's lock; only idleWord is for all.
//
// A tenant is in one of two rings. With MaxTenants, the ring idle holds the tenants that are not
// in use (nothing queued, nothing in flight, no debt), the longest idle first: they make room for
// new ones. Without MaxTenants it stays empty, so that a task that comes and goes touches no other
// tenant.
type registeredTenants[K comparable, T any] struct {
	tenants int
	rest    ring[K, T] // where a sweep goes on
	idle    ring[K, T] // only with MaxTenants
	nIdle   int
	bounded bool // MaxTenants is set; immutable

	sweepLeft int // tenants that this sweep has still to look at

	idleWord         idleWord
	publishedTenants int // those of tenants that Shared.publishedTenants counts
}

// idleWord publishes how many idle tenants a shard has. The upper half counts the publications,
// so that two equal words mean that nothing has changed in between.
type idleWord struct{ word atomic.Uint64 }

const (
	idleVersion = 1 << 32
	idleMask    = idleVersion - 1 // mask
)

// isIdle is the bit of Tenant.delivered that is set while the tenant is in the ring idle.
const isIdle = 1 << 62

// ring is a ring of tenants. The zero value is empty.
type ring[K comparable, T any] struct{ at *Tenant[K, T] }

// push adds a tenant behind all others, seen from at.
func (r *ring[K, T]) push(t *Tenant[K, T]) {
	if r.at == nil {
		t.next, t.prev = t, t
		r.at = t
		return
	}
	t.next, t.prev = r.at, r.at.prev
	t.prev.next, t.next.prev = t, t
}

func (r *ring[K, T]) remove(t *Tenant[K, T]) {
	switch {
	case t.next == t:
		r.at = nil
	case r.at == t:
		r.at = t.next
		fallthrough
	default:
		t.prev.next, t.next.prev = t.next, t.prev
	}
	t.next, t.prev = nil, nil
}

// turn returns the tenant at at, and goes on to the next one.
func (r *ring[K, T]) turn() *Tenant[K, T] {
	t := r.at
	r.at = t.next
	return t
}

// Add registers a new tenant, which has no task yet.
func (s *Shard[K, T]) Add(t *Tenant[K, T], now int64) {
	t.lastUsed = now
	s.LimitFlights(t, s.shared.Defaults.InFlight)
	s.rest.push(t)
	s.tenants++
	if s.bounded {
		s.reclassify(t)
	}
}

// reclassify moves a registered tenant to the ring idle, or out of it. The holder calls it after each
// change of the tenant's queue, deliveries in flight, or debt.
func (s *Shard[K, T]) reclassify(t *Tenant[K, T]) {
	idle := t.Len() == 0 && t.inFlight() == 0 && !s.Queue.Owes(&t.Tenant)
	switch {
	case idle == (t.delivered&isIdle != 0) || t.next == nil:
	case idle:
		s.rest.remove(t)
		s.idle.push(t)
		s.nIdle++
		t.delivered |= isIdle
	default:
		s.idle.remove(t)
		s.rest.push(t)
		s.nIdle--
		t.delivered &^= isIdle
	}
}

// PublishIdle publishes how many idle tenants can make room for new ones. The holder calls it
// before it releases the lock.
func (s *Shard[K, T]) PublishIdle() {
	if s.bounded && (s.nIdle != int(s.idleWord.word.Load()&idleMask) || s.tenants != s.publishedTenants) {
		s.publishIdle()
	}
}

func (s *Shard[K, T]) publishIdle() {
	times := s.idleWord.word.Load() &^ idleMask
	s.idleWord.word.Store(times + idleVersion + uint64(s.nIdle))
	failpoint.At("crowd told")
	// After that: a call that finds all tenants published looks for idle ones next.
	s.shared.publishedTenants.Add(int64(s.tenants - s.publishedTenants))
	s.publishedTenants = s.tenants
}

// ForgetLongest forgets the tenant that has been idle for longest, and reports
// whether there was one. forget may refuse.
func (s *Shard[K, T]) ForgetLongest(forget func(*Tenant[K, T]) bool) bool {
	for n := s.nIdle; n > 0 && s.idle.at != nil; n-- {
		if s.forget(s.idle.turn(), forget) {
			return true
		}
	}
	return false
}

// forget forgets an idle tenant, unless forget refuses.
func (s *Shard[K, T]) forget(t *Tenant[K, T], forget func(*Tenant[K, T]) bool) bool {
	// First, so that Shared.publishedTenants never exceeds the tenants that are registered.
	s.unpublishTenant()
	if !forget(t) {
		return false // PublishIdle, at the end of this hold, counts it again
	}
	s.Queue.Retire(&t.Tenant)
	if t.delivered&isIdle != 0 {
		s.idle.remove(t)
		s.nIdle--
		t.delivered &^= isIdle
	} else {
		s.rest.remove(t)
	}
	t.flights = nil // top may still know it
	s.tenants--
	return true
}

func (s *Shard[K, T]) unpublishTenant() {
	if s.bounded {
		s.shared.publishedTenants.Add(-1)
		s.publishedTenants--
	}
}

// SweepSome goes on with a round, or starts one, and looks at up to most
// tenants. It reports whether the round goes on.
func (s *Shard[K, T]) SweepSome(now int64, start bool, most int, forget func(*Tenant[K, T]) bool) bool {
	if start {
		s.sweepLeft, s.behind.now = s.tenants, firq.Lag[K]{}
	}
	s.lookAround()
	for ; s.sweepLeft > 0 && most > 0; most-- {
		s.sweepLeft--
		t := s.toSweep(now)
		if t == nil {
			s.sweepLeft = 0
			break
		}
		s.noteLag(t, now)
		if t.Len() == 0 && t.inFlight() == 0 && s.old(t, now) {
			s.forget(t, forget)
		} else if s.bounded {
			s.Queue.Forgive(&t.Tenant)
			s.reclassify(t)
		}
	}
	if s.sweepLeft == 0 {
		s.behind.last = s.behind.now
	}
	return s.sweepLeft > 0
}

// toSweep returns the next tenant to look at, nil if none needs it.
func (s *Shard[K, T]) toSweep(now int64) *Tenant[K, T] {
	switch {
	case s.idle.at != nil && s.old(s.idle.at, now):
		return s.idle.turn()
	case s.rest.at != nil:
		return s.rest.turn()
	}
	return nil
}

func (s *Shard[K, T]) old(t *Tenant[K, T], now int64) bool {
	return now-t.lastUsed >= int64(s.shared.Config.TenantIdle)
}

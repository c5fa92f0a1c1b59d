package serve

import (
	"math"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// behind holds the lags that a sweep over the tenants of a shard finds. It belongs
// to the holder of the shard's lock.
type behind[K comparable] struct {
	now, last firq.Lag[K] // of the sweep in progress; of the last one that has come to its end
	ahead     float64     // the most of Shared.aheads, of the other shards
}

// LookAhead lets the other shards know if a tenant on this one has had more than the
// round that it is in. Stats calls it for each shard before it looks for tenants that are behind.
// The caller holds the shard's lock.
func (s *Shard[K, T]) LookAhead() {
	ahead := 0.0
	if excess := s.Queue.Excess(); excess > 0 && s.rounds != nil {
		ahead = max(0, excess+float64(drr.Apart(s.Queue.Round(), s.rounds.Current())))
	}
	s.shared.aheads[s.index].Store(math.Float64bits(ahead))
}

// lookAround fetches what the other shards have let know. Each step of a sweep begins with
// it; Stats sweeps before it asks for the lags of the top tenants.
func (s *Shard[K, T]) lookAround() {
	s.behind.ahead = 0
	for i := range s.shared.aheads {
		if i != s.index {
			s.behind.ahead = max(s.behind.ahead, math.Float64frombits(s.shared.aheads[i].Load()))
		}
	}
}

// lag returns by how many rounds a tenant is behind; see firq.Lag.
func (s *Shard[K, T]) lag(t *Tenant[K, T], now int64) float64 {
	if t.Len() == 0 {
		return 0
	}
	var current uint64
	if s.rounds != nil {
		current = s.rounds.Current()
	}
	return s.Queue.Lag(&t.Tenant, now, current, s.behind.ahead)
}

// noteLag takes the lag of a tenant into account, in a sweep.
func (s *Shard[K, T]) noteLag(t *Tenant[K, T], now int64) {
	if lag := s.lag(t, now); lag > s.behind.now.Max {
		s.behind.now = firq.Lag[K]{Max: lag, Tenant: t.Key}
	}
}

// lagOf returns the larger one of two lags.
func lagOf[K comparable](a, b firq.Lag[K]) firq.Lag[K] {
	if b.Max > a.Max {
		return b
	}
	return a
}

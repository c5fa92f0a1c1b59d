package compute

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// lookup returns the entry of a key, whatever its times; nil: there is none.
func (s *Server[T, K, V]) lookup(h uint64, k *Key[T, K]) *Entry[V] {
	if s.own != nil {
		if n := s.own.get(h, k); n != nil {
			return &n.Entry
		}
		return nil
	}
	if s.other == nil {
		return nil
	}
	return s.other.get(k)
}

// entry makes the entry of what exec returned; nil: it is not to be kept. Functions of
// Config may panic.
func (s *Server[T, K, V]) entry(k *Key[T, K], v V, err error, now int64) *node[T, K, V] {
	ttl, weight := s.cfg.TTL, int64(1)
	switch {
	case err != nil:
		if s.cfg.ErrorTTL == nil || isAny(err, context.Canceled, context.DeadlineExceeded) || s.answers(s.lookup(s.hash(k), k), now) {
			return nil
		}
		ttl = s.cfg.ErrorTTL(err)
	case s.cfg.TTLFor != nil:
		ttl = s.cfg.TTLFor(k.Tenant, k.Key, v)
	}
	if ttl <= 0 {
		return nil
	}
	if err == nil && s.cfg.Weigh != nil {
		weight = max(s.cfg.Weigh(k.Key, v), 1)
	}
	ttl = min(ttl, forever)
	if s.cfg.Jitter > 0 {
		ttl = max(ttl-time.Duration(rand.Float64()*s.cfg.Jitter*float64(ttl)), 1)
	}
	n := &node[T, K, V]{key: *k}
	n.made, n.fresh = now, now+int64(ttl)
	if err == nil {
		n.val = v
	}
	if err != nil || weight != 1 || s.other != nil {
		n.extra = &extra{err: err, weight: weight, end: n.fresh}
		if err == nil {
			n.extra.end += s.cfg.grace()
		}
	}
	return n
}

// store keeps n. An error takes no result's place that can still be an answer; what
// is not to be kept takes an older result with it. Under the lock of the key's part.
func (s *Server[T, K, V]) store(h uint64, k *Key[T, K], n *node[T, K, V], err error) {
	if err != nil {
		if n == nil {
			return
		}
		if s.answers(s.lookup(h, k), n.made) { // it may be another one than entry saw
			return
		}
	}
	switch {
	case n == nil:
		s.remove(h, k)
	case s.own != nil:
		s.own.set(h, n)
	default:
		s.other.set(k, &n.Entry)
	}
}

// answers reports whether e is a result that can still be an answer.
func (s *Server[T, K, V]) answers(e *Entry[V], now int64) bool {
	return e != nil && e.error() == nil && now < e.fresh+s.cfg.grace()
}

// remove forgets a key.
func (s *Server[T, K, V]) remove(h uint64, k *Key[T, K]) {
	if s.own != nil {
		s.own.remove(h, k)
	} else {
		s.other.cache.Delete(*k)
	}
}

// ageOf returns how long ago e was made.
func (s *Server[T, K, V]) ageOf(e *Entry[V], now int64) time.Duration {
	return time.Duration(max(now-e.made, 0))
}

// due reports whether e is to be refreshed ahead.
func (s *Server[T, K, V]) due(e *Entry[V], now int64) bool {
	ahead := int64(s.cfg.RefreshAhead)
	return ahead > 0 && now >= e.fresh-ahead && e.fresh-e.made > ahead && e.error() == nil
}

// isStale reports whether e, past its TTL, is an answer for a further while.
func isStale[V any](e *Entry[V], now int64, further time.Duration) bool {
	return further > 0 && now >= e.fresh && now-e.fresh < int64(further) && e.error() == nil
}

// isAny is errors.Is for several.
func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

package compute

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/firq-go/firq"
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

// entry makes the entry of what exec returned; nil: it is not to be kept. given is the
// TTL that exec has set for a result; 0: none. Functions of Config may panic.
func (s *Server[T, K, V]) entry(k *Key[T, K], v V, err error, given time.Duration, now int64) *node[T, K, V] {
	ttl, weight := s.cfg.TTL, int64(1)
	switch {
	case err != nil:
		if s.cfg.ErrorTTL == nil || isAny(err, context.Canceled, context.DeadlineExceeded) || s.answers(s.lookup(s.hash(k), k), now) {
			return nil
		}
		ttl = s.cfg.ErrorTTL(err)
	case given != 0:
		ttl = given
	case s.cfg.TTLFor != nil:
		ttl = s.cfg.TTLFor(k.Tenant, k.Key, v)
	}
	if ttl <= 0 {
		return nil
	}
	if err == nil && s.cfg.Weigh != nil {
		weight = max(s.cfg.Weigh(k.Key, v), 1)
	}
	ttl = s.shortened(min(ttl, forever))
	n := &node[T, K, V]{key: *k}
	n.made, n.fresh = now, now+int64(ttl)
	if err == nil {
		n.val = v
	}
	if err != nil || weight != 1 || s.other != nil {
		x := &extra{err: err, weight: weight, end: n.fresh}
		if err == nil {
			x.end += s.cfg.grace()
		}
		n.extra.Store(x)
	}
	if s.own != nil {
		s.own.makeRoom(k.Tenant, weight) // store does, too, but holds a lock
	}
	return n
}

// shortened returns d less a random fraction of it, as Config.Jitter says.
func (s *Server[T, K, V]) shortened(d time.Duration) time.Duration {
	if s.cfg.Jitter == 0 {
		return d
	}
	return max(d-time.Duration(rand.Float64()*s.cfg.Jitter*float64(d)), 1)
}

// store keeps n instead of the entry of its key, but an error does not replace a result that
// can still be an answer. If n is not to be kept, the older entry is removed. Under the lock
// of the key's shard.
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

// serves reports whether e, past its TTL, is an answer before anything is executed: by Stale, or
// by StaleIfError if it is known that an execution would fail.
func (s *Server[T, K, V]) serves(e *Entry[V], now int64) bool {
	if isStale(e, now, s.cfg.Stale) {
		return true
	}
	_, failed := e.failure()
	return failed != nil && isStale(e, now, s.cfg.StaleIfError)
}

// fail notes that an execution of the key has failed, or was refused, if there is a
// result that can be an answer instead. The end of a context says nothing of the next execution.
// Under the lock of the key's shard. A cache of others may panic.
func (f *flight[T, K, V]) fail(err error) {
	s := f.p.s
	if !f.keep || f.forgotten || s.cfg.Backoff == 0 || isAny(err, context.Canceled, firq.ErrClosed) {
		return
	}
	e, now := s.lookup(f.hash, &f.key), s.clock.Now()
	if s.answers(e, now) && now >= e.fresh-int64(s.cfg.RefreshAhead) { // else another execution has just made it
		s.postpone(e, err, now)
	}
}

// postpone keeps e from being refreshed for Config.Backoff. Under the lock of the key's shard.
func (s *Server[T, K, V]) postpone(e *Entry[V], err error, now int64) {
	e.fail(err, now+int64(s.shortened(s.cfg.Backoff)), e.fresh+s.cfg.grace())
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

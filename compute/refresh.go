package compute

import (
	"context"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// refresh makes a result anew in the background, unless its execution is under way or has
// just failed. A refresh is a flight like any other, whose leader is a goroutine that never
// gives up.
func (s *Server[T, K, V]) refresh(ctx context.Context, k *Key[T, K], h uint64, o *options[T, K, V], e *Entry[V], now int64) {
	if retry, _ := e.failure(); now < retry {
		return
	}
	if e.flags.Load()&refreshing != 0 || e.flags.Or(refreshing)&refreshing != 0 {
		return
	}
	if f := s.departBehind(k, h, o, e); f != nil {
		go f.refresh(context.WithoutCancel(ctx), e)
	}
}

// departBehind returns a flight for a refresh, and counts it as at work; nil if none is
// needed. A custom cache may panic.
func (s *Server[T, K, V]) departBehind(k *Key[T, K], h uint64, o *options[T, K, V], e *Entry[V]) (f *flight[T, K, V]) {
	entered := s.life.enter()
	defer func() {
		if f == nil {
			e.flags.And(^refreshing)
			if entered {
				s.life.leave()
			}
		}
	}()
	if entered {
		f = s.enlistBehind(k, h, o, e)
	}
	return f
}

// enlistBehind returns a flight for a refresh; nil if the result is being made, or has just been.
func (s *Server[T, K, V]) enlistBehind(k *Key[T, K], h uint64, o *options[T, K, V], e *Entry[V]) *flight[T, K, V] {
	p := s.shard(h)
	failpoint.Lock(&p.mu, "enlist behind")
	defer p.mu.Unlock() // whatever a cache of others does
	if p.flights.find(h, k) != nil || s.lookup(h, k) != e {
		return nil
	}
	f := s.depart(p, *k, h, o)
	f.behind, f.listed = true, true
	p.flights.add(f)
	return f
}

// refresh is the refresh's own goroutine.
func (f *flight[T, K, V]) refresh(ctx context.Context, e *Entry[V]) {
	s, c := f.p.s, f.call()
	defer s.life.leave()
	defer e.flags.And(^refreshing)
	defer func() {
		// A panic of Cost, or of the gate's functions: there is no caller to whom it
		// could go. A caller that had joined leads now, or the next one to come, and gets it.
		if v := recover(); v != nil {
			err := panicked(v)
			f.p.mu.Lock()
			s.postpone(e, err, s.clock.Now())
			f.p.mu.Unlock()
			s.tellPanic(c, err)
		}
	}()
	if a := f.lead(ctx, time.Time{}); a.err != nil {
		c.Group = max(a.info.Group, 0)
		s.tellBehind(c, a.err)
	}
}

package compute

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// sweeper frees what has expired: a timer that rings somewhat after the first entry
// has, and walks over the cache then. There is none while nothing can expire.
type sweeper struct {
	next    atomic.Int64 // the earliest end that the timer, or a walk, will look at; written under mu
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// never is what an end that is further away counts as.
const never = int64(forever) / 2

// willExpire sees to it that the timer rings after end. For most entries it is one look.
func (s *sieve[T, K, V]) willExpire(end int64) {
	if end < s.sweep.next.Load() {
		s.arm(end)
	}
}

// arm sets the timer: the more there is to walk over, and the longer it was kept, the
// more time may pass.
func (s *sieve[T, K, V]) arm(end int64) {
	now := s.clock.Now()
	left := max(end-now, 0)
	if left >= never {
		return
	}
	w := &s.sweep
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || end >= w.next.Load() {
		return
	}
	w.next.Store(end)
	in := time.Duration(left+left/16) + time.Millisecond + time.Duration(s.n.Load())*2*time.Microsecond
	if w.timer == nil {
		w.timer = time.AfterFunc(in, s.expire)
	} else {
		w.timer.Reset(in)
	}
}

// expire walks over the cache.
func (s *sieve[T, K, V]) expire() {
	w := &s.sweep
	w.mu.Lock()
	w.next.Store(math.MaxInt64) // a call that sets an entry from now on arms
	stopped := w.stopped
	w.mu.Unlock()
	if stopped {
		return
	}
	now, first := s.clock.Now(), int64(math.MaxInt64)
	s.removeIf(func(n *node[T, K, V]) bool {
		end := s.end(&n.Entry)
		if end <= now {
			return true
		}
		first = min(first, end)
		return false
	})
	if first < math.MaxInt64 {
		s.arm(first)
	}
}

// stop ends it for good.
func (s *sieve[T, K, V]) stop() {
	s.sweep.mu.Lock()
	defer s.sweep.mu.Unlock()
	s.sweep.stopped = true
	if s.sweep.timer != nil {
		s.sweep.timer.Stop()
	}
}

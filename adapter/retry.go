package adapter

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// LeastRetry and MostRetry bound an estimate. Jitter comes on top: up to a half of it.
const (
	LeastRetry = time.Second
	MostRetry  = time.Minute
)

// A window of the measurement is at least minWindow long. One that is longer than
// maxWindow says nothing: in between there was nothing to refuse, so the gate may
// have been idle.
const (
	minWindow = time.Second
	maxWindow = 10 * time.Second
)

// Estimator estimates how long the calls that wait now will take to be served: their
// number, divided by the rate at which permits were given out lately. It looks
// only when a call is refused, so that calls that are served pay nothing. The zero
// value is ready; safe for concurrent use; never waits.
type Estimator struct {
	mu     sync.Mutex // guards since and served; a call that does not get it immediately does without
	since  time.Time  // the window began; zero: there is none
	served uint64     // until then

	rate atomic.Uint64 // bits of a float64: permits per second, above 0; 0: unknown
}

// Estimate returns the estimate, LeastRetry to MostRetry; LeastRetry as long as the rate is not
// known, which takes a second of refusals. served are the permits that were given
// out so far.
func (e *Estimator) Estimate(now time.Time, waiting int, served uint64) time.Duration {
	if e.mu.TryLock() {
		e.look(now, served)
		e.mu.Unlock()
	}
	rate := math.Float64frombits(e.rate.Load())
	if rate == 0 || waiting <= 0 {
		return LeastRetry
	}
	seconds := min(float64(waiting)/rate, MostRetry.Seconds())
	return max(time.Duration(seconds*float64(time.Second)), LeastRetry)
}

// look ends the window if it is time to; half of the new rate is the old one.
func (e *Estimator) look(now time.Time, served uint64) {
	took := now.Sub(e.since)
	if !e.since.IsZero() && (took < minWindow || served < e.served) { // less: it was read too long ago
		return
	}
	rate := 0.0
	if !e.since.IsZero() && took <= maxWindow {
		rate = float64(served-e.served) / took.Seconds()
		if old := math.Float64frombits(e.rate.Load()); old > 0 {
			rate = (rate + old) / 2
		}
		rate = max(rate, 1e-3) // no request was served: that is known, too
	}
	e.rate.Store(math.Float64bits(rate))
	e.since, e.served = now, served
}

// SpreadSeconds spreads whole seconds: d rounded up to n, and by chance, 0 <= r < 1, up
// to n/2 more, rounded up. So of clients that are refused together not all come
// back together.
func SpreadSeconds(d time.Duration, r float64) time.Duration {
	n := int64((d + time.Second - 1) / time.Second)
	most := (n + 1) / 2
	return time.Duration(n+int64(r*float64(most+1))) * time.Second
}

// Spread returns d and, by chance, 0 <= r < 1, up to a half more; two significant
// digits, so that there are few different ones.
func Spread(d time.Duration, r float64) time.Duration {
	d += time.Duration(r * float64(d) / 2)
	step := 100 * time.Millisecond
	if d >= 10*time.Second {
		step = time.Second
	}
	return d.Truncate(step)
}

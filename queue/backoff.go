package queue

import (
	"math"
	"math/rand/v2"
	"time"
)

// Defaults of Backoff.
const (
	DefaultBackoffFirst = time.Second
	DefaultBackoffMax   = time.Hour
)

// Backoff says how long after its n-th attempt a task is tried again: First * Factor^(n-1), at most
// Max, and of that a random part, evenly from 0 to all of it ("full jitter", so that what failed
// together does not come back together).
type Backoff struct {
	First    time.Duration // 0: 1 s
	Max      time.Duration // 0: 1 h
	Factor   float64       // 0: 2
	NoJitter bool
	// Func, if set, returns the pause instead, jitter included. attempt is 1 for the first.
	Func func(attempt int) time.Duration
}

// after returns the pause after an attempt.
func (b Backoff) after(attempt int) time.Duration {
	if b.Func != nil {
		return max(b.Func(attempt), 0)
	}
	d := float64(b.First) * math.Pow(b.Factor, float64(attempt-1))
	if !(d < float64(b.Max)) { // infinite, too
		d = float64(b.Max)
	}
	if !b.NoJitter {
		d *= rand.Float64()
	}
	return time.Duration(d)
}

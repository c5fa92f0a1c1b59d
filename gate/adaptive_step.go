package gate

import (
	"math"
	"time"
)

// How the limit moves at the end of a window: see Adaptive for the rule.

// step ends a window. Under mu.
func (a *Adaptive) step(now time.Time) {
	w := a.window
	latency := 0.0 // of none
	if n := w.samples - w.failures; n > 0 {
		latency = max(w.sum/float64(n), 1e-9) // a clock may be coarse
	}
	switch {
	case latency == 0:
		a.steer(&w, latency)
		if a.phase == probing { // in vain
			a.phase, a.windows = steering, 0
		}
	case a.phase == probing:
		a.probed(latency, now)
		return
	case a.phase == starting:
		a.start(&w, latency)
	default:
		a.steer(&w, latency)
	}
	settle := settling(latency)
	if a.windows++; a.phase == steering && a.windows >= a.cfg.ProbeEvery && latency > 0 {
		a.phase, a.before = probing, latency
		a.set(a.limit/3, now, settle)
		return
	}
	a.set(a.limit, now, settle)
}

// settling is how long what began before is still coming back: about as long as work
// takes, at most an hour.
func settling(latency float64) time.Duration {
	return time.Duration(min(latency, 3600) * float64(time.Second))
}

// start doubles the limit, unless latency has risen.
func (a *Adaptive) start(w *window, latency float64) {
	n := float64(w.samples - w.failures)
	chance := 1 + 1/math.Sqrt(n) + 1/math.Sqrt(max(a.learnt, 1)) // both are averages of few
	if a.noLoad > 0 && latency > a.cfg.Tolerance*a.noLoad*chance || a.excess(w) > 0 {
		a.phase = steering
		if a.noLoad == 0 {
			a.noLoad = latency
		}
		a.steer(w, latency)
		return
	}
	if a.noLoad == 0 || latency <= 1.25*a.noLoad*chance { // what is more is load
		a.learnt += n
		a.noLoad += (latency - a.noLoad) * n / a.learnt
	}
	a.raise(2*a.limit, w)
}

// excess returns the share of failures beyond what is tolerated, and beyond what may
// be chance: two standard deviations of as many calls.
func (a *Adaptive) excess(w *window) float64 {
	n, p := float64(w.samples), a.cfg.FailureTolerance
	return max(float64(w.failures)/n-p-2*math.Sqrt(p*(1-p)/n), 0)
}

// steer moves the limit by the latency and the failures of a window. Latency 0:
// every call has failed.
func (a *Adaptive) steer(w *window, latency float64) {
	if 2*w.used < a.actual {
		return // nothing is known about such a limit
	}
	factor, excess := 1.0, a.excess(w)
	if latency > 0 {
		a.unlearn(latency)
		factor = min(max(math.Sqrt(a.cfg.Tolerance*a.noLoad/latency), 0.5), 1.5)
	}
	if excess > 0 {
		factor = max(min(factor, 1)*(1-excess), 0.5)
	}
	if limit := a.limit*factor + 0.2; limit > a.limit && excess == 0 {
		a.raise(limit, w)
	} else {
		a.limit = a.bound(a.limit * factor)
	}
}

// unlearn notices that the latency without load has become another one, or was taken
// for less than it is: a third of the limit has not made it fall by half, or there is
// nothing less than the limit. That is what a probe would find; without it the limit
// would go down to Min, and wait there for the next one.
func (a *Adaptive) unlearn(latency float64) {
	switch {
	case latency <= a.cfg.Tolerance*a.noLoad:
		a.fall.limit = 0
	case a.actual == a.cfg.Min:
		a.noLoad, a.fall.limit = latency, 0
	case a.fall.limit == 0 || latency > a.fall.latency:
		a.fall.limit, a.fall.latency = a.limit, latency
	case a.limit <= a.fall.limit/3 && latency > a.fall.latency/2:
		a.noLoad, a.fall.limit = latency, 0
	}
}

// raise lets the limit rise, but not above twice of what was used.
func (a *Adaptive) raise(limit float64, w *window) {
	a.limit = a.bound(max(a.limit, min(limit, float64(2*w.used))))
}

// probed ends a window of a probe.
func (a *Adaptive) probed(latency float64, now time.Time) {
	settle := settling(latency)
	if latency <= a.before/2 && a.actual > a.cfg.Min {
		a.before = latency
		a.set(float64(a.actual)/3, now, settle)
		return
	}
	a.noLoad = latency
	a.phase, a.windows = steering, 0
	a.set(a.limit, now, settle)
}

func (a *Adaptive) bound(limit float64) float64 {
	return min(max(limit, float64(a.cfg.Min)), float64(a.cfg.Max))
}

// set gives the gate its limit, and begins a new window, once what began before has
// come back.
func (a *Adaptive) set(limit float64, now time.Time, settle time.Duration) {
	actual := int(a.bound(limit))
	if actual == a.actual {
		a.window = window{moved: now, began: now}
		return
	}
	a.actual = actual
	a.window = window{moved: now, settle: settle}
	a.gate.SetLimit(actual)
}

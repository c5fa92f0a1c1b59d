package gate

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// Defaults of AdaptiveConfig.
const (
	DefaultWindow           = 200 * time.Millisecond
	DefaultMinSamples       = 16
	DefaultTolerance        = 1.5
	DefaultFailureTolerance = 0.01
	DefaultProbeEvery       = 100
)

// AdaptiveConfig says how a limit moves. Only Max is needed.
type AdaptiveConfig struct {
	// Min and Max bound the limit, 1 to MaxSlots. Min 0: 1. The limit begins at Min.
	// While the limit is below a permit's weight that permit waits, so let Min be at
	// least the largest weight.
	Min, Max int
	// Window is how long latencies are averaged before the limit may move.
	// 0: 200 ms.
	Window time.Duration
	// MinSamples is how many calls a window needs; it goes on until it has them. 0:
	// 16.
	MinSamples int
	// Tolerance is how many times the latency without load is still fine, at least
	// 1. 0: 1.5.
	Tolerance float64
	// FailureTolerance is the share of the calls of a window that may fail without
	// consequence, at least 0 and below 1. 0: 0.01, which is one in a hundred.
	FailureTolerance float64
	// ProbeEvery is after how many windows the latency without load is measured
	// anew, with a third of the limit for about as long as 4 x MinSamples calls take.
	// 0: 100.
	ProbeEvery int
	// Now is the clock. nil: time.Now.
	Now func() time.Time
}

// Adaptive finds a limit by latency, for work whose capacity is not known or
// changes: more at a time does not make it faster beyond some point, only later.
//
// It begins with a limit of Min, whatever the limit was, and doubles it after each
// window as long as latency stays within Tolerance (slow start, as TCP has it): a
// limit that is far too high at the start would fill the backend with work that
// takes minutes to drain. All latencies up to there are averaged; that is the
// latency without load. From then on, after each window
//
//	limit = limit x sqrt(Tolerance x latency without load / average latency) + 0.2
//
// with a factor of 0.5 to 1.5, which has its rest where work takes Tolerance times
// as long as it does without load: with a limit of Tolerance x as many slots as the
// backend can serve at a time. The rule is that of Netflix' concurrency-limits
// (github.com/Netflix/concurrency-limits, 2018), whose idea is that of TCP Vegas
// (Brakmo and Peterson, 1995), without the root of the limit on top, which is many
// times what a small backend can do. What differs too: latencies are averages of
// windows, for single ones vary with the work; what began before the limit moved
// is not averaged; and the latency without load is measured again by letting in a
// third as many for a moment, as BBR does (Cardwell et al., ACM Queue 2016), because
// what was true once need not be. If latency falls by half and more by that, then
// even a third was too much, and a third of that is tried.
//
// A window in which the limit was never used to the half changes nothing, and the
// limit does not rise above twice of what was used. Failures beyond
// FailureTolerance shrink the limit by their share, at most by half; their
// latencies do not count.
//
// If Min is above what the backend can do at a time, then the latency at Min is
// taken for that without load, and the limit settles at up to Tolerance x Min. A
// backend that finishes few calls is learnt slowly, by MinSamples calls at a time.
//
// It moves only one limit, that of all tenants together. Work whose latency says
// nothing about load (say, a chat that stays open) needs a fixed limit. Safe for
// concurrent use; Observe takes a lock for a moment.
type Adaptive struct {
	gate Limiter        // immutable
	cfg  AdaptiveConfig // immutable

	mu      sync.Mutex
	phase   phase
	limit   float64                          // as it would be without probing
	actual  int                              // as the gate has it
	noLoad  float64                          // seconds; 0: not measured yet
	learnt  float64                          // samples that noLoad is the average of, while starting
	before  float64                          // probing: the latency with three times the limit, seconds
	fall    struct{ limit, latency float64 } // where the limit began to fall for latency; 0: it does not
	windows int                              // since the last probe
	window  window
}

// phase is what Adaptive is about.
type phase uint8

const (
	starting phase = iota // doubling, and learning the latency without load
	steering
	probing
)

// window is what has been seen since the limit moved.
type window struct {
	moved    time.Time     // when the limit did
	settle   time.Duration // how long what began before is still coming back
	over     bool          // more slots are taken than the limit
	began    time.Time     // zero: not yet
	sum      float64       // seconds, of those that did not fail
	samples  int
	failures int
	used     int // highest InUse
}

// Limiter is what Adaptive needs of a Gate.
type Limiter interface {
	SetLimit(n int)
	Limit() int
	InUse() int
}

// NewAdaptive returns an Adaptive that moves g's limit, and sets it to Min. A config
// that makes no sense is firq.ErrInvalidConfig.
func NewAdaptive(g Limiter, cfg AdaptiveConfig) (*Adaptive, error) {
	bad := func(field string, value any, must string) (*Adaptive, error) {
		return nil, fmt.Errorf("%w: %s: %v, must be %s", firq.ErrInvalidConfig, field, value, must)
	}
	orDefault(&cfg.Min, 1)
	orDefault(&cfg.Window, DefaultWindow)
	orDefault(&cfg.MinSamples, DefaultMinSamples)
	orDefault(&cfg.Tolerance, DefaultTolerance)
	orDefault(&cfg.FailureTolerance, DefaultFailureTolerance)
	orDefault(&cfg.ProbeEvery, DefaultProbeEvery)
	switch {
	case cfg.Min < 1 || cfg.Min > MaxSlots:
		return bad("Min", cfg.Min, fmt.Sprintf("1 to %d", MaxSlots))
	case cfg.Max < cfg.Min || cfg.Max > MaxSlots:
		return bad("Max", cfg.Max, fmt.Sprintf("Min to %d", MaxSlots))
	case cfg.Window < 0:
		return bad("Window", cfg.Window, "positive")
	case cfg.MinSamples < 1:
		return bad("MinSamples", cfg.MinSamples, "positive")
	case !(cfg.Tolerance >= 1) || math.IsInf(cfg.Tolerance, 0):
		return bad("Tolerance", cfg.Tolerance, "at least 1, and finite")
	case !(cfg.FailureTolerance >= 0 && cfg.FailureTolerance < 1):
		return bad("FailureTolerance", cfg.FailureTolerance, "at least 0, and below 1")
	case cfg.ProbeEvery < 1:
		return bad("ProbeEvery", cfg.ProbeEvery, "positive")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	a := &Adaptive{gate: g, cfg: cfg, limit: float64(cfg.Min)}
	a.set(a.limit, cfg.Now(), 0)
	return a, nil
}

func orDefault[N int | float64 | time.Duration](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}

// Observe tells of one piece of work: how long it took with its permit (not what
// it waited for the permit), and whether it failed for want of capacity, say by a
// timeout. Call it before Release, so that its own permit counts as used.
func (a *Adaptive) Observe(latency time.Duration, failed bool) {
	now := a.cfg.Now() // user code: not under mu
	a.mu.Lock()
	defer a.mu.Unlock()
	w := &a.window
	inUse := a.gate.InUse()
	if w.began.IsZero() && !w.settled(now, inUse <= a.actual) {
		return
	}
	w.samples++
	w.used = max(w.used, inUse)
	if failed {
		w.failures++
	} else {
		w.sum += max(latency, 0).Seconds()
	}
	need := a.cfg.MinSamples
	if a.phase == probing {
		need *= 4 // what is measured stays for long
	}
	if w.samples >= need && now.Sub(w.began) >= a.cfg.Window {
		a.step(now)
	}
}

// settled reports whether what comes back now began after the limit moved, and
// begins the window if so. That is when the slots above the limit have come back,
// and then as much time has passed as work takes.
func (w *window) settled(now time.Time, within bool) bool {
	if !within {
		w.over = true
		return false
	}
	if w.over {
		w.over, w.moved = false, now
	}
	if now.Sub(w.moved) < w.settle {
		return false
	}
	w.began = now
	return true
}

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

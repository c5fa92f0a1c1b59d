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
	DefaultWindow     = 200 * time.Millisecond
	DefaultMinSamples = 16
	DefaultTolerance  = 1.5
	DefaultProbeEvery = 100
)

// AdaptiveConfig says how a limit moves. Only Max is needed.
type AdaptiveConfig struct {
	// Min and Max bound the limit, 1 to MaxSlots. Min 0: 1.
	Min, Max int
	// Window is how long latencies are averaged before the limit may move.
	// 0: 200 ms.
	Window time.Duration
	// MinSamples is how many latencies a window needs; it goes on until it has
	// them. 0: 16.
	MinSamples int
	// Tolerance is how many times the latency without load is still fine, at least
	// 1. 0: 1.5.
	Tolerance float64
	// ProbeEvery is after how many windows the latency without load is measured
	// anew, which takes two windows with a third of the limit. 0: 100.
	ProbeEvery int
	// Now is the clock. nil: time.Now.
	Now func() time.Time
}

// Adaptive finds a limit by latency, for work whose capacity is not known or
// changes: more at a time does not make it faster beyond some point, only later.
//
// It is the gradient rule of Netflix' concurrency-limits (github.com/Netflix/
// concurrency-limits, 2018), whose idea is that of TCP Vegas (Brakmo and
// Peterson, 1995). After each window
//
//	gradient = Tolerance x latency without load / average latency, within 0.5 to 1
//	limit    = limit x gradient + sqrt(limit)
//
// so it grows by its root while latency is fine, and settles where the work takes
// Tolerance times as long as it does without load. What differs: latencies are
// averages of windows, for single ones vary with the work; and the latency
// without load is measured again by letting in a third as many for a moment, as BBR
// does (Cardwell et al., ACM Queue 2016), because what was true once need not be.
// A window in which the limit was never used to the half changes nothing; one
// with failures shrinks the limit by a tenth.
//
// It moves only one limit, that of all tenants together. Work whose latency says
// nothing about load (say, a chat that stays open) needs a fixed limit. Safe for
// concurrent use; Observe takes a lock for a moment.
type Adaptive struct {
	gate Limiter        // immutable
	cfg  AdaptiveConfig // immutable

	mu       sync.Mutex
	limit    float64 // as it would be without probing
	noLoad   float64 // seconds; 0: not measured yet
	windows  int     // since the last probe
	probing  int     // windows that a probe still takes
	began    time.Time
	sum      float64 // seconds, of this window
	samples  int
	failures int
	used     int // highest InUse seen in this window
}

// Limiter is what Adaptive needs of a Gate.
type Limiter interface {
	SetLimit(n int)
	Limit() int
	InUse() int
}

// NewAdaptive returns an Adaptive that moves g's limit, starting with the one that
// g has. A config that makes no sense is firq.ErrInvalidConfig.
func NewAdaptive(g Limiter, cfg AdaptiveConfig) (*Adaptive, error) {
	bad := func(field string, value any, must string) (*Adaptive, error) {
		return nil, fmt.Errorf("%w: %s: %v, must be %s", firq.ErrInvalidConfig, field, value, must)
	}
	orDefault(&cfg.Min, 1)
	orDefault(&cfg.Window, DefaultWindow)
	orDefault(&cfg.MinSamples, DefaultMinSamples)
	orDefault(&cfg.Tolerance, DefaultTolerance)
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
	case cfg.ProbeEvery < 1:
		return bad("ProbeEvery", cfg.ProbeEvery, "positive")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	a := &Adaptive{gate: g, cfg: cfg, limit: float64(g.Limit()), began: cfg.Now()}
	a.set(a.limit)
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
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sum += max(latency, 0).Seconds()
	a.samples++
	if failed {
		a.failures++
	}
	a.used = max(a.used, a.gate.InUse())
	now := a.cfg.Now()
	if a.samples < a.cfg.MinSamples || now.Sub(a.began) < a.cfg.Window {
		return
	}
	a.move(a.sum / float64(a.samples))
	a.began, a.sum, a.samples, a.failures, a.used = now, 0, 0, 0, 0
}

// move ends a window with such an average latency. Under mu.
func (a *Adaptive) move(latency float64) {
	if a.probing > 0 {
		if a.probing--; a.probing == 0 {
			a.noLoad = latency
			a.set(a.limit)
		}
		return // what began before the probe may still have been in this window
	}
	if a.noLoad == 0 || latency < a.noLoad {
		a.noLoad = latency
	}
	switch {
	case a.failures > 0:
		a.set(a.limit * 0.9)
	case 2*a.used >= a.gate.Limit() && latency > 0:
		gradient := min(max(a.cfg.Tolerance*a.noLoad/latency, 0.5), 1)
		a.set(a.limit*gradient + math.Sqrt(a.limit))
	}
	if a.windows++; a.windows >= a.cfg.ProbeEvery {
		a.windows, a.probing = 0, 2
		a.gate.SetLimit(max(int(a.limit/3), a.cfg.Min))
	}
}

// set changes the limit, within Min and Max.
func (a *Adaptive) set(limit float64) {
	a.limit = min(max(limit, float64(a.cfg.Min)), float64(a.cfg.Max))
	a.gate.SetLimit(int(a.limit))
}

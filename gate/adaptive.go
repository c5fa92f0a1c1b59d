package gate

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// Adaptive finds a limit by latency, for work whose capacity is unknown or changes:
// beyond some point, more calls at a time do not finish more work, they only take
// longer.
//
// It begins with a limit of Min, whatever the limit was, and doubles it after each
// window as long as latency stays within Tolerance (slow start, as TCP has it): a limit
// that is far too high at the start would fill the backend with work that takes minutes
// to drain. The average of all latencies up to that point is the latency without load.
// From then on, after each window
//
//	limit = limit x sqrt(Tolerance x latency without load / average latency) + 0.2
//
// with a factor of 0.5 to 1.5, which comes to rest where work takes Tolerance times as
// long as it does without load, that is, at a limit of Tolerance x the number of calls
// that the backend can serve at a time. The rule is that of Netflix' concurrency-limits
// (github.com/Netflix/concurrency-limits, 2018), whose idea is that of TCP Vegas
// (Brakmo and Peterson, 1995). It differs in four ways. It does not add the square root
// of the limit, which is many times what a small backend can do. Latencies are averages
// of windows, because single ones vary with the work. Calls that began before the limit
// moved are not averaged. And the latency without load is measured again by letting in
// a third as many calls for a moment, as BBR does (Cardwell et al., ACM Queue 2016),
// because it may have changed. If that makes latency fall by half or more, even a third
// was too much, and a third of that is tried.
//
// A window in which less than half of the limit was ever used changes nothing, and the
// limit does not rise above twice what was used. Failures beyond FailureTolerance
// shrink the limit by their share, at most by half; their latencies do not count.
//
// If Min is above what the backend can do at a time, then the latency at Min is taken
// for the latency without load, and the limit settles at up to Tolerance x Min.
// Adaptive learns slowly about a backend that finishes few calls, because it needs
// MinSamples calls at a time.
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

// phase is what Adaptive is doing.
type phase uint8

const (
	starting phase = iota // doubling, and learning the latency without load
	steering
	probing
)

// window holds the measurements since the limit last moved.
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

// Limiter is the part of a Gate that Adaptive uses.
type Limiter interface {
	SetLimit(n int)
	Limit() int
	InUse() int
}

// NewAdaptive returns an Adaptive that moves g's limit, and sets it to Min. A config
// that makes no sense is firq.ErrInvalidConfig, a nil g firq.ErrInvalidArgument.
func NewAdaptive(g Limiter, cfg AdaptiveConfig) (*Adaptive, error) {
	if v := reflect.ValueOf(g); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errNilLimiter
	}
	cfg, err := cfg.check()
	if err != nil {
		return nil, err
	}
	a := &Adaptive{gate: g, cfg: cfg, limit: float64(cfg.Min)}
	a.set(a.limit, cfg.Now(), 0)
	return a, nil
}

var errNilLimiter = fmt.Errorf("%w: gate: NewAdaptive: g is nil", firq.ErrInvalidArgument)

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

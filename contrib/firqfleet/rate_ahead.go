package firqfleet

// What a Rate remembers of a tenant between two questions.

import (
	"math"
	"time"

	"github.com/firq-go/firq/rate"
)

// ahead is what is known here of a tenant. Guarded by Rate.mu.
type ahead struct {
	at     time.Duration // of the last answer
	used   float64       // by then
	tokens int64         // taken ahead, until
	until  time.Duration
	denied time.Duration // a call of at least this cost was refused, or would have been, at
	cost   int64
	wait   time.Duration // it would have passed after
	asks   chan struct{} // closed when the call that asks has its answer; nil: none asks for all
}

// note remembers an answer, and returns the result.
func (r *Rate) note(tenant string, l rate.Limit, cost, what int64, wait time.Duration, used float64, took int64) rate.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, a := time.Since(r.begin), r.tenants[tenant]
	if a == nil {
		if len(r.tenants) >= max(r.sweepAt, 1024) {
			for name, old := range r.tenants {
				if now-old.at > forget && old.asks == nil {
					delete(r.tenants, name)
				}
			}
			r.sweepAt = 2 * len(r.tenants)
		}
		a = &ahead{}
		r.tenants[tenant] = a
	}
	if now >= a.until {
		a.tokens = 0
	}
	a.at, a.used = now, used
	if took > 0 {
		a.tokens, a.until = a.tokens+took, now+aheadLasts
	}
	if what == refused {
		a.denied, a.cost, a.wait = now, cost, wait
	} else if next := after(l, cost, used); next > 0 { // the next one like it would be refused, and need not ask
		a.denied, a.cost, a.wait = now, cost, next
	}
	res := a.result(l, now)
	if what == refused {
		res.RetryAfter = wait
	}
	return res
}

// after is when a cost would pass, as the script has it.
func after(l rate.Limit, cost int64, used float64) time.Duration {
	if cost <= l.Burst {
		used += float64(cost - l.Burst)
	}
	return seconds(max(0, used) / l.PerSecond)
}

// result says how it stands with a tenant. Under mu.
func (a *ahead) result(l rate.Limit, now time.Duration) rate.Result {
	used := max(0, a.used-(now-a.at).Seconds()*l.PerSecond)
	ours := 0.0
	if now < a.until {
		ours = float64(a.tokens)
	}
	res := rate.Result{Limit: l, Remaining: l.Burst, Reset: seconds(used / l.PerSecond)}
	if left := math.Floor(float64(l.Burst) - max(0, used-ours) + 1e-6); left < float64(l.Burst) {
		res.Remaining = int64(max(left, 0))
	}
	return res
}

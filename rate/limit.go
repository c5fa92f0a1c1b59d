package rate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/firq-go/firq"
)

// ErrLimited refuses a call whose tenant has used its rate. It matches firq.ErrRejected.
var ErrLimited = fmt.Errorf("%w: the tenant has used its rate", firq.ErrRejected)

// The range of Limit.PerSecond, apart from 0.
const (
	minPerSecond = 1e-6
	maxPerSecond = 1e12
)

// Limit is what a tenant may use. The zero Limit is none: everything passes.
type Limit struct {
	// PerSecond is how much comes back per second, from 1e-6 to 1e12. 0: no limit, and
	// then Burst must be 0 too.
	PerSecond float64
	// Burst is how much a tenant saves up, and has at first. 0: what a second brings,
	// rounded up, which is at least 1.
	Burst int64
}

// Resolve returns the limit with its default filled in, or an error that matches
// firq.ErrInvalidConfig and names each field that makes no sense.
func (l Limit) Resolve() (Limit, error) {
	r, ok := l.resolve()
	if ok {
		return r, nil
	}
	var errs []error
	if l.PerSecond != 0 && !(l.PerSecond >= minPerSecond && l.PerSecond <= maxPerSecond) { // NaN is neither
		errs = append(errs, fmt.Errorf("%w: PerSecond: %v, must be 0, or from %v to %v", firq.ErrInvalidConfig, l.PerSecond, minPerSecond, maxPerSecond))
	}
	if l.Burst < 0 {
		errs = append(errs, fmt.Errorf("%w: Burst: %d, must not be negative", firq.ErrInvalidConfig, l.Burst))
	}
	if l.Burst > 0 && l.PerSecond == 0 {
		errs = append(errs, fmt.Errorf("%w: Burst: %d, without PerSecond", firq.ErrInvalidConfig, l.Burst))
	}
	return Limit{}, errors.Join(errs...)
}

// resolve is Resolve without the words.
func (l Limit) resolve() (Limit, bool) {
	if l.PerSecond >= minPerSecond && l.PerSecond <= maxPerSecond && l.Burst >= 0 {
		if l.Burst == 0 {
			l.Burst = int64(math.Ceil(l.PerSecond))
		}
		return l, true
	}
	return Limit{}, l == Limit{}
}

// Result is how it stands with a tenant after a Take. Of a tenant without a limit it is
// the zero Result, but for Waited.
type Result struct {
	Limit      Limit         // its limit, the default of Burst filled in; zero: none
	Remaining  int64         // what is left of the burst; 0 while there is a debt
	Reset      time.Duration // until the burst is whole again
	RetryAfter time.Duration // of a call that was refused: until one of this cost would pass
	Waited     time.Duration // how long the call waited
}

// Taker is what middleware needs of a rate. Limiter is one.
type Taker[K comparable] interface {
	// Take takes cost from what the tenant may use, as soon as there is enough, and waits
	// for that at most maxWait. If maxWait or ctx would end first it takes nothing, and
	// returns immediately ErrLimited, with Result.RetryAfter. If ctx ends while it waits,
	// it returns the context's error, and takes nothing. Cost 0 passes unless there is a
	// debt. A negative cost or maxWait, and a tenant that is not equal to itself, are
	// errors that match firq.ErrInvalidTask; a nil ctx is one that matches
	// firq.ErrInvalidArgument.
	Take(ctx context.Context, tenant K, cost int64, maxWait time.Duration) (Result, error)
	// Charge takes delta more, if necessary as a debt, or gives back what a negative
	// delta says, at most until the burst is whole. It does so also if ctx has ended.
	Charge(ctx context.Context, tenant K, delta int64) error
}

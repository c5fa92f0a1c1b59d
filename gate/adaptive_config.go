package gate

import (
	"fmt"
	"math"
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
	// MinSamples is how many calls a window needs; the window stays open until it has
	// them. 0: 16.
	MinSamples int
	// Tolerance is the highest acceptable latency, as a multiple of the latency without
	// load, at least
	// 1. 0: 1.5.
	Tolerance float64
	// FailureTolerance is the share of the calls of a window that may fail without
	// consequence, at least 0 and below 1. 0: 0.01, which is one in a hundred.
	FailureTolerance float64
	// ProbeEvery is the number of windows after which the latency without load is
	// measured anew, with a third of the limit for about as long as 4 x MinSamples
	// calls take. 0: 100.
	ProbeEvery int
	// Now is the clock. nil: time.Now.
	Now func() time.Time
}

// check fills in the defaults, and refuses what makes no sense.
func (c AdaptiveConfig) check() (AdaptiveConfig, error) {
	bad := func(field string, value any, must string) (AdaptiveConfig, error) {
		return c, fmt.Errorf("%w: %s: %v, must be %s", firq.ErrInvalidConfig, field, value, must)
	}
	orDefault(&c.Min, 1)
	orDefault(&c.Window, DefaultWindow)
	orDefault(&c.MinSamples, DefaultMinSamples)
	orDefault(&c.Tolerance, DefaultTolerance)
	orDefault(&c.FailureTolerance, DefaultFailureTolerance)
	orDefault(&c.ProbeEvery, DefaultProbeEvery)
	switch {
	case c.Min < 1 || c.Min > MaxSlots:
		return bad("Min", c.Min, fmt.Sprintf("1 to %d", MaxSlots))
	case c.Max < c.Min || c.Max > MaxSlots:
		return bad("Max", c.Max, fmt.Sprintf("Min to %d", MaxSlots))
	case c.Window < 0:
		return bad("Window", c.Window, "positive")
	case c.MinSamples < 1:
		return bad("MinSamples", c.MinSamples, "positive")
	case !(c.Tolerance >= 1) || math.IsInf(c.Tolerance, 0):
		return bad("Tolerance", c.Tolerance, "at least 1, and finite")
	case !(c.FailureTolerance >= 0 && c.FailureTolerance < 1):
		return bad("FailureTolerance", c.FailureTolerance, "at least 0, and below 1")
	case c.ProbeEvery < 1:
		return bad("ProbeEvery", c.ProbeEvery, "positive")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

func orDefault[N int | float64 | time.Duration](field *N, value N) {
	if *field == 0 {
		*field = value
	}
}

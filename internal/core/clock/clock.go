// Package clock is the time that the cores use: nanoseconds on the monotonic
// clock since shortly before the clock was made, and the way from and to
// deadlines. Where the kernel itself keeps time by the processor's time stamp
// counter, so does this package, at less than half the price of a call of the
// runtime's clock.
package clock

import (
	"math"
	"time"
)

// Never is the due time of a task without a deadline.
const Never = math.MaxInt64

// epoch is where the process counts from.
var epoch = time.Now()

// Clock counts from a fixed instant. Immutable, safe for concurrent use.
type Clock struct {
	base   time.Time
	offset int64 // of base, in nanoseconds after epoch
	bubble bool  // made in a synctest bubble: its time is the bubble's
}

// New returns a clock that reads about one second, so that 0 is in the past. In a
// bubble of testing/synctest it goes by the bubble's time.
func New() Clock {
	now := time.Now()
	base := now.Add(-time.Second)
	return Clock{base, int64(base.Sub(epoch)), bubbled(now)}
}

// Bubbled reports whether the clock goes by the time of a synctest bubble.
func (c *Clock) Bubbled() bool { return c.bubble }

// bubbled reports whether a time comes from a bubble of testing/synctest: there
// time.Now returns no monotonic reading, everywhere else it does.
func bubbled(now time.Time) bool {
	return now == now.Round(0) //nolint:staticcheck // Equal does not see the monotonic reading
}

// Now returns the nanoseconds since the clock's base. By the time stamp counter
// it is about a microsecond off the monotonic clock (10 at most, which is what
// the tests allow), and may step back by as much ten times a second.
func (c *Clock) Now() int64 { return now(c.bubble) - c.offset }

// monotonic returns the nanoseconds since epoch by the runtime's clock, and in a
// bubble by the bubble's wall clock.
func monotonic() int64 { return int64(time.Since(epoch)) }

// Due converts a deadline; Never for the zero time and for what is more than 292
// years ahead. A deadline without a monotonic reading is compared by wall clock,
// as it was when the clock was made.
func (c *Clock) Due(deadline time.Time) int64 {
	if deadline.IsZero() {
		return Never
	}
	return int64(deadline.Sub(c.base))
}

// Time is the inverse of Due: the zero time for Never.
func (c *Clock) Time(due int64) time.Time {
	if due == Never {
		return time.Time{}
	}
	return c.base.Add(time.Duration(due))
}

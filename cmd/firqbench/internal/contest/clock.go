package contest

import (
	"time"

	"github.com/firq-go/firq/internal/core/clock"
)

// driver is the clock of the driver and of the adapters: the same code that the
// cores read theirs with, so that none has the cheaper one.
var driver = clock.New()

// Now reads the driver's clock.
func Now() time.Duration { return time.Duration(driver.Now()) }

// ClockCost returns how long a read of the clock takes: what is timed includes
// one.
func ClockCost() time.Duration {
	const reads, trials = 1000, 20
	best := time.Hour
	for range trials {
		start := Now()
		for range reads {
			Now()
		}
		best = min(best, Now()-start)
	}
	return best / reads
}

// OnClock converts t to the driver's clock.
func OnClock(t time.Time) time.Duration { return time.Duration(driver.Due(t)) }

// TimeAt is the inverse of OnClock.
func TimeAt(d time.Duration) time.Time { return driver.Time(int64(d)) }

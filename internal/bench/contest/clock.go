package contest

import "time"

// epoch is where the driver's clock starts.
var epoch = time.Now()

// Now reads the driver's clock: monotonic time since the program began.
func Now() time.Duration { return time.Since(epoch) }

// OnClock converts t to the driver's clock.
func OnClock(t time.Time) time.Duration { return t.Sub(epoch) }

// TimeAt is the inverse of OnClock.
func TimeAt(d time.Duration) time.Time { return epoch.Add(d) }

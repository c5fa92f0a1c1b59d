package peers

import (
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
)

// steadyClock is the real clock until it is stopped.
type steadyClock struct {
	eventclock.Real
	stopped atomic.Pointer[time.Time]
}

func (c *steadyClock) stop() {
	now := c.Real.Now()
	c.stopped.Store(&now)
}

// Now returns the time.
func (c *steadyClock) Now() time.Time {
	if t := c.stopped.Load(); t != nil {
		return *t
	}
	return c.Real.Now()
}

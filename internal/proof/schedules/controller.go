//go:build firq_failpoints

package schedules

import (
	"runtime"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// controller runs one schedule that has more preemptions than an exploration tries: it stops
// calls at marks and lets them go on, and does something itself at the marks of all other
// goroutines. Only one goroutine runs at a time.
type controller struct {
	failpoint.Hook
	at        func(point string) // at the marks of goroutines that are no calls
	processor int                // that all goroutines believe to run on
	busy      bool               // at is running, or switched off
	running   *call
}

// call is a goroutine that runs up to a mark.
type call struct {
	d     *controller
	until string
	over  bool
	pause chan struct{} // it has come there, or to its end
	goOn  chan struct{}
}

// direct installs a controller.
func (st *stage) direct() (d *controller, restore func()) {
	if st.core.Alone {
		st.Skip("it directs steps that are not taken")
	}
	d = &controller{Hook: st.Schedule, at: func(string) {}}
	return d, failpoint.Set(d)
}

// call runs f up to the mark.
func (d *controller) call(until string, f func()) *call {
	c := &call{d: d, pause: make(chan struct{}), goOn: make(chan struct{})}
	go func() {
		<-c.goOn
		f()
		c.over = true
		close(c.pause)
	}()
	c.run(until)
	return c
}

// passes reports whether the call has ended without coming to the mark: its core has no such step.
// Where it should have, the schedule shows nothing.
func (st *stage) passes(c *call, mark string) bool {
	if c.over && st.core.Rings {
		st.Errorf("a call did not come to %q: this schedule shows nothing", mark)
	}
	return c.over
}

// run lets the call go on up to a mark, "" for its end. It does nothing if the call has
// ended, perhaps because its core has no mark at which it was to stop.
func (c *call) run(until string) {
	if c.over {
		return
	}
	before := c.d.running
	c.d.running, c.until = c, until
	c.goOn <- struct{}{}
	<-c.pause
	c.d.running = before
}

// At implements failpoint.Hook.
func (d *controller) At(point string) {
	switch c := d.running; {
	case c != nil:
		if point == c.until {
			c.pause <- struct{}{}
			<-c.goOn
		}
	case !d.busy:
		d.busy = true
		d.at(point)
		d.busy = false
	}
}

// Stuck implements failpoint.Hook.
func (d *controller) Stuck(point string) {
	d.At(point)
	runtime.Gosched()
}

// Processor implements failpoint.Hook.
func (d *controller) Processor() (int, bool) { return d.processor, true }

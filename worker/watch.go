package worker

import (
	"fmt"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// stage is one of the limits that a handler can pass.
type stage uint8

const (
	slow stage = iota
	timedOut
	stuck
	stages
)

// watch looks after the handler that a worker runs. Everything in it is under mu,
// which the worker takes when a handler starts and ends, and the timer when it
// rings; hooks are called with it released.
//
// The timer is lazy. It is not stopped when a handler ends: when it rings it
// looks at what runs by then, and is set again for that. So it is set by a worker only if
// it is not set at all, or for later than the new handler needs.
//
// Each limit of each handler is noted once, by the timer (while the handler runs) or
// by the worker (when it has ended, and the timer was late). So the counters
// depend on how long handlers ran, and not on timers; except stuck, which
// ends with the handler.
type watch[K comparable, T any] struct {
	mu      sync.Mutex
	timer   *time.Timer // nil until it is needed
	armed   int64       // when it rings; never: it is not set
	ringing bool        // ring is at work and will set it

	running bool
	item    Event[K, T]   // of the handler that runs
	start   int64         // when it started
	due     [stages]int64 // when it passes each limit; never: not, or noted
	isStuck bool
}

// begin starts the watch over a handler whose context is cancelled at cancelAt.
func (w *worker[K, T]) begin(it *firq.Item[K, T], start, cancelAt int64) {
	p, o, c := w.pool, &w.pool.opts, &w.watch
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.isStuck = true, false
	c.item, c.start = p.event(it, 0), start
	c.due = [stages]int64{never, never, never}
	if o.SlowAfter > 0 {
		c.due[slow] = later(start, o.SlowAfter)
	}
	if o.Timeout > 0 {
		c.due[timedOut] = later(start, o.Timeout)
	}
	if p.graceOver.Load() {
		cancelAt = min(cancelAt, start)
	}
	if cancelAt != never {
		c.due[stuck] = later(max(cancelAt, start), o.StuckAfter)
	}
	w.arm(start)
}

// cancelled tells the watch that the handler's context has been cancelled now.
func (w *worker[K, T]) cancelled() {
	c := &w.watch
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running && !c.isStuck {
		now := w.pool.now()
		c.due[stuck] = min(c.due[stuck], later(now, w.pool.opts.StuckAfter))
		w.arm(now)
	}
}

// end ends the watch, notes what the timer was late for, and says whether the
// handler was stuck. All of it is done even if a hook ends the goroutine.
func (w *worker[K, T]) end(elapsed int64, wasStuck *bool) {
	c := &w.watch
	c.mu.Lock()
	c.running = false // for the timer
	defer func() {
		*wasStuck = c.isStuck
		c.item = Event[K, T]{} // the payload is not kept alive
		c.mu.Unlock()
	}()
	defer w.noteLate(timedOut, elapsed)
	w.noteLate(slow, elapsed)
}

// noteLate notes a limit that the handler, which has ended, has passed unnoticed.
// Under mu, which is released for the hook.
func (w *worker[K, T]) noteLate(s stage, elapsed int64) {
	if c := &w.watch; c.start+elapsed >= c.due[s] {
		w.note(s, elapsed)
	}
}

// ring is called by the timer.
func (w *worker[K, T]) ring() {
	c := &w.watch
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ringing {
		return // the goroutine at work looks again and sets the timer
	}
	c.ringing = true
	defer func() { // also if a hook ends the goroutine
		c.ringing, c.armed = false, never
		w.arm(w.pool.now())
	}()
	for {
		now := w.pool.now()
		s := c.passed(now)
		if s == stages {
			return
		}
		w.note(s, now-c.start)
	}
}

// passed returns a limit that the handler has passed and that is not noted yet;
// stages: none.
func (c *watch[K, T]) passed(now int64) stage {
	if c.running {
		for s := slow; s < stages; s++ {
			if now >= c.due[s] {
				return s
			}
		}
	}
	return stages
}

// arm sets the timer for the next limit, unless it rings before that anyway.
// Under mu.
func (w *worker[K, T]) arm(now int64) {
	c := &w.watch
	if !c.running || c.ringing {
		return
	}
	next := min(c.due[slow], c.due[timedOut], c.due[stuck])
	if next >= c.armed {
		return
	}
	c.armed = next
	in := time.Duration(next - now)
	if c.timer == nil {
		c.timer = time.AfterFunc(in, w.ring)
	} else {
		c.timer.Reset(in)
	}
}

// disarm stops the timer, which would keep the pool alive until it rings. The
// worker calls it when it leaves.
func (w *worker[K, T]) disarm() {
	c := &w.watch
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.armed = never
}

// note counts that the handler has passed a limit, acts on it, and calls the hook.
// Under mu, which is released for the hook. Run waits for the hook: the worker is live
// until its handler's end is noted, or is made stuck here, after the Add.
func (w *worker[K, T]) note(s stage, elapsed int64) {
	p, c := w.pool, &w.watch
	c.due[s] = never
	e := c.item
	e.Elapsed = time.Duration(elapsed)
	waits := p.hook()
	switch s {
	case slow:
		w.slow.Add(1)
	case timedOut:
		w.timedOut.Add(1)
		if p.opts.TimeoutMode == Stop {
			p.stop(fmt.Errorf("%w: pool %q: a task of tenant %v ran for %v", ErrTimeout, p.opts.Name, e.Tenant, p.opts.Timeout))
		}
	case stuck:
		w.stuck.Add(1)
		c.isStuck = true
		p.stuck(w)
	}
	c.mu.Unlock()
	if waits {
		defer p.hooks.Done()
	}
	defer c.mu.Lock()
	p.tell(s, e)
}

// hook reports whether Run waits for the hook that the caller is about to call; then
// the caller owes hooks.Done.
func (p *Pool[K, T]) hook() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.hooks.Add(1)
	}
	return !p.over
}

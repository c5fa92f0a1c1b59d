package watchdog

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Probe is a call whose duration is watched, for example one that goes the way
// of a request: put a task of a separate tenant into the queue and wait until
// a worker has run it.
type Probe struct {
	// Name in reports; not empty.
	Name string
	// Warning and Critical thresholds, with the defaults of Queue's.
	Warning, Critical time.Duration
	// Call is made once per interval, in its own goroutine, but never
	// before the previous call has returned: what is stuck is reported with its
	// growing duration, and does not pile up. It must return soon after ctx,
	// which is that of Run, is done: Run waits for it. An error is reported
	// as ProbeError, unless ctx is done. Not nil.
	Call func(ctx context.Context) error
}

// errGoexit is the error of a Call that ended its goroutine, as testing's FailNow does. The
// next call is made as after any other error.
var errGoexit = errors.New("watchdog: Probe.Call called runtime.Goexit")

// probe runs a Probe.
type probe struct {
	Probe

	mu      sync.Mutex // protects the rest; never held during a Call
	running bool
	started time.Time     // of the call in progress
	longest time.Duration // of the calls that ended in this interval
	calls   int
	err     error
}

// start begins a call, unless one is in progress. The call's goroutine is in wg.
func (p *probe) start(ctx context.Context, now func() time.Time, wg *sync.WaitGroup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		return
	}
	p.running, p.started = true, now()
	wg.Go(func() {
		err := errGoexit // unless Call returns
		defer func() { p.end(now(), err) }()
		err = p.Call(ctx)
	})
}

func (p *probe) end(now time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = false
	p.longest = max(p.longest, now.Sub(p.started))
	p.calls++
	if err != nil {
		p.err = err
	}
}

// sample ends the interval at now.
func (p *probe) sample(now time.Time) ProbeSample {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := ProbeSample{Name: p.Name, Time: p.longest, Calls: p.calls, Err: p.err}
	if p.running {
		s.Time = max(s.Time, now.Sub(p.started))
	}
	p.longest, p.calls, p.err = 0, 0, nil
	return s
}

package watchdog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
)

// ErrRunning is the error of Run while another Run of the same Watchdog is in
// progress.
var ErrRunning = errors.New("firq: watchdog: Run is in progress")

// Watchdog measures, judges and reports; see the package comment. Make one with
// New. Safe for concurrent use.
type Watchdog struct {
	opts    Options                // immutable
	now     func() time.Time       // time.Now; tests put their own
	read    func() reading         // the runtime's metrics; tests put their own
	profile func(limit int) []byte // stacks; tests put their own
	running atomic.Bool            // held by Run
	status  atomic.Pointer[Status] // written by Run, read by any goroutine; what it points to never changes
	missed  atomic.Uint64          // reports dropped; written by Run, read by any goroutine

	// The rest belongs to the goroutine of Run, handed from one Run to the next
	// by running.
	queues  []*queue
	probes  []*probe
	judge   judge
	start   time.Time     // of this interval
	before  reading       // at start
	late    time.Duration // the worst lateness of this interval
	seq     uint64        // of the last report
	stacked time.Time     // when the last profile was taken; zero: never
}

// New returns a Watchdog that does nothing until Run. The error matches
// firq.ErrInvalidConfig and names the fields of Options.
func New(o Options) (*Watchdog, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	w := &Watchdog{opts: o, now: time.Now, read: newRuntimeMetrics().read, profile: stacks}
	for _, q := range o.Queues {
		w.queues = append(w.queues, &queue{Queue: q})
	}
	for _, p := range o.Probes {
		w.probes = append(w.probes, &probe{Probe: p})
	}
	w.status.Store(&Status{})
	return w, nil
}

// Status returns the level and what was measured last. It does not block. After
// Run it is what Run saw last.
func (w *Watchdog) Status() Status {
	s := *w.status.Load()
	s.Running, s.Missed = w.running.Load(), w.missed.Load()
	return s
}

// Run watches until ctx is done and then returns nil, once the reports that were
// made have been handed to OnReport and the probes have returned: nothing of it
// runs any more. Each Run begins at level OK. It returns ErrRunning if another
// Run is in progress, and firq.ErrInvalidArgument if ctx is nil.
func (w *Watchdog) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("%w: watchdog: ctx is nil", firq.ErrInvalidArgument)
	}
	if !w.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer w.running.Store(false)
	var wg sync.WaitGroup
	defer wg.Wait()
	out := make(chan Report, pending)
	defer close(out) // before wg.Wait, and so is cancel: also if a Read panics
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last := w.seq
	wg.Go(func() { w.opts.deliver(out, last, &wg) })

	w.begin(w.now())
	w.startProbes(ctx, &wg)
	timer := time.NewTimer(w.opts.Tick)
	defer timer.Stop()
	for {
		armed := w.now()
		tick := max(min(w.opts.Tick, w.opts.Interval-armed.Sub(w.start)), 0)
		timer.Reset(tick)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		now := w.now()
		w.late = max(w.late, now.Sub(armed)-tick)
		if now.Sub(w.start) >= w.opts.Interval {
			w.interval(now, out)
			w.startProbes(ctx, &wg)
		}
	}
}

// begin forgets what was before now.
func (w *Watchdog) begin(now time.Time) {
	w.judge = judge{calm: w.opts.Calm, remind: w.opts.Remind, since: now, told: now}
	w.start, w.late, w.before = now, 0, w.read()
	for _, q := range w.queues {
		q.start(now)
	}
	for _, p := range w.probes {
		p.sample(now)
	}
}

func (w *Watchdog) startProbes(ctx context.Context, wg *sync.WaitGroup) {
	for _, p := range w.probes {
		p.start(ctx, w.now, wg)
	}
}

// interval ends the interval at now: measure, judge, report, publish.
func (w *Watchdog) interval(now time.Time, out chan Report) {
	s := w.sample(now)
	found := w.opts.findings(&s)
	previous := w.judge.level
	verdict := w.judge.next(now, worst(found))
	if verdict != silent {
		w.seq++
		w.missed.Add(hand(out, Report{
			Level:    w.judge.level,
			Previous: previous,
			Reminder: verdict == reminder,
			Since:    w.judge.since,
			Findings: found,
			Sample:   s,
			Seq:      w.seq,
			Stacks:   w.stacks(now),
		}))
	}
	w.status.Store(&Status{
		Level:    w.judge.level,
		Since:    w.judge.since,
		Findings: found,
		Sample:   s,
		Reports:  w.seq,
	})
	w.start, w.late = w.now(), 0
}

func (w *Watchdog) sample(now time.Time) Sample {
	r := w.read()
	s := Sample{
		Start:         w.start,
		End:           now,
		TimerLateness: w.late,
		Scheduling:    summarize(r.since(w.before), w.opts.Quantile),
		NoScheduling:  r.latencies == nil,
		Goroutines:    r.goroutines,
		Runnable:      r.runnable,
		Processors:    r.processors,
		ProcessorTime: -1,
	}
	if r.used >= 0 && w.before.used >= 0 {
		s.ProcessorTime = r.used - w.before.used
	}
	w.before = r
	for _, q := range w.queues {
		s.Queues = append(s.Queues, q.sample(now, w.opts.Quantile))
	}
	for _, p := range w.probes {
		s.Probes = append(s.Probes, p.sample(now))
	}
	return s
}

// stacks takes a profile if the level calls for one and the last one is long ago.
func (w *Watchdog) stacks(now time.Time) []byte {
	if w.opts.StackBytes == 0 || w.judge.level != Critical {
		return nil
	}
	if !w.stacked.IsZero() && now.Sub(w.stacked) < w.opts.StackEvery {
		return nil
	}
	w.stacked = now
	return w.profile(w.opts.StackBytes)
}

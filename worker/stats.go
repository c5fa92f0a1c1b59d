package worker

import (
	"sync/atomic"

	"github.com/firq-go/firq/hist"
)

// Stats is a snapshot. The counters only grow. When nothing runs
//
//	Started = Finished, and Finished = those that returned nil + Failed + Panicked
//
// hold exactly, and if the pool was the scheduler's only consumer, Started is
// firq.Stats.Dequeued. While handlers run the fields need not be from the same
// instant, but never Failed + Panicked > Finished > Started.
type Stats struct {
	Name     string // Options.Name
	Started  uint64 // handlers started: one per task taken
	Finished uint64 // handlers that have returned, in whatever way
	Failed   uint64 // handlers that returned an error, or left by runtime.Goexit
	Panicked uint64 // handlers that panicked
	Slow     uint64 // handlers that ran for SlowAfter or longer
	TimedOut uint64 // handlers that ran for Timeout or longer, in every mode
	Stuck    uint64 // handlers that ran on for StuckAfter after they were cancelled

	Running  int // handlers running now: Started - Finished
	StuckNow int // those of them that are stuck
	Workers  int // goroutines that take tasks, or run a handler that is not stuck

	// HandlerTime is how long finished handlers ran. Never nil; the reader's own.
	HandlerTime *hist.Snapshot
}

// counters are the counters of one worker, so that workers share no cache line. Each is
// written by the worker, and slow, timedOut and stuck also by its timer; read by
// Stats, in the reverse order of the writes.
type counters struct {
	started, finished, failed, panicked atomic.Uint64
	slow, timedOut, stuck               atomic.Uint64
}

// Stats returns a snapshot. It may be called at any time, also after Run.
func (p *Pool[K, T]) Stats() Stats {
	p.mu.Lock()
	workers := p.workers // only ever appended to
	s := Stats{Name: p.opts.Name, Workers: p.live, StuckNow: p.stuckNow}
	p.mu.Unlock()
	for _, w := range workers {
		s.Failed += w.failed.Load()
		s.Panicked += w.panicked.Load()
		finished := w.finished.Load()
		started := w.started.Load()
		s.Finished += finished
		s.Started += started
		s.Running += int(started - finished)
		s.Slow += w.slow.Load()
		s.TimedOut += w.timedOut.Load()
		s.Stuck += w.stuck.Load()
	}
	s.HandlerTime = p.times.Snapshot()
	return s
}

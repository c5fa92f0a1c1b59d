package watchdog

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hogs keeps every processor busy with goroutines that never yield, 16 each,
// until stop is called.
func hogs() (stop func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 16 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !over.Load() {
			}
		})
	}
	return func() { over.Store(true); wg.Wait() }
}

// watch runs a watchdog until it reports, or enough says so with the number of
// intervals that passed.
func watch(t *testing.T, o Options, enough func(intervals int) bool) (first *Report) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var intervals int
	o.Queues = []Queue{{Name: "counter of intervals", Read: func() QueueCounters {
		if intervals++; enough(intervals) {
			stop()
		}
		return QueueCounters{}
	}}}
	o.OnReport = func(r Report) {
		if first == nil {
			first = &r
		}
		stop()
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return first
}

// TestHogs: the real clock, the real metrics and goroutines that take all
// processors. The watchdog sees that, and a new goroutine that only looks when it
// runs does not. Two processors at most, so that it is the same on any machine.
func TestHogs(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(2, runtime.NumCPU())))
	stop := hogs()
	defer stop()

	// 16 goroutines take turns of 10 ms on each processor: those that wait do so
	// for 150 ms.
	o := Options{Interval: 100 * ms, Warning: 40 * ms, Critical: time.Hour}
	began := time.Now()
	r := watch(t, o, func(int) bool { return time.Since(began) > 30*time.Second })
	if r == nil {
		t.Fatal("half a minute of hogs, and no report")
	}
	t.Logf("%v; %+v", r.Findings, r.Sample)
	if r.Level != Warning || !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Signal == SchedulingLatency || f.Signal == TimerLateness
	}) {
		t.Errorf("the report: %+v", r)
	}

	var spawns []time.Duration
	for range 21 {
		late := make(chan time.Duration)
		began := time.Now()
		go func() { late <- time.Since(began) }()
		spawns = append(spawns, <-late)
	}
	slices.Sort(spawns)
	t.Logf("a new goroutine began after %v (median)", spawns[10])
	if spawns[10] >= o.Warning {
		t.Errorf("a new goroutine began after %v: then it would do as a probe", spawns[10])
	}
}

// TestNoHogs: without them nothing is reported, with the default thresholds. The
// machine may be busy with something else: one quiet spell is enough.
func TestNoHogs(t *testing.T) {
	const tries = 20
	for range tries {
		r := watch(t, Options{Interval: 50 * ms}, func(intervals int) bool { return intervals > 5 })
		if r == nil {
			return
		}
		t.Log(r.Findings)
	}
	t.Errorf("%d reports in a row without hogs", tries)
}

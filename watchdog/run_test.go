package watchdog

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// scene is a Run in a bubble of synctest: time is fake and no goroutine is ever
// late, unless the test makes it so.
type scene struct {
	w       *Watchdog
	reports []Report
	latency time.Duration // of the goroutines from now on
	bins    []bin         // what was recorded
	missing bool          // this Go has no metrics
	used    time.Duration // by the process
	skew    time.Duration // by how much the watchdog's clock is ahead
	fence   atomic.Int32  // what the story wrote before pass happens before what the watchdog reads
	stop    context.CancelFunc
	ended   chan error
}

// play runs a watchdog over o until the story is over.
func play(t *testing.T, o Options, story func(*scene)) (s *scene) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { s = within(t, o, story) })
	return s
}

// within is play for tests that are in a bubble already.
func within(t *testing.T, o Options, story func(*scene)) *scene {
	t.Helper()
	s := new(scene)
	if o.OnReport == nil {
		o.OnReport = func(r Report) { s.reports = append(s.reports, r) }
	}
	for i, q := range o.Queues {
		o.Queues[i].Read = func() QueueCounters { s.fence.Load(); return q.Read() }
	}
	s.w = must(t, o)
	s.w.read = s.read
	s.w.now = func() time.Time { s.fence.Load(); return time.Now().Add(s.skew) }
	s.w.profile = func(limit int) []byte { return bytes.Repeat([]byte("x"), limit) }
	s.run()
	story(s)
	s.stop()
	if err := <-s.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if s.w.Status().Running {
		t.Error("Run is over, and Status says that it is in progress")
	}
	return s
}

// run starts Run and lets half a tick pass, so that the story and the watchdog
// never act at the same instant.
func (s *scene) run() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.w.Run(ctx) }()
	time.Sleep(50 * ms)
	synctest.Wait()
}

func (s *scene) pass(intervals int) {
	s.fence.Add(1)
	time.Sleep(time.Duration(intervals) * time.Second)
	synctest.Wait()
}

func (s *scene) read() reading {
	s.fence.Load()
	if s.missing {
		return reading{nil, -1, -1, -1, -1}
	}
	if s.bins == nil {
		s.bins = []bin{{0, 100}, {50 * ms, 0}, {200 * ms, 0}, {2 * time.Second, 0}}
	}
	for i := len(s.bins) - 1; i > 0; i-- {
		if s.latency >= s.bins[i].from {
			s.bins[i].n += 100
			break
		}
	}
	s.used += 500 * ms
	return reading{latencies: slices.Clone(s.bins), goroutines: 9, runnable: 4, processors: 2, used: s.used}
}

// levels sums up the reports: the levels, in capitals where a reminder.
func (s *scene) levels() string {
	var words []string
	for _, r := range s.reports {
		word := r.Level.String()
		if r.Reminder {
			word = strings.ToUpper(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestRun(t *testing.T) {
	s := play(t, Options{Remind: 10 * time.Second}, func(s *scene) {
		s.pass(5)
		if st := s.w.Status(); st.Level != OK || !st.Running || st.Sample.Goroutines != 9 || st.Sample.End.Sub(st.Sample.Start) != time.Second {
			t.Errorf("all is well, and Status is %+v", st)
		}
		s.latency = 300 * ms
		s.pass(1)
		if st := s.w.Status(); st.Level != Warning || len(st.Findings) != 1 || st.Reports != 1 {
			t.Errorf("goroutines wait for 300 ms, and Status is %+v", st)
		}
		s.pass(10)
		s.latency = 3 * time.Second
		s.pass(2)
		s.latency = 60 * ms
		s.pass(10)
	})
	if got := s.levels(); got != "warning WARNING critical ok" {
		t.Errorf("reported: %s", got)
	}
	first := s.reports[0]
	if f := first.Findings[0]; f.Signal != SchedulingLatency || f.Value != 200*ms || f.Threshold != 100*ms {
		t.Errorf("found: %v", f)
	}
	if first.Since != first.Sample.End || first.Previous != OK || first.Stacks != nil {
		t.Errorf("the first report: %+v", first)
	}
	if l := first.Sample.Scheduling; l != (Latency{P50: 200 * ms, Tail: 200 * ms, Max: 200 * ms, Samples: 100}) {
		t.Errorf("latency in the first report: %+v", l)
	}
	if last := s.reports[3]; last.Previous != Critical || len(last.Findings) != 0 || last.Seq != 4 || last.Missed != 0 {
		t.Errorf("the last report: %+v", last)
	}
}

// TestLateTimer: while the timer runs the clock jumps.
func TestLateTimer(t *testing.T) {
	s := play(t, Options{}, func(s *scene) {
		s.pass(2)
		s.skew += 99 * ms
		s.pass(2)
		s.skew += 150 * ms
		s.pass(2)
	})
	if s.levels() != "warning" || s.reports[0].Sample.TimerLateness != 150*ms || s.reports[0].Findings[0].Signal != TimerLateness {
		t.Errorf("reported: %+v", s.reports)
	}
	if late := s.w.Status().Sample.TimerLateness; late != 0 {
		t.Errorf("late by %v in an interval that was not", late)
	}
}

// TestSlowRead: the time that a Read takes is no lateness, even if it is more than
// an interval.
func TestSlowRead(t *testing.T) {
	s := play(t, Options{Queues: []Queue{{Name: "slow", Read: func() QueueCounters {
		time.Sleep(3 * time.Second)
		return QueueCounters{}
	}}}}, func(s *scene) { s.pass(20) })
	if st := s.w.Status(); s.levels() != "" || st.Sample.End.IsZero() {
		t.Errorf("reported: %+v; status %+v", s.reports, st)
	}
}

// TestMissingMetrics: a Go that has none of the metrics.
func TestMissingMetrics(t *testing.T) {
	s := play(t, Options{}, func(s *scene) {
		s.missing = true
		s.pass(2)
		s.skew = 2 * time.Second
		s.pass(1)
	})
	if s.levels() != "critical" {
		t.Errorf("reported: %s", s.levels())
	}
	if st := s.w.Status().Sample; !st.NoScheduling || st.Runnable != -1 || st.Scheduling.Samples != 0 {
		t.Errorf("sample: %+v", st)
	}
}

func TestStalledQueue(t *testing.T) {
	var c QueueCounters
	s := play(t, Options{Queues: []Queue{{Name: "jobs", Read: func() QueueCounters { return c }}}}, func(s *scene) {
		c.Len = 1
		s.pass(1)
		if s.levels() != "" {
			t.Errorf("a task came, and reported is %s", s.levels())
		}
		s.pass(1)
		c = QueueCounters{Delivered: 5, Waits: []firq.Bucket{{UpperBound: 200 * ms}, {UpperBound: time.Second, Count: 5}}}
		s.pass(4)
	})
	if s.levels() != "critical warning" { // the delivered ones had waited
		t.Fatalf("reported: %s", s.levels())
	}
	if f := s.reports[0].Findings[0]; f.Signal != QueueStall || f.Name != "jobs" || f.Value != time.Second {
		t.Errorf("found: %v", f)
	}
}

// TestSlowReceiver: the newest reports are kept, and the others counted.
func TestSlowReceiver(t *testing.T) { synctest.Test(t, slowReceiver) }

func slowReceiver(t *testing.T) {
	const made = 40
	var got []Report
	release := make(chan bool)
	o := Options{Calm: 1, OnReport: func(r Report) {
		<-release
		got = append(got, r)
	}}
	s := within(t, o, func(s *scene) {
		for i := range made {
			s.latency = time.Duration((i+1)%2) * 300 * ms
			s.pass(1)
		}
		if st := s.w.Status(); st.Reports != made || st.Missed != made-pending-1 {
			t.Errorf("the receiver hangs: %d reports, %d missed", st.Reports, st.Missed)
		}
		s.stop()
		synctest.Wait()
		if len(s.ended) > 0 {
			t.Error("Run returned before its receiver")
		}
		close(release)
	})
	if len(got) != pending+1 || got[0].Seq != 1 || got[1].Missed != made-pending-1 || got[pending].Seq != made {
		t.Fatalf("received: %d reports", len(got))
	}
	sum := uint64(0)
	for i, r := range got {
		sum += 1 + r.Missed
		if r.Seq != sum || i > 1 && r.Missed != 0 {
			t.Errorf("report %d has Seq %d, Missed %d", i, r.Seq, r.Missed)
		}
	}
	if s.w.Status().Missed != made-pending-1 {
		t.Errorf("missed: %d", s.w.Status().Missed)
	}
}

// TestReceiverMayCall: OnReport and Read may use the Watchdog.
func TestReceiverMayCall(t *testing.T) {
	var w *Watchdog
	var again []error
	o := Options{
		Queues: []Queue{{Name: "q", Read: func() QueueCounters { w.Status(); return QueueCounters{} }}},
		OnReport: func(r Report) {
			ctx, stop := context.WithTimeout(context.Background(), 5*time.Second) // of the bubble; or a second Run would go on for ever
			defer stop()
			again = append(again, w.Run(ctx))
			_ = w.Status()
		},
	}
	synctest.Test(t, func(t *testing.T) {
		w = must(t, o)
		var late atomic.Bool
		w.now = func() time.Time {
			if late.Load() {
				return time.Now().Add(time.Hour)
			}
			return time.Now()
		}
		ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
		defer stop()
		time.AfterFunc(1050*ms, func() { late.Store(true) })
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if !slices.Equal(again, []error{ErrRunning}) {
		t.Errorf("Run within OnReport: %v", again)
	}
}

func TestRunWithoutContext(t *testing.T) {
	w := must(t, Options{})
	if err := w.Run(nil); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // on purpose
		t.Errorf("Run(nil): %v", err)
	}
}

// TestReadPanics: the panic goes through Run, which ends its probes first.
func TestReadPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, over := 0, false
		w := must(t, Options{
			Queues: []Queue{{Name: "q", Read: func() QueueCounters {
				if reads++; reads == 2 {
					panic("broken")
				}
				return QueueCounters{}
			}}},
			Probes: []Probe{{Name: "p", Call: func(ctx context.Context) error { <-ctx.Done(); over = true; return nil }}},
		})
		defer func() {
			if p := recover(); p != "broken" || !over || w.Status().Running {
				t.Errorf("recovered %v; the probe is over: %v; running: %v", p, over, w.Status().Running)
			}
		}()
		_ = w.Run(context.Background())
	})
}

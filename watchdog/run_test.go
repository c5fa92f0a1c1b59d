package watchdog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// scene is a Run in a bubble of synctest: time is fake and no goroutine is ever
// late, so each test says itself what is wrong.
type scene struct {
	w       *Watchdog
	reports []Report
	latency time.Duration // of the goroutines from now on
	bins    []bin         // what was recorded
	missing bool          // this Go has no metrics
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

// within is play for those that have a bubble.
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
		return reading{nil, -1, -1, -1}
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
	return reading{latencies: slices.Clone(s.bins), goroutines: 9, runnable: 4, processors: 2}
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

// TestProbe: one call is in progress at a time, and its time grows.
func TestProbe(t *testing.T) { synctest.Test(t, probeStory) }

func probeStory(t *testing.T) {
	release, failure := make(chan bool, 1), error(nil)
	begun := 0
	call := func(ctx context.Context) error {
		begun++
		select {
		case <-release:
		case <-ctx.Done():
			return ctx.Err()
		}
		return failure
	}
	s := within(t, Options{Probes: []Probe{{Name: "path", Critical: 3 * time.Second, Call: call}}}, func(s *scene) {
		s.pass(2)
		if p := s.w.Status().Sample.Probes[0]; p.Time != 2*time.Second || p.Calls != 0 || begun != 1 {
			t.Errorf("after two intervals: %+v, %d calls", p, begun)
		}
		s.pass(1)
		failure = errors.New("refused")
		release <- true
		synctest.Wait() // it took 3.05 s
		close(release)
		s.pass(1)
		if p := s.w.Status().Sample.Probes[0]; p.Time != 3050*ms || p.Calls != 1 || p.Err != failure || begun != 2 {
			t.Errorf("the interval in which it ended: %+v, %d calls", p, begun)
		}
		failure = nil
		s.pass(1)
	})
	if s.levels() != "warning critical" {
		t.Errorf("reported: %s", s.levels())
	}
	if got := s.w.Status().Findings; len(got) != 1 || got[0].Signal != ProbeError {
		t.Errorf("the call that began before the failure ended: %v", got)
	}
}

// TestProbeEndsWithRun: Run waits for the probe, and a next Run begins anew.
func TestProbeEndsWithRun(t *testing.T) {
	returned := 0
	call := func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(time.Minute)
		returned++
		return ctx.Err()
	}
	s := play(t, Options{Probes: []Probe{{Name: "path", Call: call}}}, func(s *scene) {
		s.pass(1)
		s.stop()
		if err := <-s.ended; err != nil || returned != 1 {
			t.Errorf("Run returned %v with %d of 1 calls over", err, returned)
		}
		s.run()
		s.pass(1)
	})
	if s.levels() != "critical critical" {
		t.Errorf("reported: %s", s.levels())
	}
	if p := s.w.Status().Sample.Probes[0]; p.Time != time.Second || p.Calls != 0 || p.Err != nil {
		t.Errorf("the second Run's probe: %+v", p)
	}
	if last := s.reports[len(s.reports)-1]; last.Seq != 2 || last.Missed != 0 {
		t.Errorf("the second Run's report: %+v", last)
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
		Queues:   []Queue{{Name: "q", Read: func() QueueCounters { w.Status(); return QueueCounters{} }}},
		OnReport: func(r Report) { again = append(again, w.Run(context.Background())); _ = w.Status() },
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

// TestStacks: with a report of level critical, at most every StackEvery.
func TestStacks(t *testing.T) {
	s := play(t, Options{StackBytes: 7, StackEvery: 25 * time.Second, Remind: 10 * time.Second}, func(s *scene) {
		s.latency = 300 * ms
		s.pass(1)
		s.latency = 3 * time.Second
		s.pass(42)
	})
	if got := s.levels(); got != "warning critical CRITICAL CRITICAL CRITICAL CRITICAL" {
		t.Fatalf("reported: %s", got)
	}
	for i, want := range []int{0, 7, 0, 0, 7, 0} {
		if got := len(s.reports[i].Stacks); got != want {
			t.Errorf("report %d has %d bytes of stacks, want %d", i, got, want)
		}
	}
}

func TestProfile(t *testing.T) {
	stop := make(chan bool)
	defer close(stop)
	for range 100 {
		go func() { <-stop }()
	}
	all := stacks(1 << 20)
	if !bytes.Contains(all, []byte("TestProfile")) || !bytes.HasPrefix(all, []byte("goroutine profile: total 1")) {
		t.Errorf("the profile: %.200s", all)
	}
	if few := stacks(10); string(few) != "goroutine " {
		t.Errorf("ten bytes of it: %q", few)
	}
}

func TestLog(t *testing.T) {
	var text bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindTime {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: noTime, Level: slog.LevelInfo}))
	s := play(t, Options{Logger: log, StackBytes: 3}, func(s *scene) {
		s.latency = 300 * ms
		s.pass(1)
		s.latency = 3 * time.Second
		s.pass(1)
		s.latency = 0
		s.pass(3)
	})
	if s.levels() != "warning critical ok" {
		t.Errorf("reported: %s", s.levels())
	}
	const rest = " goroutines=9 runnable=4 missed_reports=0"
	want := []string{
		`level=WARN msg="firq: watchdog" level=warning previous=ok reminder=false ` +
			`findings="[warning: scheduling-latency: 200ms, threshold 100ms]" timer_lateness=0s scheduling_latency=200ms` + rest,
		`level=ERROR msg="firq: watchdog" level=critical previous=warning reminder=false ` +
			`findings="[critical: scheduling-latency: 2s, threshold 1s]" timer_lateness=0s scheduling_latency=2s` + rest + " stacks=xxx",
		`level=INFO msg="firq: watchdog" level=ok previous=critical reminder=false findings=[] timer_lateness=0s scheduling_latency=0s` + rest,
	}
	if got := strings.Split(strings.TrimSpace(text.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("logged:\n%s", text.String())
	}
}

package load

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/quota"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

const tick = 5 * time.Millisecond

// testLimit is when a test that takes a moment has failed: what is broken hangs. It
// is long, for machines that do other things.
const testLimit = 10 * time.Second

// soon fails the test immediately if f does not return in time, and says what hangs.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(testLimit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("%s: not done after %v", what, testLimit)
	}
}

// small makes a scenario short, not different.
func small(s scenario.Scenario) scenario.Scenario {
	s.Tenants = min(s.Tenants, 2000)
	if s.Deep {
		s.Window = 6000 // which are there before the window begins, and drained behind it
	}
	// Other tests would have less, too; see TestNeighbour and TestConfined.
	s.Neighbour, s.Processors, s.Quota = false, 0, 0
	return s
}

func contestant(t *testing.T, name string) contest.Contestant {
	t.Helper()
	cs, err := contest.Select(contest.ForRun(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cs[0]
}

// Every scenario runs with every contestant, in each variant, and loses nothing:
// Run fails when it does.
func TestEveryScenario(t *testing.T) {
	for _, s := range scenario.All() {
		for _, c := range contest.ForRun() {
			if c.WakeOnly && s.Shape != scenario.PingPong {
				continue
			}
			if testing.Short() && c.Name != contest.Lockfree && c.Name != contest.Channel {
				continue
			}
			t.Run(s.Name+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				spec := Spec{Scenario: small(s), Contestant: c, Warmup: tick, Measure: 2 * tick, Probe: 8}
				check(t, spec)
				spec.Probe = -1
				spec.Work = 100 * time.Nanosecond
				if s.Shape == scenario.PingPong {
					spec.Work, spec.Idle = 0, 100*time.Microsecond
				}
				check(t, spec)
				if s.Shape == scenario.Flow {
					spec.Scenario.Batch = 7
					check(t, spec)
				}
			})
		}
	}
}

// fewCalls is too few enqueue calls for one of them to be timed for certain: each of up
// to 64 producers times one in SampleEvery. A batch is one call.
const fewCalls = SampleEvery * 64

// fewPings is too few deliveries of ping_pong for its enqueue calls to fall into the
// measured time for certain.
const fewPings = 8

// check runs spec, until it delivered something: on a busy machine a short run
// may not.
func check(t *testing.T, spec Spec) {
	t.Helper()
	for {
		r, err := Run(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		s := spec.Scenario
		few := r.Enqueue.Samples == 0 && r.Offered < fewCalls*uint64(max(1, s.Batch))
		if s.Shape == scenario.PingPong {
			few = r.Delivered < fewPings
		}
		if few || r.Delivered == 0 || s.Focus != "" && r.Focus.Samples == 0 {
			spec.Measure *= 2
			continue
		}
		fair := s.Shape == scenario.Flow && s.Tenants > 1 && spec.Probe >= 0
		switch {
		case r.Elapsed <= 0 || r.TasksPerSec <= 0:
			t.Errorf("no rate: %+v", r)
		case r.Queue.Samples != r.Delivered || r.Queue.Max < r.Queue.P50:
			t.Errorf("queue times: %+v", r)
		case r.Enqueue.Samples == 0 || r.Enqueue.P999 < r.Enqueue.P50:
			t.Errorf("enqueue latency: %+v", r)
		case r.Rejected > 0 && !s.Reject:
			t.Errorf("%d tasks rejected", r.Rejected)
		case (r.Refusal != nil) != s.Reject || s.Reject && (r.Refusal.Samples > r.Enqueue.Samples || r.Refusal.Samples > r.Rejected):
			t.Errorf("calls that were rejected: %+v of %d", r.Refusal, r.Rejected)
		case (r.Goodput != nil) != (s.Life > 0) || s.Life > 0 && (*r.Goodput < 0 || *r.Goodput > r.TasksPerSec):
			t.Errorf("goodput: %+v", r)
		case r.Expired > 0 && !s.Deadlines():
			t.Errorf("%d tasks expired", r.Expired)
		case (r.Focus != nil) != (s.Focus != ""):
			t.Errorf("focus: %+v", r.Focus)
		case fair != (r.JainTenants > 0) || r.Jain < 0 || r.Jain > 1.000001:
			t.Errorf("Jain %v over %d tenants", r.Jain, r.JainTenants)
		}
		return
	}
}

// faulty wraps a contestant whose queue does something wrong, once: two wrong
// payloads could make up for each other.
type faulty struct {
	contest.Queue
	n    atomic.Int64
	lose bool // else: deliver the wrong one
}

func (f *faulty) Enqueue(tenant string, t contest.Task) error {
	if f.lose && f.n.Add(1) == 10 {
		return nil
	}
	return f.Queue.Enqueue(tenant, t)
}

func (f *faulty) Dequeue(ctx context.Context) (contest.Item, error) {
	it, err := f.Queue.Dequeue(ctx)
	if !f.lose && err == nil && f.n.Add(1) == 10 {
		it.Payload ^= 1 << numberShift // another task's
	}
	return it, err
}

// The check of each run bites.
func TestFaults(t *testing.T) {
	channel := contestant(t, contest.Channel)
	s := small(scenario.All()[0])
	for _, c := range []struct {
		lose bool
		want string
	}{{true, "tasks accepted, but"}, {false, "not the same ones"}} {
		_, err := Run(t.Context(), Spec{Scenario: s, Warmup: tick, Measure: tick, Contestant: contest.Contestant{
			Name: "faulty", New: func(cfg contest.Config) (contest.Queue, error) {
				q, err := channel.New(cfg)
				return &faulty{Queue: q, lose: c.lose}, err
			},
		}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("lose %v: %v, want an error with %q", c.lose, err, c.want)
		}
	}
}

// broken fails every enqueue after the tenants are known.
type broken struct{ contest.Queue }

var errBroken = errors.New("broken")

func (broken) Enqueue(string, contest.Task) error { return errBroken }

func TestErrorsEndTheRun(t *testing.T) {
	channel := contestant(t, contest.Channel)
	_, err := Run(t.Context(), Spec{Scenario: small(scenario.All()[0]), Measure: tick, Contestant: contest.Contestant{
		New: func(cfg contest.Config) (contest.Queue, error) {
			q, err := channel.New(cfg)
			return broken{q}, err
		},
	}})
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	_, err = Run(t.Context(), Spec{Scenario: scenario.All()[0], Contestant: contest.Contestant{
		New: func(contest.Config) (contest.Queue, error) { return nil, errBroken },
	}})
	if !errors.Is(err, errBroken) {
		t.Errorf("New fails: got %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	for _, s := range scenario.All() {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*tick, cancel)
		_, err := Run(ctx, Spec{Scenario: small(s), Contestant: contestant(t, contest.OneLock), Measure: time.Hour})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// With one consumer the order of service is all that counts: deficit round robin
// is fair to a fraction of a round, first in first out is as unfair as its input.
func TestFairness(t *testing.T) {
	for _, c := range []struct {
		scenario, contestant string
		least, most          float64
	}{
		{"skewed_90", contest.OneLock, 0.99, 1}, {"skewed_90", contest.Channel, 0, 0.1},
		{"zipf", contest.OneLock, 0.99, 1}, {"zipf", contest.Channel, 0.2, 0.7},
		{"contended", contest.OneLock, 0.99, 1}, {"contended", contest.Channel, 0.7, 0.9}, // costs 1 to 4
	} {
		chosen, err := scenario.Choose([]string{c.scenario}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := chosen[0]
		s.Consumers = 1
		jain, n, err := fairness(t.Context(), Spec{Scenario: s, Contestant: contestant(t, c.contestant)})
		if err != nil || n != s.Tenants || jain < c.least || jain > c.most+1e-9 {
			t.Errorf("%s, %s: Jain %v over %d tenants, %v; want %v to %v", c.scenario, c.contestant, jain, n, err, c.least, c.most)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, size := range []int{1, 2, 31, 128, 512, 4096, 1 << 20} {
		for _, consumers := range []int{1, 8, 1000} {
			for _, burst := range []bool{false, true} {
				w := newWindow(size, burst, consumers)
				// What consumers hold back must not keep low from being reached.
				if w.low >= w.high || w.low < int64(consumers)*(w.chunk-1) || w.chunk < 1 {
					t.Errorf("size %d, burst %v, %d consumers: %d to %d, chunks of %d", size, burst, consumers, w.low, w.high, w.chunk)
				}
			}
		}
	}
	w := newWindow(4, false, 1)
	w.sent(3)
	passed := make(chan struct{})
	go func() { w.sent(1); close(passed) }()
	for w.outstanding.Load() != 4 {
		time.Sleep(time.Microsecond)
	}
	w.finished(1) // 3 left, above low
	select {
	case <-passed:
		t.Error("the window opened above low")
	default:
	}
	w.finished(1)
	<-passed
	go w.stop()
	w.sent(100) // returns all the same
}

func TestRandom(t *testing.T) {
	a, b := newRandom(1), newRandom(2)
	var counts [8]int
	for range 8000 {
		if a.next() == b.next() {
			t.Fatal("two seeds give the same number")
		}
		counts[a.below(8)]++
	}
	for i, n := range counts {
		if n < 800 || n > 1200 {
			t.Errorf("%d came %d times in 8000", i, n)
		}
	}
}

// A run with a neighbour has a result as any other. (What the neighbour does is
// package neighbour's business.)
func TestNeighbour(t *testing.T) {
	for _, s := range scenario.All() {
		if !s.Neighbour {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), testLimit)
		defer cancel()
		res, err := Run(ctx, Spec{Scenario: s, Contestant: contestant(t, contest.Simple), Warmup: tick, Measure: 20 * tick, Probe: -1})
		if err != nil || res.Elapsed == 0 {
			t.Errorf("%s: %+v, %v", s.Name, res, err)
		}
		return
	}
	t.Error("no scenario has one")
}

// A run has the processors that its scenario says, also while its contestant is made, and
// what follows has all of them. Where there is no quota, the error says so.
func TestConfined(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	for _, c := range []struct {
		name string
		want int
	}{{"contended", all}, {"one_processor", 1}, {"half", quota.Processors(50*runtime.NumCPU(), runtime.NumCPU())}} {
		s, err := scenario.Choose([]string{c.name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		simple, got := contestant(t, contest.Simple), 0
		made := simple.New
		simple.New = func(c contest.Config) (contest.Queue, error) {
			got = runtime.GOMAXPROCS(0)
			return made(c)
		}
		ctx, cancel := context.WithTimeout(t.Context(), testLimit)
		defer cancel()
		res, err := Run(ctx, Spec{Scenario: s[0], Contestant: simple, Warmup: tick, Measure: 20 * tick, Probe: -1})
		if missing := quota.Try(); s[0].Quota > 0 && missing != nil {
			if err == nil || !strings.Contains(err.Error(), "control group") {
				t.Errorf("%s: %v, want an error: %v", c.name, err, missing)
			}
			continue
		}
		if err != nil || res.Elapsed == 0 || got != c.want || runtime.GOMAXPROCS(0) != all {
			t.Errorf("%s: on %d processors, want %d, then %d; %v", c.name, got, c.want, runtime.GOMAXPROCS(0), err)
		}
	}
}

// depth notes the least that was queued from when it was deep until over is set.
type depth struct {
	contest.Queue
	deep, queued, least atomic.Int64
	over                atomic.Bool
}

func (d *depth) Enqueue(tenant string, t contest.Task) error {
	err := d.Queue.Enqueue(tenant, t)
	if err == nil && d.queued.Add(1) >= d.deep.Load() {
		d.least.CompareAndSwap(-1, d.deep.Load())
	}
	return err
}

func (d *depth) Dequeue(ctx context.Context) (contest.Item, error) {
	it, err := d.Queue.Dequeue(ctx)
	n := d.queued.Add(-1)
	for old := d.least.Load(); old > n && !d.over.Load() && !d.least.CompareAndSwap(old, n); old = d.least.Load() {
	}
	return it, err
}

// A run of a number of tasks ends although the backlog was deep for less than a moment:
// no goroutine that waits for it to be deep may come too late.
func TestDeepTasks(t *testing.T) {
	chosen, err := scenario.Choose([]string{"deep_backlog"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := small(chosen[0])
	s.Window, s.Tenants = 1100, 4 // consumers pause below 76
	for range 100 {
		soon(t, "a run of 1,100 tasks", func() {
			spec := Spec{Scenario: s, Contestant: contestant(t, contest.Simple), Tasks: s.Window, Probe: -1}
			if _, err := Run(t.Context(), spec); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		})
	}
}

// A deep backlog is deep all the time: when the window begins, and when consumers are
// the faster ones. One that finds no room is not waited for.
func TestDeep(t *testing.T) {
	chosen, err := scenario.Choose([]string{"deep_backlog"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := small(chosen[0])
	s.Window, s.Producers = 20_000, 1
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	c := contestant(t, contest.Simple)
	var d *depth
	deep := c
	deep.New = func(cfg contest.Config) (contest.Queue, error) {
		q, err := c.New(cfg)
		d = &depth{Queue: q}
		d.least.Store(-1)
		d.deep.Store(18_000)
		return d, err
	}
	// While it is watched the load goes on: it has not ended when the least was noted.
	watched := &Watch{For: tick, Every: tick, See: func(*Glance) { d.over.Store(true) }}
	spec := Spec{Scenario: s, Contestant: deep, Measure: 10 * tick, Probe: -1, Watch: watched}
	res, err := Run(ctx, spec)
	if err != nil || res.Delivered == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if least := d.least.Load(); least < 15_000 {
		t.Errorf("%d queued, with a window of %d", least, s.Window)
	}
	spec.Scenario.Capacity, spec.Contestant, spec.Watch = 100, c, nil
	if res, err := Run(ctx, spec); err != nil || res.Delivered == 0 {
		t.Errorf("with room for 100: %+v, %v", res, err)
	}
}

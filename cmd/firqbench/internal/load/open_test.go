package load

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/hist"
)

// Every scenario that can runs at a rate, and nothing is lost. What was due in
// the window is known beforehand, to the task, and each of it is in the result.
func TestOpenEveryScenario(t *testing.T) {
	for _, s := range scenario.All() {
		if s.Shape != scenario.Flow {
			continue
		}
		for _, batch := range []int{1, 7} {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				spec := Spec{
					Scenario: small(s), Contestant: contestant(t, contest.Lockfree), Warmup: 2 * tick, Measure: 6 * tick, Probe: -1,
					Rate: 20_000, Arrivals: arrivals.Constant, Work: 100 * time.Nanosecond,
				}
				spec.Scenario.Batch = batch
				r, err := Run(t.Context(), spec)
				if err != nil {
					t.Fatal(err)
				}
				o := r.Open
				due := r.Offered + o.Unsent
				want := spec.Rate * spec.Measure.Seconds()
				if slack := float64(spec.Scenario.Producers * batch); float64(due) < want-slack || float64(due) > want+slack {
					t.Errorf("%d tasks were due, want %.0f", due, want)
				}
				if n := uint64(o.Offered*spec.Measure.Seconds() + 0.5); n != due {
					t.Errorf("%v tasks/s offered, but %d due", o.Offered, due)
				}
				if o.Queue.Samples+r.Rejected > r.Offered || !s.Deadlines() && o.Queue.Samples+r.Rejected != r.Offered {
					t.Errorf("%d queue times and %d rejected of %d", o.Queue.Samples, r.Rejected, r.Offered)
				}
				if o.Enqueue.Samples != r.Offered || o.Lag.Samples != r.Offered || o.Held.Samples != r.Offered || r.Queue.Samples != o.Queue.Samples {
					t.Errorf("samples of %d tasks: %+v", r.Offered, o)
				}
				if s.Focus == scenario.FocusQuiet && !s.Deadlines() && (r.Focus.Samples == 0 || r.Focus.Samples >= r.Offered) {
					t.Errorf("focus on %d of %d tasks", r.Focus.Samples, r.Offered)
				}
				if o.Enqueue.Max < r.Enqueue.Max || o.Queue.Max < r.Queue.P50 {
					t.Errorf("from the intended start it takes less: %+v, and %+v, %+v", o, r.Enqueue, r.Queue)
				}
			})
		}
	}
}

// stalling stands still for a while, once: in the call with the given number, and
// callers that come before its end wait too.
type stalling struct {
	contest.Queue
	mu       sync.Mutex
	in, out  int // which Enqueue, which Dequeue; 0: none
	ins, got int
}

const stall = 40 * tick

func (s *stalling) Enqueue(tenant string, t contest.Task) error {
	s.mu.Lock()
	if s.ins++; s.ins == s.in {
		time.Sleep(stall)
	}
	s.mu.Unlock()
	return s.Queue.Enqueue(tenant, t)
}

func (s *stalling) Dequeue(ctx context.Context) (contest.Item, error) {
	it, err := s.Queue.Dequeue(ctx)
	if s.got++; s.got == s.out {
		time.Sleep(stall)
	}
	return it, err
}

// A stall is seen by all that came during it: a third of all tasks here. The
// loop that omits them would see it in one task of 600.
func TestStallIsNotOmitted(t *testing.T) {
	for _, c := range []struct {
		name      string
		producers int
		in, out   int
	}{{"in a call", 1, 200, 0}, {"in a call, others wait", 4, 200, 0}, {"in a consumer", 1, 0, 200}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := small(scenario.All()[0])
			s.Producers, s.Consumers = c.producers, 1
			channel := contestant(t, contest.Channel)
			r, err := Run(t.Context(), Spec{
				Scenario: s, Measure: 3 * stall, Probe: -1, Rate: 1000, Arrivals: arrivals.Constant,
				Contestant: contest.Contestant{New: func(cfg contest.Config) (contest.Queue, error) {
					q, err := channel.New(cfg)
					return &stalling{Queue: q, in: c.in, out: c.out}, err
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			o := r.Open
			if o.Queue.Samples != 600 || o.Queue.P95 < stall/2 {
				t.Errorf("queue time of %d tasks: %+v; one in three came during a stall of %v", o.Queue.Samples, o.Queue, stall)
			}
			if c.in > 0 && (o.Enqueue.P95 < stall/2 || o.Held.P95 < stall/2) {
				t.Errorf("enqueue %+v, held up %+v", o.Enqueue, o.Held)
			}
		})
	}
}

// slow takes its time for each task.
type slow struct{ contest.Queue }

func (s slow) Enqueue(tenant string, t contest.Task) error {
	time.Sleep(time.Millisecond)
	return s.Queue.Enqueue(tenant, t)
}

// Whose calls take longer than the schedule leaves them is behind, and it is not
// the generator's fault.
func TestBehind(t *testing.T) {
	t.Parallel()
	s := small(scenario.All()[0])
	s.Producers = 1
	channel := contestant(t, contest.Channel)
	r, err := Run(t.Context(), Spec{
		Scenario: s, Measure: 10 * tick, Probe: -1, Rate: 10_000, Arrivals: arrivals.Poisson,
		Contestant: contest.Contestant{New: func(cfg contest.Config) (contest.Queue, error) {
			q, err := channel.New(cfg)
			return slow{q}, err
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Open; o.Behind != BehindContestant || o.Sent > o.Offered/2 || o.Held.P99 < 10*tick {
		t.Errorf("%+v", o)
	}
}

// The ideal producer's time, by hand, in ms: due at 1, 2, 3 and 10; called 1 late,
// 4 long; called immediately, 1 long; 2 late by itself; on time.
func TestIdealProducer(t *testing.T) {
	r := &run{s: scenario.All()[0], open: true}
	r.Measure, r.to = time.Second, 9*time.Millisecond
	r.schedule = arrivals.Schedule{Shape: arrivals.Constant, Rate: 1, Streams: 1}
	p := newProducer(r, 0)
	p.clocked = newClocked(r, 0)
	const ms = time.Millisecond
	for _, c := range []struct{ due, start, end, lag, held time.Duration }{
		{1, 2, 6, 1, 0}, // the ideal one is free at 5
		{2, 6, 7, 1, 3}, // at 6
		{3, 9, 9, 3, 3}, // at 6
		{10, 10, 11, 0, 0},
	} {
		lag, held := sum(p.lag), sum(p.held)
		p.start = c.due * ms
		p.note(c.start*ms, c.end*ms, 1, true)
		// hist counts 0 as 1 ns
		if l, h := (sum(p.lag) - lag).Round(ms), (sum(p.held) - held).Round(ms); l != c.lag*ms || h != c.held*ms {
			t.Errorf("due at %d: %v late, %v held up; want %d, %d", c.due, l, h, c.lag, c.held)
		}
	}
	if p.inTime != 2 { // the third one started when the window was over
		t.Errorf("%d in time, want 2", p.inTime)
	}
	p.offered = 4
	o := r.opened([]*producer{p}, nil, new(Histograms))
	if o.Behind != BehindContestant || o.Offered != 4 || o.Sent != 2 {
		t.Errorf("held up more than late: %+v", o)
	}
	p.lag.Record(time.Second)
	if o := r.opened([]*producer{p}, nil, new(Histograms)); o.Behind != BehindGenerator {
		t.Errorf("late more than held up: %+v", o)
	}
	o.Queue.Mean, o.Lag.Mean = 8, 2
	if share := o.GeneratorShare(); share != 0.25 {
		t.Errorf("the generator's share is %v, want 0.25", share)
	}
}

func sum(l *hist.Local) time.Duration {
	s := hist.NewSnapshot()
	l.AddTo(s)
	return s.Sum()
}

// What is due and cannot be sent any more is counted.
func TestUnsent(t *testing.T) {
	r := &run{s: scenario.All()[0], open: true, from: time.Second, to: 3 * time.Second}
	r.s.Batch = 5
	r.schedule = arrivals.Schedule{Shape: arrivals.Constant, Rate: 10, Streams: 1}
	p := newProducer(r, 0)
	p.clocked = newClocked(r, 0)
	if p.leave(); p.unsent != 100 {
		t.Errorf("%d unsent, want 2 s of 10 calls with 5 tasks", p.unsent)
	}
}

// stuck delivers nothing before the driver has stopped to wait for it.
type stuck struct {
	contest.Queue
	wait chan struct{}
}

func (s *stuck) Dequeue(ctx context.Context) (contest.Item, error) {
	<-s.wait
	return s.Queue.Dequeue(ctx)
}

// Tasks that are served in a hurry, because the backlog took too long, say so.
func TestHurried(t *testing.T) {
	t.Parallel()
	s := small(scenario.All()[0])
	s.Producers, s.Consumers = 1, 1
	channel := contestant(t, contest.Channel)
	r, err := Run(t.Context(), Spec{
		Scenario: s, Measure: tick, Probe: -1, Rate: 2000, Arrivals: arrivals.Constant,
		Contestant: contest.Contestant{New: func(cfg contest.Config) (contest.Queue, error) {
			q, err := channel.New(cfg)
			wait := make(chan struct{})
			time.AfterFunc(100*tick+time.Second, func() { close(wait) })
			return &stuck{Queue: q, wait: wait}, err
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Open; o.Hurried == 0 || o.Queue.P50 < time.Second {
		t.Errorf("%+v", o)
	}
}

// A long run that is overloaded is drained before it counts as stuck.
func TestGrace(t *testing.T) {
	for measure, want := range map[time.Duration]time.Duration{time.Second: 2 * time.Second, time.Hour: 11 * time.Second} {
		r := run{Spec: Spec{Measure: measure}}
		if got := r.grace(); got != want || got > drainLimit/2 {
			t.Errorf("%v after %v, want %v and at most half of %v", got, measure, want, drainLimit)
		}
	}
}

func TestOpenNeedsProducers(t *testing.T) {
	for _, name := range []string{"uncontended", "ping_pong"} {
		_, err := Run(t.Context(), Spec{Scenario: named(t, name), Contestant: contestant(t, contest.OneLock), Measure: tick, Rate: 1000})
		if err == nil || !strings.Contains(err.Error(), "closed loop by nature") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

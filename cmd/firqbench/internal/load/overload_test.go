package load

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

func named(t *testing.T, name string) scenario.Scenario {
	t.Helper()
	chosen, err := scenario.Choose([]string{name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return chosen[0]
}

// late delivers every task after its deadline, and calls them in time.
type late struct{ contest.Queue }

func (l late) Dequeue(ctx context.Context) (contest.Item, error) {
	it, err := l.Queue.Dequeue(ctx)
	if !it.Deadline.IsZero() {
		it.Deadline = time.Now().Add(-time.Microsecond)
	}
	return it, err
}

// Whether a task was in time is not for the contestant to say.
func TestGoodput(t *testing.T) {
	channel := contestant(t, contest.Channel)
	slow := contest.Contestant{New: func(cfg contest.Config) (contest.Queue, error) {
		q, err := channel.New(cfg)
		return late{q}, err
	}}
	for _, c := range []struct {
		contestant contest.Contestant
		good       bool
	}{{channel, true}, {slow, false}} {
		for measure := 4 * tick; ; measure *= 2 { // a busy machine may deliver nothing for a while
			r, err := Run(t.Context(), Spec{Scenario: named(t, "overload"), Contestant: c.contestant, Measure: measure, Probe: -1})
			if err != nil {
				t.Fatal(err)
			}
			if r.Delivered == 0 || c.good && *r.Goodput == 0 && measure < time.Second {
				continue
			}
			if (*r.Goodput > 0) != c.good {
				t.Errorf("in time %v: goodput %v of %v tasks/s", c.good, *r.Goodput, r.TasksPerSec)
			}
			break
		}
	}
}

// Producers go by the clock: they would send some hundred times as much if they
// did not. Less is the machine's fault.
func TestPaced(t *testing.T) {
	for _, batch := range []int{1, 7} {
		s := named(t, "overload")
		s.Service, s.Batch = 2*time.Millisecond, batch
		r, err := Run(t.Context(), Spec{Scenario: s, Contestant: contestant(t, contest.OneLock), Warmup: tick, Measure: 10 * tick, Probe: -1})
		if err != nil {
			t.Fatal(err)
		}
		want := s.Offered(runtime.GOMAXPROCS(0)) * (r.Elapsed + tick).Seconds()
		if most := 2*want + float64(2*s.Producers*batch); float64(r.Offered) > most {
			t.Errorf("batches of %d: %d tasks offered in %v, want about %.0f", batch, r.Offered, r.Elapsed, want)
		}
	}
}

// With WorkPerCall neither side works for each task: if they did, a task would take twice the
// work of processor time, however busy the machine is.
func TestWorkPerCall(t *testing.T) {
	s := named(t, "batches")
	s.Producers, s.Consumers = 1, 1
	const work = 500 * time.Microsecond
	for measure := 10 * tick; ; measure *= 2 {
		r, err := Run(t.Context(), Spec{Scenario: s, Work: work, Contestant: contestant(t, contest.Channel), Measure: measure, Probe: -1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Delivered < uint64(4*s.Batch) { // on a busy machine
			continue
		}
		if r.CPUPerTask > float64(work) {
			t.Errorf("a task took %v of processor time, its work is %v in a call of %d", time.Duration(r.CPUPerTask), work, s.Batch)
		}
		return
	}
}

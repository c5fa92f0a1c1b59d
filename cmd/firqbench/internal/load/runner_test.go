package load

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// crew is a contest.Runner: workers that read a channel.
type crew struct {
	contest.Queue // the channel
	lose          bool
	workers       sync.WaitGroup
	primed        int
	ended         bool // all workers, when Shutdown returned
	atOnce, most  atomic.Int64
}

func (c *crew) Prime(_ context.Context, tenants []string) error {
	c.primed = len(tenants)
	return nil
}

func (c *crew) Serve(workers int, handle func(*contest.Item)) {
	for range workers {
		c.workers.Go(func() {
			for n := 0; ; n++ {
				it, err := c.Dequeue(context.Background())
				if err != nil {
					return
				}
				now := c.atOnce.Add(1)
				for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
				}
				if !c.lose || n != 5 {
					handle(&it)
				}
				c.atOnce.Add(-1)
			}
		})
	}
}

func (c *crew) Shutdown(ctx context.Context) error {
	if err := c.Queue.Shutdown(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		c.workers.Wait()
		close(done)
	}()
	select {
	case <-ctx.Done(): // first, if both
		return ctx.Err()
	default:
	}
	select {
	case <-done:
		c.ended = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newCrew returns a contestant, and the crew that its New made last.
func newCrew(t *testing.T, lose bool) (contest.Contestant, func() *crew) {
	channel := contestant(t, contest.Channel)
	var last *crew
	return contest.Contestant{Name: "crew", New: func(cfg contest.Config) (contest.Queue, error) {
		q, err := channel.New(cfg)
		last = &crew{Queue: q, lose: lose}
		return last, err
	}}, func() *crew { return last }
}

func crewed() scenario.Scenario {
	s := small(scenario.All()[0])
	s.Consumers = 3
	return s
}

// A contestant with its own workers is measured like the others.
func TestRunner(t *testing.T) {
	c, last := newCrew(t, false)
	for _, work := range []time.Duration{0, time.Microsecond} {
		soon(t, "a run with workers of its own", func() {
			check(t, Spec{Scenario: crewed(), Contestant: c, Work: work, Warmup: tick, Measure: 2 * tick, Probe: -1})
		})
		if q := last(); q.primed != crewed().Tenants || q.most.Load() > 3 {
			t.Errorf("%d tenants primed, %d workers at once", q.primed, q.most.Load())
		}
	}
}

// The fairness probe dequeues, which a Runner does not.
func TestRunnerProbe(t *testing.T) {
	c, _ := newCrew(t, false)
	r, err := Run(t.Context(), Spec{Scenario: crewed(), Contestant: c, Measure: tick})
	if err != nil || r.JainTenants != 0 {
		t.Errorf("Jain over %d tenants, %v", r.JainTenants, err)
	}
}

func TestRunnerFaults(t *testing.T) {
	c, _ := newCrew(t, true)
	_, err := Run(t.Context(), Spec{Scenario: crewed(), Contestant: c, Warmup: tick, Measure: tick, Probe: -1})
	if err == nil || !strings.Contains(err.Error(), "tasks accepted, but") {
		t.Errorf("a task is lost: %v", err)
	}
	c, last := newCrew(t, false)
	for _, s := range scenario.All() {
		if s.Shape == scenario.Flow {
			s.Batch = 2
		}
		if _, err := Run(t.Context(), Spec{Scenario: small(s), Contestant: c, Measure: tick, Probe: -1}); !errors.Is(err, errRunner) {
			t.Errorf("%s: %v, want %v", s.Name, err, errRunner)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(2*tick, cancel)
	if _, err := Run(ctx, Spec{Scenario: crewed(), Contestant: c, Measure: time.Hour, Probe: -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if !last().ended {
		t.Error("interrupted: some workers are still at work")
	}
}

package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// observer notes its calls, and may cancel after some runs.
type observer struct {
	runs   []string
	tables []string
	after  int
	cancel context.CancelFunc
}

func (o *observer) Before(done, total int, cell *Cell, contestant string, round int) {
	o.runs = append(o.runs, fmt.Sprintf("%s %d", contestant, round))
	if len(o.runs) == o.after {
		o.cancel()
	}
}

func (o *observer) Scenario(cells []Cell) {
	for _, c := range cells {
		o.tables = append(o.tables, fmt.Sprintf("%s %s: %d", c.Scenario.Name, c.Label(), len(c.Runs)))
	}
}

func plan(t *testing.T, scenarios ...string) *Plan {
	t.Helper()
	chosen, err := scenario.Choose(scenarios, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := contest.Select(contest.ForRun(), []string{contest.OneLock, contest.Channel, contest.Unbuffered})
	if err != nil {
		t.Fatal(err)
	}
	return &Plan{
		Scenarios: chosen, Contestants: cs, Works: []time.Duration{0, 100},
		Rounds: 2, Warmup: time.Millisecond, Measure: 3 * time.Millisecond,
	}
}

func TestRun(t *testing.T) {
	p, o := plan(t, "uncontended", "ping_pong"), &observer{}
	cells, err := p.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"uncontended no work: 4", "uncontended work 100ns/task: 4", "ping_pong back to back: 6", "ping_pong 1ms idle before: 6",
	}
	if !slices.Equal(o.tables, want) || len(cells) != 4 {
		t.Errorf("tables %q, want %q; %d cells", o.tables, want, len(cells))
	}
	if len(o.runs) != p.Runs() || p.Runs() != 20 {
		t.Errorf("%d runs, %d planned, want 20", len(o.runs), p.Runs())
	}
	known := slices.ContainsFunc(cells, func(c Cell) bool {
		return slices.ContainsFunc(c.Runs, func(r Run) bool { return r.CacheLine > 0 })
	})
	if !known && machine.CacheLine() > 0 {
		t.Error("no run knows how long a cache line took")
	}
	// Alternating, and each round begins with another one.
	if want := []string{"baseline-1 0", "channel 0", "channel 1", "baseline-1 1"}; !slices.Equal(o.runs[:4], want) {
		t.Errorf("order %q, want %q", o.runs[:4], want)
	}
}

// What is done between calls is in the label, and scenarios whose work is fixed
// run once, however many amounts are asked for.
func TestLabels(t *testing.T) {
	var got []string
	for _, group := range plan(t, "calls_only", "batches", "overload", "contended").cells() {
		for _, c := range group {
			got = append(got, c.Scenario.Name+" "+c.Label())
		}
	}
	want := []string{
		"calls_only no work", "batches no work", "batches work 100ns/call", "overload service 20µs/task",
		"contended no work", "contended work 100ns/task",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// At rates there is a part for each rate and work; scenarios whose work is fixed
// run once for each rate.
func TestOpenLabels(t *testing.T) {
	p := plan(t, "contended", "overload")
	p.Rates, p.Arrivals = []float64{500, 50_000}, arrivals.Poisson
	var got []string
	for _, group := range p.cells() {
		for _, c := range group {
			got = append(got, c.Scenario.Name+" "+c.Label())
		}
	}
	want := []string{
		"contended 500/s poisson", "contended 500/s poisson, consumers work 100ns",
		"contended 50k/s poisson", "contended 50k/s poisson, consumers work 100ns",
		"overload 500/s poisson, consumers work 20µs", "overload 50k/s poisson, consumers work 20µs",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// At a rate each run has an open loop; its histograms go to Recorded, and are not kept.
func TestOpenRun(t *testing.T) {
	p := plan(t, "contended")
	p.Rates, p.Arrivals, p.Works, p.Rounds = []float64{5000}, arrivals.Constant, p.Works[:1], 1
	n := 0
	p.Recorded = func(c *Cell, r *Run) error {
		if n++; r.Histograms.Queue.Count() != r.Open.Queue.Samples || r.Histograms.Lag == nil || r.Histograms.Began.IsZero() {
			t.Errorf("%+v", r.Histograms)
		}
		return nil
	}
	cells, err := p.Run(t.Context(), &observer{})
	if err != nil || n != 2 || len(cells) != 1 || cells[0].Runs[0].Open == nil || cells[0].Runs[0].Histograms.Queue != nil {
		t.Errorf("%d runs recorded, %v, %+v", n, err, cells)
	}
	full := errors.New("disk full")
	p.Recorded = func(*Cell, *Run) error { return full }
	if _, err := p.Run(t.Context(), &observer{}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// Which tenants are served is recorded in the first round, where there are hot tenants.
func TestRecord(t *testing.T) {
	p := plan(t, "zipf", "uncontended")
	p.Works, p.Record = p.Works[:1], 5*time.Millisecond
	cells, err := p.Run(t.Context(), &observer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		for _, r := range c.Runs {
			if want := c.Scenario.Name == "zipf" && r.Round == 0; (r.Service != nil) != want {
				t.Errorf("%s, %s, round %d: %+v", c.Scenario.Name, r.Contestant, r.Round, r.Service)
			}
		}
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := &observer{after: 4, cancel: cancel}
	cells, err := plan(t, "uncontended", "contended").Run(ctx, o)
	if !errors.Is(err, context.Canceled) || len(cells) != 1 || len(cells[0].Runs) != 3 || len(o.tables) != 1 {
		t.Errorf("%v, %d cells, tables %q", err, len(cells), o.tables)
	}
}

func TestFailure(t *testing.T) {
	p := plan(t, "uncontended")
	p.Contestants[0].New = func(contest.Config) (contest.Queue, error) { return nil, errors.New("no") }
	cells, err := p.Run(t.Context(), &observer{})
	if err != nil || len(cells) != 2 || len(cells[0].Errors) != 1 || !strings.Contains(cells[0].Errors[0], "baseline-1: no") || len(cells[0].Runs) != 2 {
		t.Errorf("%v, %+v", err, cells)
	}
}

func TestCheck(t *testing.T) {
	good := Plan{Rounds: 1, Measure: time.Millisecond}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(p *Plan) { p.Rounds = 0 }, "--rounds: 0"},
		{func(p *Plan) { p.Measure = 0 }, "--duration: 0s"},
		{func(p *Plan) { p.Measure = 2 * time.Hour }, "--duration: 2h"},
		{func(p *Plan) { p.Warmup = -1 }, "--warmup: -1ns"},
		{func(p *Plan) {
			p.Rates, p.Scenarios = []float64{1}, []scenario.Scenario{{Name: "x", Shape: scenario.Pair}}
		}, "--rate: x is a closed loop"},
		{func(p *Plan) { p.Record = -1 }, "--record: -1ns"},
	} {
		p := good
		c.change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	run := func(name string, round int, rate float64) Run {
		return Run{Contestant: name, Round: round, Result: load.Result{
			TasksPerSec: rate, Delivered: 90, Expired: 10, Offered: 200, Rejected: 100,
			Queue: load.Latency{Samples: 90, P50: time.Duration(rate)}, Jain: 0.5, JainTenants: 4,
			Focus: &load.Latency{Samples: 1, P99: 7}, Refusal: &load.Latency{Samples: 1, P50: 9}, Goodput: &rate,
		}}
	}
	cell := Cell{Runs: []Run{
		run("a", 0, 20), run("b", 0, 10), run("b", 1, 5), run("a", 1, 40), run("a", 2, 30), run("b", 2, 10), run("a", 3, 1),
	}}
	lines := cell.Summarize("b")
	if len(lines) != 2 || lines[0].Contestant != "a" || lines[0].Rounds != 4 {
		t.Fatalf("%+v", lines)
	}
	a, b := lines[0], lines[1]
	if a.Rate != 25 || a.Ratio.Median != 3 || b.Ratio.Median != 1 || a.Queue.P50 != 25 || a.Rejected != 0.5 || a.Expired != 0.1 ||
		a.Jain != 0.5 || a.Focus.P99 != 7 || a.Refusal.P50 != 9 || a.Goodput != 25 {
		t.Errorf("%+v\n%+v", a, b)
	}
	for i := range cell.Runs {
		if cell.Runs[i].Contestant == "b" {
			cell.Runs[i].Contestant = contest.Simple
		}
	}
	if lines := cell.Summarize("a"); !math.IsNaN(a.ToSimple.Median) || lines[0].ToSimple.Median != 3 || lines[1].ToSimple.Median != 1 || lines[0].Ratio.Median != 1 {
		t.Errorf("to the plain queue: %+v\n%+v", lines, a)
	}
	for i := range cell.Runs {
		if cell.Runs[i].Contestant == contest.Simple {
			cell.Runs[i].Contestant = "b"
		}
	}
	if a.Open != nil {
		t.Errorf("an open loop: %+v", a.Open)
	}
	for i := range cell.Runs {
		cell.Runs[i].Open = &load.Open{Offered: 10, Sent: float64(i), Unsent: 1, Queue: load.Latency{Mean: 8}, Lag: load.Latency{Mean: 4}}
	}
	cell.Runs[3].Open.Behind = load.BehindGenerator // of a
	// the runs of a are 0, 3, 4 and 6
	if o := cell.Summarize("b")[0].Open; o.Offered != 10 || o.Sent != 3.5 || o.GeneratorShare != 0.5 || o.Unsent != 4 || o.Behind[load.BehindGenerator] != 1 {
		t.Errorf("%+v", o)
	}
	if lines := cell.Summarize("c"); !math.IsNaN(lines[0].Ratio.Median) {
		t.Errorf("a ratio without the reference: %v", lines[0].Ratio)
	}
}

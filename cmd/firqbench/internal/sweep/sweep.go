// Package sweep runs scenarios at every combination of settings, one after
// another, and can go on where it was interrupted.
//
// What is measured is kept in a Report, which the caller writes to a file after
// each step, whole or not at all. A sweep that is run again with the report of
// the last one does the steps that are missing. That is only right if the plan,
// the program and the machine are the same: Conflict says what is not.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/pin"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Plan is what to run: each scenario with each combination of the axes. An empty
// axis leaves what the scenario, or the program, has.
type Plan struct {
	Scenarios []string `json:"scenarios"`

	Cores     []int          `json:"cores"` // GOMAXPROCS; with Pin, the process has no others
	Producers []Value        `json:"producers"`
	Consumers []Value        `json:"consumers"`
	Tenants   []Value        `json:"tenants"`
	Shards    []Value        `json:"shards"`
	Batch     []Value        `json:"batch"`
	Rate      []float64      `json:"rate_per_sec"` // open loops, see suite.Plan.Rates
	Arrivals  arrivals.Shape `json:"arrivals"`
	Pin       bool           `json:"pin"`

	Work        []time.Duration `json:"work_ns"`
	Contestants []string        `json:"contestants"`
	Rounds      int             `json:"rounds"`
	Warmup      time.Duration   `json:"warmup_ns"`
	Duration    time.Duration   `json:"duration_ns"`
}

// Report is what a sweep has measured so far.
type Report struct {
	Plan    Plan         `json:"plan"`
	Program string       `json:"program_sha256,omitempty"` // see machine.Program
	Steps   int          `json:"steps"`                    // in all
	Done    int          `json:"done"`                     // complete ones, from the first
	Resumed []time.Time  `json:"resumed,omitempty"`
	Cells   []suite.Cell `json:"cells"` // of the steps that are done; each has its Point
}

// Step is one combination.
type Step struct {
	Cores int
	plan  suite.Plan // of one scenario, work and rate
}

// Runs returns the number of runs.
func (s *Step) Runs() int { return s.plan.Runs() }

// Steps returns all combinations, in order, without those that come to the same:
// a scenario with one producer has one, whatever is asked for. All its errors
// are the user's and name the flag.
func (p *Plan) Steps() (steps []Step, err error) {
	chosen, err := scenario.Choose(p.Scenarios, nil)
	if err != nil {
		return nil, err
	}
	contestants, err := contest.Select(contest.ForRun(), p.Contestants)
	if err != nil {
		return nil, fmt.Errorf("--contestants: %w", err)
	}
	cores := p.Cores
	if len(cores) == 0 {
		cores = []int{runtime.GOMAXPROCS(0)}
	}
	for _, c := range cores {
		for _, s := range chosen {
			settled, err := p.settle(s, c)
			if err != nil {
				return nil, err
			}
			for i := range settled {
				steps = append(steps, p.split(c, settled[i], contestants)...)
			}
		}
	}
	for i := range steps {
		if err := steps[i].plan.Check(); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// settle returns a scenario in all its settings on the given number of processors.
func (p *Plan) settle(s scenario.Scenario, cores int) (all []scenario.Scenario, err error) {
	seen := make(map[scenario.Scenario]bool)
	for _, v := range product(p.Producers, p.Consumers, p.Tenants, p.Shards, p.Batch) {
		o := scenario.Overrides{
			Producers: v[0].on(cores), Consumers: v[1].on(cores), Tenants: v[2].on(cores), Shards: v[3].on(cores), Batch: v[4].on(cores),
		}
		settled, err := o.Apply(s)
		if err != nil {
			return nil, err
		}
		if !seen[settled] {
			seen[settled] = true
			all = append(all, settled)
		}
	}
	return all, nil
}

// product returns every choice of one value from each axis, the last axis
// changing fastest. An empty axis has one value, the zero one.
func product(axes ...[]Value) [][]Value {
	choices := [][]Value{nil}
	for _, axis := range axes {
		if len(axis) == 0 {
			axis = []Value{{}}
		}
		var longer [][]Value
		for _, c := range choices {
			for _, v := range axis {
				longer = append(longer, append(slices.Clone(c), v))
			}
		}
		choices = longer
	}
	return choices
}

// split returns a step for each work and rate that s is run with.
func (p *Plan) split(cores int, s scenario.Scenario, contestants []contest.Contestant) (steps []Step) {
	works, rates := p.Work, [][]float64{nil}
	if s.FixedWork || s.Shape == scenario.PingPong || len(works) == 0 {
		works = []time.Duration{0}
	}
	if len(p.Rate) > 0 {
		rates = nil
		for _, r := range p.Rate {
			rates = append(rates, []float64{r})
		}
	}
	for _, rate := range rates {
		for _, work := range works {
			steps = append(steps, Step{Cores: cores, plan: suite.Plan{
				Scenarios: []scenario.Scenario{s}, Contestants: contestants, Works: []time.Duration{work},
				Rounds: p.Rounds, Warmup: p.Warmup, Measure: p.Duration, Rates: rate, Arrivals: p.Arrivals,
			}})
		}
	}
	return steps
}

// Observer is called before each run, with the number of the step, from 0.
type Observer func(step, round int, cell *suite.Cell, contestant string)

// Run does the steps that r does not have, and hands r to save after each. When
// ctx ends, what the step in progress has measured is forgotten.
func (r *Report) Run(ctx context.Context, steps []Step, o Observer, save func(*Report) error) error {
	r.Steps = len(steps)
	for i := r.Done; i < len(steps); i++ {
		cells, err := steps[i].run(ctx, r.Plan, func(cell *suite.Cell, contestant string, round int) { o(i, round, cell, contestant) })
		if err != nil {
			return err
		}
		r.Cells, r.Done = append(r.Cells, cells...), i+1
		if err := save(r); err != nil {
			return err
		}
	}
	return nil
}

// run does one step, with the processors that it is to have.
func (s *Step) run(ctx context.Context, p Plan, before func(*suite.Cell, string, int)) (cells []suite.Cell, err error) {
	point := suite.Point{GOMAXPROCS: s.Cores}
	if p.Pin && len(p.Cores) > 0 {
		cpus, unpin, err := pin.First(s.Cores)
		if err != nil {
			return nil, fmt.Errorf("--cores: %w", err)
		}
		defer func() { err = errors.Join(err, unpin()) }()
		point.Pinned = cpus
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.Cores))
	return s.plan.Run(ctx, &stepObserver{&point, before})
}

// stepObserver gives each cell its point as soon as it is seen.
type stepObserver struct {
	point  *suite.Point
	before func(*suite.Cell, string, int)
}

func (o *stepObserver) Before(_, _ int, cell *suite.Cell, contestant string, round int) {
	cell.Point = o.point
	o.before(cell, contestant, round)
}

func (o *stepObserver) Scenario([]suite.Cell) {}

// Conflict returns an error that names what differs between the plan of r and
// p; nil if nothing does.
func (r *Report) Conflict(p *Plan) error {
	a, b := reflect.ValueOf(r.Plan), reflect.ValueOf(*p)
	var parts []string
	for i := range a.NumField() {
		if before, now := fmt.Sprint(a.Field(i)), fmt.Sprint(b.Field(i)); before != now {
			parts = append(parts, fmt.Sprintf("%s was %s, is %s", strings.ToLower(a.Type().Field(i).Name), before, now))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

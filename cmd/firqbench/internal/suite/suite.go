// Package suite runs scenarios against contestants, in rounds.
package suite

import (
	"context"
	"fmt"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

// Plan is what to run.
type Plan struct {
	Scenarios   []scenario.Scenario
	Contestants []contest.Contestant
	Works       []time.Duration // CPU time between calls, on each side; one table part each
	Rounds      int
	Warmup      time.Duration
	Measure     time.Duration
	Probe       int // of load.Spec

	// Rates makes open loops: tasks per second, all producers together, in the
	// shape Arrivals; for each rate, and each of Works, one table part. None: as
	// the scenarios have it.
	Rates    []float64
	Arrivals arrivals.Shape

	// Recorded, if it is not nil, is handed each run with its histograms, which
	// are forgotten afterwards. An error of it ends Run.
	Recorded func(*Cell, *Run) error

	// Record is how long the first round goes on, after what is measured, to
	// record which tenants are served when, in scenarios with hot tenants; 0: it does not.
	Record time.Duration
}

// Cell is one scenario in one variant, with all its runs.
type Cell struct {
	Scenario scenario.Scenario `json:"scenario"`
	Variant  Variant           `json:"variant"`
	Point    *Point            `json:"point,omitempty"` // of a sweep
	Runs     []Run             `json:"runs"`
	Errors   []string          `json:"errors,omitempty"` // of runs that have no result
}

// Point is what the cells of a sweep differ in and a Scenario does not say.
type Point struct {
	GOMAXPROCS int   `json:"gomaxprocs"`
	Pinned     []int `json:"pinned_cpus,omitempty"`
}

// Variant is in what a scenario is run in more than one way.
type Variant struct {
	Work time.Duration `json:"work_ns"`
	Idle time.Duration `json:"idle_ns"` // ping-pong

	// Open loops: see load.Spec.
	Rate     float64        `json:"rate_per_sec,omitempty"`
	Arrivals arrivals.Shape `json:"arrivals,omitempty"`
}

// Label says it in words.
func (c *Cell) Label() string {
	s, v := &c.Scenario, c.Variant
	if v.Rate > 0 {
		open := fmt.Sprintf("%s %s", arrivals.FormatRate(v.Rate), v.Arrivals)
		if s.Service > 0 || v.Work > 0 {
			open += fmt.Sprintf(", consumers work %v", s.Service+v.Work)
		}
		return open
	}
	switch {
	case s.Shape == scenario.PingPong && v.Idle == 0:
		return "back to back"
	case s.Shape == scenario.PingPong:
		return fmt.Sprintf("%v idle before", v.Idle)
	case s.Service > 0:
		return fmt.Sprintf("service %v/task", s.Service)
	case v.Work == 0:
		return "no work"
	case s.WorkPerCall:
		return fmt.Sprintf("work %v/call", v.Work)
	}
	return fmt.Sprintf("work %v/task", v.Work)
}

// Run is one result.
type Run struct {
	Contestant string `json:"contestant"`
	Round      int    `json:"round"` // from 0
	// CacheLine is how many ns a cache line took from one processor to another just before
	// the run; 0: not known (machine.CacheLine).
	CacheLine float64 `json:"cache_line_ns,omitempty"`
	// Others is the part of the machine's processor time, 0 to 1, that other programs used
	// during the run (usage.Machine); 0 also where the system does not say. The neighbour of a
	// scenario that has one is such a program.
	Others float64 `json:"others,omitempty"`
	load.Result
}

// Observer is called when something happens. Its methods are called between runs, never
// during one.
type Observer interface {
	// Before is called before each run.
	Before(done, total int, cell *Cell, contestant string, round int)
	// Scenario is called when the cells of a scenario are complete.
	Scenario(cells []Cell)
}

// PingPongIdle is the pause of ping-pong's second variant: long enough for the
// processor to fall asleep.
const PingPongIdle = time.Millisecond

// cells returns the plan's cells, empty, by scenario.
func (p *Plan) cells() (groups [][]Cell) {
	for _, s := range p.Scenarios {
		var group []Cell
		switch {
		case len(p.Rates) > 0:
			group = p.open(s)
		case s.Shape == scenario.PingPong:
			group = append(group, Cell{Scenario: s}, Cell{Scenario: s, Variant: Variant{Idle: PingPongIdle}})
		case s.FixedWork:
			group = append(group, Cell{Scenario: s})
		default:
			for _, w := range p.Works {
				group = append(group, Cell{Scenario: s, Variant: Variant{Work: w}})
			}
		}
		groups = append(groups, group)
	}
	return groups
}

// open returns the cells of a scenario as an open loop.
func (p *Plan) open(s scenario.Scenario) (group []Cell) {
	works := p.Works
	if s.FixedWork {
		works = []time.Duration{0}
	}
	for _, rate := range p.Rates {
		for _, w := range works {
			group = append(group, Cell{Scenario: s, Variant: Variant{Work: w, Rate: rate, Arrivals: p.Arrivals}})
		}
	}
	return group
}

// contestants returns those that take part in s.
func (p *Plan) contestants(s scenario.Scenario) (cs []contest.Contestant) {
	for _, c := range p.Contestants {
		if !c.WakeOnly || s.Shape == scenario.PingPong {
			cs = append(cs, c)
		}
	}
	return cs
}

// record returns how long a run is recorded.
func (p *Plan) record(s scenario.Scenario, round int) time.Duration {
	if round > 0 || s.Hot() == 0 {
		return 0
	}
	return p.Record
}

// Runs returns the number of runs.
func (p *Plan) Runs() (n int) {
	for _, group := range p.cells() {
		for _, cell := range group {
			n += p.Rounds * len(p.contestants(cell.Scenario))
		}
	}
	return n
}

// Check returns an error that names the flag whose value makes no sense.
func (p *Plan) Check() error {
	switch {
	case p.Rounds < 1 || p.Rounds > 10_000:
		return fmt.Errorf("--rounds: %d, must be 1 to 10000", p.Rounds)
	case p.Measure <= 0 || p.Measure > time.Hour:
		return fmt.Errorf("--duration: %v, must be positive and at most 1h", p.Measure)
	case p.Warmup < 0 || p.Warmup > time.Hour:
		return fmt.Errorf("--warmup: %v, must be 0 to 1h", p.Warmup)
	case p.Record < 0 || p.Record > time.Hour:
		return fmt.Errorf("--record: %v, must be 0 to 1h", p.Record)
	}
	for _, s := range p.Scenarios {
		if len(p.Rates) > 0 && !s.CanOpen() {
			return fmt.Errorf("--rate: %s is a closed loop by nature; leave it out", s.Name)
		}
	}
	return nil
}

// Estimate returns about how long the plan takes.
func (p *Plan) Estimate() time.Duration { return p.EstimateOf(p.Runs()) }

// EstimateOf returns about how long n runs take: to build, to drain and to
// clean up comes on top of what is measured.
func (p *Plan) EstimateOf(runs int) time.Duration {
	const around = 30 * time.Millisecond
	return max(time.Second, (time.Duration(runs) * (p.Warmup + p.Measure + around)).Round(time.Second))
}

// Run runs everything and returns the cells that have runs. When ctx ends it
// returns what there is, and ctx.Err().
func (p *Plan) Run(ctx context.Context, o Observer) ([]Cell, error) {
	var all []Cell
	done, total := 0, p.Runs()
	for _, group := range p.cells() {
		var started []Cell
		var err error
		for i := range group {
			cell := &group[i]
			err = p.runCell(ctx, cell, func(contestant string, round int) {
				o.Before(done, total, cell, contestant, round)
				done++
			})
			if len(cell.Runs)+len(cell.Errors) > 0 {
				started = append(started, *cell)
			}
			if err != nil {
				break
			}
		}
		if len(started) > 0 {
			o.Scenario(started)
		}
		all = append(all, started...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// one is one run. Its goroutines have labels in profiles, and it is a task in traces.
func (p *Plan) one(ctx context.Context, cell *Cell, c contest.Contestant, round int) (result load.Result, err error) {
	ctx, task := trace.NewTask(ctx, c.Name+", "+cell.Scenario.Name+", "+cell.Label())
	defer task.End()
	pprof.Do(ctx, pprof.Labels("contestant", c.Name, "scenario", cell.Scenario.Name, "part", cell.Label()), func(ctx context.Context) {
		result, err = load.Run(ctx, load.Spec{
			Scenario: cell.Scenario, Contestant: c,
			Work: cell.Variant.Work, Idle: cell.Variant.Idle, Rate: cell.Variant.Rate, Arrivals: cell.Variant.Arrivals,
			Warmup: p.Warmup, Measure: p.Measure, Probe: p.Probe, Record: p.record(cell.Scenario, round),
		})
	})
	return result, err
}

// runCell runs the rounds of a cell. The contestants alternate, so that a
// machine that becomes slower with time does not punish one of them, and each
// round starts with another one, so that none is always first.
func (p *Plan) runCell(ctx context.Context, cell *Cell, before func(string, int)) error {
	contestants := p.contestants(cell.Scenario)
	failed := make(map[string]bool)
	for round := range p.Rounds {
		for i := range contestants {
			c := contestants[(round+i)%len(contestants)]
			if ctx.Err() != nil {
				return ctx.Err()
			}
			before(c.Name, round)
			if failed[c.Name] {
				continue
			}
			line := machine.CacheLine()
			idle := usage.OfMachine()
			result, err := p.one(ctx, cell, c, round)
			others := usage.OfMachine().Others(idle)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed[c.Name] = true
				cell.Errors = append(cell.Errors, fmt.Sprintf("round %d: %v", round+1, err))
				continue
			}
			run := Run{Contestant: c.Name, Round: round, CacheLine: float64(line), Others: others, Result: result}
			if p.Recorded != nil {
				if err := p.Recorded(cell, &run); err != nil {
					return err
				}
			}
			run.Histograms = load.Histograms{} // many, and large
			cell.Runs = append(cell.Runs, run)
		}
	}
	return nil
}

package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Use is what an observation is used for.
type Use string

// The uses.
const (
	ForLocal   Use = "local work"
	ForMachine Use = "machine"
	HeldOut    Use = "held out"

	alone Use = "one goroutine" // for local work, where there is nothing of one processor
)

// Observation is a measured throughput, and what the model says of it.
type Observation struct {
	Scenario   string  `json:"scenario"`
	Variant    string  `json:"variant"`
	Processors int     `json:"processors"`
	Contestant string  `json:"contestant"`
	Use        Use     `json:"use"`
	Measured   float64 `json:"measured_tasks_per_sec"` // median of the rounds
	Model      float64 `json:"model_tasks_per_sec"`

	load    Load
	anatomy Anatomy
}

// Off is how far the model is from what was measured, as a part of that.
func (o *Observation) Off() float64 { return o.Model/o.Measured - 1 }

// Calibration is what was fitted to measurements.
type Calibration struct {
	Machine      Machine            `json:"machine"`
	Local        map[string]float64 `json:"local_ns"` // per task, by contestant
	From         string             `json:"local_from"`
	Observations []Observation      `json:"observations"`
}

// MaxTenants is up to where all that belongs to tenants is in some cache.
const MaxTenants = 10_000

// loadOf returns the load of a scenario; false: it has something that the model does not, or
// it was run with other settings than its own.
func loadOf(c *suite.Cell, processors int) (Load, bool) {
	s := &c.Scenario
	if own, err := scenario.Choose([]string{s.Name}, nil); err != nil || own[0].Producers != s.Producers || own[0].Consumers != s.Consumers ||
		own[0].Tenants != s.Tenants || own[0].Window != s.Window || own[0].Deep != s.Deep || own[0].Shards != s.Shards {
		return Load{}, false
	}
	if s.Shape != scenario.Flow && s.Shape != scenario.Pair || s.Batch > 1 || s.Hot() > 0 || s.Deadlines() || s.Priorities || s.Reject ||
		s.Burst || s.Neighbour || s.Handles || s.Service > 0 || s.Capacity > 0 || s.PerTenant > 0 || s.Tenants > MaxTenants || c.Variant.Rate > 0 {
		return Load{}, false
	}
	if s.Shape == scenario.Pair {
		processors = 1 // one goroutine uses one
	}
	return Load{
		Processors: processors, Producers: s.Producers, Consumers: s.Consumers, Tenants: s.Tenants, Window: s.Window,
		Deep: s.Deep, Work: float64(c.Variant.Work), Shards: s.Shards, Pair: s.Shape == scenario.Pair,
	}, true
}

// useOf says what a measurement is used for, before anything of it is known.
func useOf(c *suite.Cell, processors int) Use {
	switch name := c.Scenario.Name; {
	case c.Variant.Work > 0:
		return HeldOut
	case name == "contended" && processors == 1:
		return ForLocal
	case name == "uncontended":
		return alone
	case (name == "contended" || name == "one_to_one") && processors == 2:
		return ForMachine
	}
	return HeldOut
}

// observe takes what the model can say something of from result files: the median of all
// rounds of a contestant, in a scenario, on 1 or 2 processors.
func observe(files []*report.File) (all []Observation) {
	rates := make([][]float64, 0)
	for _, f := range files {
		if f.Env.Quota > 0 {
			continue
		}
		cells := f.Cells()
		for i := range cells {
			c := &cells[i]
			processors := f.Env.GOMAXPROCS
			if c.Point != nil {
				processors = c.Point.GOMAXPROCS
			}
			l, ok := loadOf(c, processors)
			if !ok || processors > 2 {
				continue
			}
			for _, r := range c.Runs {
				a, ok := anatomyOf(r.Contestant)
				if !ok {
					continue
				}
				at := slices.IndexFunc(all, func(o Observation) bool {
					return o.Scenario == c.Scenario.Name && o.load == l && o.Contestant == r.Contestant
				})
				if at < 0 {
					at = len(all)
					all = append(all, Observation{
						Scenario: c.Scenario.Name, Variant: c.Label(), Processors: l.Processors, Contestant: r.Contestant,
						Use: useOf(c, processors), load: l, anatomy: a,
					})
					rates = append(rates, nil)
				}
				rates[at] = append(rates[at], r.TasksPerSec)
			}
		}
	}
	for i := range all {
		all[i].Measured = stats.Median(rates[i])
	}
	return slices.DeleteFunc(all, func(o Observation) bool { return !(o.Measured > 0) })
}

// Calibrate fits the model to result files: the local work of each contestant to contended
// without work on one processor, and two costs of the machine to contended and one_to_one
// without work on two. What else is in the files is held out.
func Calibrate(ctx context.Context, files []*report.File) (*Calibration, error) {
	c := &Calibration{Machine: Assumed(), Local: map[string]float64{}, Observations: observe(files)}
	var fit []*Observation
	c.choose()
	for i := range c.Observations {
		if o := &c.Observations[i]; o.Use == ForLocal {
			c.Local[o.Contestant], c.From = 1e9/o.Measured, fmt.Sprintf("%s, %s, 1 processor", o.Scenario, o.Variant)
		}
	}
	if len(c.Local) == 0 {
		return nil, errors.New("no file has contended without work on 1 processor (firqbench run contended --gomaxprocs 1), or uncontended")
	}
	c.Observations = slices.DeleteFunc(c.Observations, func(o Observation) bool { return c.Local[o.Contestant] == 0 })
	for i := range c.Observations {
		if o := &c.Observations[i]; o.Use == ForMachine {
			fit = append(fit, o)
		}
	}
	if !slices.ContainsFunc(fit, func(o *Observation) bool { return o.Scenario == "contended" }) {
		return nil, errors.New("no file has contended without work on 2 processors (firqbench run contended --gomaxprocs 2)")
	}
	if err := c.fitLocal(ctx); err != nil {
		return nil, err
	}
	if err := c.fitMachine(ctx, fit); err != nil {
		return nil, err
	}
	if err := c.fitLocal(ctx); err != nil { // the switches on one processor cost something else now
		return nil, err
	}
	return c, c.check(ctx)
}

// choose takes local work from contended on one processor. Where there is none it takes what
// one goroutine did in uncontended: it uses one processor as well, but each task finds its
// tenant idle, and what that costs is in the local work then.
func (c *Calibration) choose() {
	use := HeldOut
	if !slices.ContainsFunc(c.Observations, func(o Observation) bool { return o.Use == ForLocal }) {
		use = ForLocal
	}
	for i := range c.Observations {
		if o := &c.Observations[i]; o.Use == alone {
			o.Use = use
		}
	}
}

// fitLocal corrects the local work by what the model takes besides on one processor.
func (c *Calibration) fitLocal(ctx context.Context) error {
	for i := range c.Observations {
		o := &c.Observations[i]
		if o.Use != ForLocal {
			continue
		}
		j := job{c.Machine, o.anatomy, c.Local[o.Contestant], o.load, 0}
		if err := j.run(ctx); err != nil {
			return err
		}
		if c.Local[o.Contestant] += 1e9/o.Measured - 1e9/j.rate; !(c.Local[o.Contestant] > 0) {
			return fmt.Errorf("%s: %.0f tasks/s on one processor are more than the model can do", o.Contestant, o.Measured)
		}
	}
	return nil
}

// knob is a parameter of a machine that can be fitted, where it is looked for first, and
// where it may be.
type knob struct {
	name      string
	of        func(*Machine) *float64
	grid      []float64
	low, high float64
}

var knobs = []knob{
	{"transfer", func(m *Machine) *float64 { return &m.Transfer }, []float64{15, 25, 40, 65, 100, 160}, 5, 1000},
	{"wake-up", func(m *Machine) *float64 { return &m.Wake }, []float64{500, 2500, 12_000}, 200, 100_000},
}

// fitMachine searches for the costs with the least sum of how far model and measurement are
// apart, by logarithms: the best of a coarse grid, and from there one cost at a time, by
// ever smaller factors. It is not that of the squares, as the throughput of a mutex that is
// handed over in one case and not in the next one jumps, and one jump would decide.
func (c *Calibration) fitMachine(ctx context.Context, fit []*Observation) error {
	best := math.Inf(1)
	try := func(m Machine) (better bool, err error) {
		miss, err := c.misfit(ctx, fit, m)
		if better = err == nil && miss < best; better {
			best, c.Machine = miss, m
		}
		return better, err
	}
	for _, m := range grid(c.Machine) {
		if _, err := try(m); err != nil {
			return err
		}
	}
	for factor := 1.4; factor > 1.04; {
		moved := false
		for _, k := range knobs {
			for _, f := range []float64{factor, 1 / factor} {
				m := c.Machine
				*k.of(&m) = min(k.high, max(k.low, *k.of(&m)*f))
				better, err := try(m)
				if err != nil {
					return err
				}
				moved = moved || better
			}
		}
		if !moved {
			factor = math.Sqrt(factor)
		}
	}
	return nil
}

// grid returns machines with all combinations of a few values of each cost.
func grid(m Machine) []Machine {
	ms := []Machine{m}
	for _, k := range knobs {
		var more []Machine
		for _, m := range ms {
			for _, v := range k.grid {
				*k.of(&m) = v
				more = append(more, m)
			}
		}
		ms = more
	}
	return ms
}

func (c *Calibration) misfit(ctx context.Context, fit []*Observation, m Machine) (sum float64, err error) {
	jobs := make([]*job, len(fit))
	for i, o := range fit {
		jobs[i] = &job{m, o.anatomy, c.Local[o.Contestant], o.load, 0}
	}
	if err := runAll(ctx, jobs); err != nil {
		return 0, err
	}
	for i, o := range fit {
		sum += math.Abs(math.Log(jobs[i].rate / o.Measured))
	}
	return sum, nil
}

// check fills in what the model says of each observation.
func (c *Calibration) check(ctx context.Context) error {
	jobs := make([]*job, len(c.Observations))
	for i := range c.Observations {
		o := &c.Observations[i]
		jobs[i] = &job{c.Machine, o.anatomy, c.Local[o.Contestant], o.load, 0}
	}
	if err := runAll(ctx, jobs); err != nil {
		return err
	}
	for i := range jobs {
		c.Observations[i].Model = jobs[i].rate
	}
	return nil
}

// Package replay sends a recorded trace through schedulers, with requests
// arriving when they arrived (an open loop), and says how long each waited.
package replay

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/trace"
)

// Options is what the user chose; zero values are chosen by Plan.
type Options struct {
	Speed   float64       // trace time / replay time; 0: chosen; +Inf: everything arrives at the same time
	Service time.Duration // per cost unit; 0: chosen
	Load    float64       // work offered / work that the workers can do while requests arrive; 0: 0.95
	Span    time.Duration // how long the arrivals take where Speed is chosen; 0: 10 s
	Workers int           // 0: 32
	Quantum int64         // of every tenant; 0: chosen
	Busiest int           // how many tenants are shown by themselves; below 0: none; 0: 5
	Shards  int           // 0: the scheduler's default
	// InFlight is how many requests of one tenant may be with workers at a time;
	// 0: no limit. A plain queue has no such limit.
	InFlight int
}

// Plan is what a trace is replayed with. Speed, service time and load depend on
// each other: two of them give the third.
type Plan struct {
	Speed       float64       `json:"speed"` // 0: everything arrives at the same time
	ServiceNs   float64       `json:"service_ns"`
	Load        float64       `json:"load"` // 0 where everything arrives at the same time
	Span        time.Duration `json:"span_ns"`
	Workers     int           `json:"workers"`
	Quantum     int64         `json:"quantum"`
	Busiest     int           `json:"busiest"`
	Shards      int           `json:"shards"`
	InFlight    int           `json:"in_flight"`
	BusyLoad    float64       `json:"busy_load"` // load of the busiest tenth of the time
	LongestTask time.Duration `json:"longest_task_ns"`
	MedianTask  time.Duration `json:"median_task_ns"`
	ShortTasks  float64       `json:"short_tasks"` // part of the requests that take less than the timer's grain
}

const (
	defaultLoad = 0.95
	defaultSpan = 10 * time.Second
	// defaultWorkers is enough for the median task of most logs to be longer
	// than a timer's grain, and for a few giants not to block all others.
	defaultWorkers = 32
	defaultBusiest = 5
	// longest bounds a replay: a mistyped --speed should not take until tomorrow.
	longest = 24 * time.Hour
)

// NewPlan fills in what o leaves open. A trace without extent in time, and an
// infinite speed, have all requests arrive at the same time.
func NewPlan(t *trace.Trace, o Options) (Plan, error) {
	if err := o.check(); err != nil {
		return Plan{}, err
	}
	p := Plan{
		Workers: or(o.Workers, defaultWorkers), Quantum: o.Quantum,
		Busiest: max(0, or(o.Busiest, defaultBusiest)),
		Shards:  o.Shards, InFlight: o.InFlight,
	}
	cost := float64(t.Cost())
	perUnit := func(load float64, span time.Duration) float64 {
		return load * float64(span) * float64(p.Workers) / cost
	}
	load, wanted := or(o.Load, defaultLoad), or(o.Span, defaultSpan)
	switch {
	case t.Span() == 0 || math.IsInf(o.Speed, 1):
		p.ServiceNs = or(float64(o.Service), perUnit(load, wanted))
	case o.Speed != 0:
		p.Span = scaled(t.Span(), o.Speed)
		p.ServiceNs = or(float64(o.Service), perUnit(load, p.Span))
	default:
		p.Span = wanted
		p.ServiceNs = or(float64(o.Service), perUnit(load, wanted))
		if o.Service != 0 && o.Span == 0 {
			p.Span = time.Duration(min(cost*p.ServiceNs/float64(p.Workers)/load, math.MaxInt64/2))
		}
	}
	if p.Span > 0 {
		p.Speed = float64(t.Span()) / float64(p.Span)
		p.Load = cost * p.ServiceNs / (float64(p.Span) * float64(p.Workers))
	}
	if total := max(float64(p.Span), cost*p.ServiceNs/float64(p.Workers)); total > float64(longest) {
		return Plan{}, fmt.Errorf("this would take %.0f hours for each contestant: choose a higher --speed or a lower --service", total/float64(time.Hour))
	}
	p.describe(t)
	return p, nil
}

func (o *Options) check() error {
	switch {
	case o.Speed < 0 || math.IsNaN(o.Speed):
		return fmt.Errorf("--speed: %v, must be a positive factor, or max", o.Speed)
	case o.Service < 0:
		return fmt.Errorf("--service: %v, must be positive", o.Service)
	case o.Load < 0 || math.IsNaN(o.Load) || math.IsInf(o.Load, 0):
		return fmt.Errorf("--load: %v, must be positive", o.Load)
	case o.Span < 0:
		return fmt.Errorf("--duration: %v, must be positive", o.Span)
	case o.Workers < 0 || o.Workers > 1<<16:
		return fmt.Errorf("--workers: %d, must be 1 to %d", o.Workers, 1<<16)
	case o.Quantum < 0:
		return fmt.Errorf("--quantum: %d, must be positive", o.Quantum)
	case o.Shards < 0 || o.Shards > firq.MaxShards:
		return fmt.Errorf("--shards: %d, must be 1 to %d", o.Shards, firq.MaxShards)
	case o.InFlight < 0 || o.InFlight > firq.MaxTasks:
		return fmt.Errorf("--in-flight: %d, must be 1 to %d", o.InFlight, firq.MaxTasks)
	case o.Speed != 0 && o.Span != 0:
		return errors.New("--speed and --duration say the same thing: give one of them")
	case o.Load != 0 && o.Service != 0 && (o.Speed != 0 || o.Span != 0):
		return errors.New("--load follows from --service and the speed: leave one of them out")
	}
	return nil
}

// Grained reports whether enough tasks are shorter than the grain of the workers' timers
// (a millisecond) that a worker takes several together: their order of service, and queue
// times of about that size, are then the workers' as much as the scheduler's.
func (p *Plan) Grained() bool { return p.MedianTask < grain }

// describe fills in what helps to judge the plan.
func (p *Plan) describe(t *trace.Trace) {
	costs := make([]int64, len(t.Requests))
	short := 0
	for i, r := range t.Requests {
		costs[i] = r.Cost
		if float64(r.Cost)*p.ServiceNs < float64(grain) {
			short++
		}
	}
	slices.Sort(costs)
	// The costliest common task: with it a tenant's turn serves at least one of
	// nine tasks in ten, and the rare giants have to save up.
	p.Quantum = or(p.Quantum, costs[len(costs)*9/10])
	p.MedianTask = time.Duration(float64(costs[len(costs)/2]) * p.ServiceNs)
	p.LongestTask = time.Duration(float64(costs[len(costs)-1]) * p.ServiceNs)
	p.ShortTasks = float64(short) / float64(len(costs))
	p.BusyLoad = p.busiestTenth(t) * p.Load
}

// busiestTenth returns how many times the mean load comes in the busiest tenth
// of the trace's time, cut into a hundred slices.
func (p *Plan) busiestTenth(t *trace.Trace) float64 {
	if t.Span() == 0 {
		return 1
	}
	const slots = 100
	var work [slots]float64
	var sum float64
	for _, r := range t.Requests {
		work[min(slots-1, int(float64(r.At)/float64(t.Span())*slots))] += float64(r.Cost)
		sum += float64(r.Cost)
	}
	slices.Sort(work[:])
	var top float64
	for _, w := range work[slots-slots/10:] {
		top += w
	}
	return top / sum * 10
}

// scaled converts a time on the trace's clock to one on the replay's.
func scaled(d time.Duration, speed float64) time.Duration {
	if speed == 0 {
		return 0
	}
	return time.Duration(min(float64(d)/speed, math.MaxInt64/4))
}

func or[N int | int64 | float64 | time.Duration](value, otherwise N) N {
	if value == 0 {
		return otherwise
	}
	return value
}

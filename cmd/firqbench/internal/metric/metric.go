// Package metric names the figures of a run that are compared and exported.
package metric

import (
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/pick"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Metric is one figure of a run.
type Metric struct {
	Name string // as people type it, such as queue-p99
	Unit string // of the Go benchmark format; no two metrics have the same
	Kind Kind
	// Better is what an improvement is; None for figures that explain others.
	Better Direction
	// Floor is the largest difference that is none, whatever part of the value
	// it is: durations that the clock hardly tells apart, allocations that are not
	// zero because the driver has some.
	Floor float64
	// Of returns the value, and whether the run has one.
	Of func(*suite.Cell, *suite.Run) (float64, bool)
}

// Kind says how to write a value.
type Kind string

// The kinds.
const (
	Rate     Kind = "per second"
	Duration Kind = "ns"
	PerTask  Kind = "per task"
	Part     Kind = "part of one"
)

// Direction is where better values lie.
type Direction int

// The directions.
const (
	None   Direction = 0
	Higher Direction = 1
	Lower  Direction = -1
)

// All returns all metrics, in the order of reports. In an open loop enqueue-*,
// queue-* and focus-* count from the intended start.
func All() []Metric {
	// counted: of a run of package instructions nothing but those is known.
	counted := func(r *suite.Run) bool { return r.Elapsed == 0 && r.InstructionsPerTask > 0 }
	always := func(value func(*suite.Run) float64) func(*suite.Cell, *suite.Run) (float64, bool) {
		return func(_ *suite.Cell, r *suite.Run) (float64, bool) { return value(r), !counted(r) }
	}
	paced := func(c *suite.Cell) bool { return c.Variant.Idle > 0 } // by the driver's pauses
	ms := []Metric{
		{Name: "tasks/s", Unit: "tasks/s", Kind: Rate, Better: Higher, Of: func(c *suite.Cell, r *suite.Run) (float64, bool) {
			return r.TasksPerSec, !paced(c) && !counted(r)
		}},
		{Name: "goodput/s", Unit: "goodput/s", Kind: Rate, Better: Higher, Of: func(_ *suite.Cell, r *suite.Run) (float64, bool) {
			if r.Goodput == nil {
				return 0, false
			}
			return *r.Goodput, true
		}},
		openRate("offered/s", None, func(o *load.Open) float64 { return o.Offered }),
		openRate("sent/s", Higher, func(o *load.Open) float64 { return o.Sent }),
	}
	ms = append(ms, quantiles("enqueue", func(r *suite.Run) *load.Latency {
		if r.Open != nil {
			return &r.Open.Enqueue
		}
		return &r.Enqueue
	}, p50, p99, p999)...)
	ms = append(ms, quantiles("queue", func(r *suite.Run) *load.Latency {
		if r.Open != nil {
			return &r.Open.Queue
		}
		return &r.Queue
	}, p50, p95, p99, p999)...)
	ms = append(ms, quantiles("focus", func(r *suite.Run) *load.Latency { return r.Focus }, p99)...)
	ms = append(ms, quantiles("refusal", func(r *suite.Run) *load.Latency { return r.Refusal }, p50)...)
	lag := quantiles("generator-late", func(r *suite.Run) *load.Latency {
		if r.Open == nil {
			return nil
		}
		return &r.Open.Lag
	}, p99)
	lag[0].Better = None
	return append(append(ms, lag...),
		Metric{Name: "allocs/task", Unit: "allocs/task", Kind: PerTask, Better: Lower, Floor: 0.01, Of: func(c *suite.Cell, r *suite.Run) (float64, bool) {
			return r.AllocsPerTask, !paced(c) && !counted(r)
		}},
		Metric{Name: "bytes/task", Unit: "B/task", Kind: PerTask, Better: Lower, Floor: 1, Of: func(c *suite.Cell, r *suite.Run) (float64, bool) {
			return r.BytesPerTask, !paced(c) && !counted(r)
		}},
		cost("cpu/task", "cpu-ns/task", Duration, func(r *suite.Run) float64 { return r.CPUPerTask }),
		cost("switches/task", "switches/task", PerTask, func(r *suite.Run) float64 { return r.SwitchesPerTask }),
		Metric{Name: "instructions/task", Unit: "instructions/task", Kind: PerTask, Better: Lower, Of: func(c *suite.Cell, r *suite.Run) (float64, bool) {
			return r.InstructionsPerTask, r.InstructionsPerTask > 0 && !paced(c)
		}},
		Metric{Name: "rejected", Unit: "rejected-part", Kind: Part, Of: always(func(r *suite.Run) float64 {
			return part(r.Rejected, r.Offered)
		})},
		Metric{Name: "expired", Unit: "expired-part", Kind: Part, Of: always(func(r *suite.Run) float64 {
			return part(r.Expired, r.Expired+r.Delivered)
		})},
		Metric{Name: "jain", Unit: "jain-index", Kind: Part, Better: Higher, Of: func(_ *suite.Cell, r *suite.Run) (float64, bool) {
			return r.Jain, r.JainTenants > 0
		}},
	)
}

// Choose returns the metrics with these names, in the order of All; no names:
// all.
func Choose(names []string) ([]Metric, error) {
	if len(names) == 0 {
		return All(), nil
	}
	return pick.Named("metric", All(), func(m *Metric) string { return m.Name }, names)
}

func openRate(name string, better Direction, of func(*load.Open) float64) Metric {
	return Metric{Name: name, Unit: name, Kind: Rate, Better: better, Of: func(_ *suite.Cell, r *suite.Run) (float64, bool) {
		if r.Open == nil {
			return 0, false
		}
		return of(r.Open), true
	}}
}

// cost is what a task takes of the machine; a run has none where the system does not say.
func cost(name, unit string, kind Kind, of func(*suite.Run) float64) Metric {
	return Metric{Name: name, Unit: unit, Kind: kind, Better: Lower, Of: func(c *suite.Cell, r *suite.Run) (float64, bool) {
		return of(r), r.CPUPerTask > 0 && c.Variant.Idle == 0
	}}
}

type quantile struct {
	name string
	of   func(*load.Latency) time.Duration
}

var (
	p50  = quantile{"p50", func(l *load.Latency) time.Duration { return l.P50 }}
	p95  = quantile{"p95", func(l *load.Latency) time.Duration { return l.P95 }}
	p99  = quantile{"p99", func(l *load.Latency) time.Duration { return l.P99 }}
	p999 = quantile{"p99.9", func(l *load.Latency) time.Duration { return l.P999 }}
)

// quantiles are of a latency that a run may not have, or have no samples of.
func quantiles(name string, of func(*suite.Run) *load.Latency, qs ...quantile) (ms []Metric) {
	for _, q := range qs {
		full := name + "-" + q.name
		ms = append(ms, Metric{Name: full, Unit: full + "-ns", Kind: Duration, Better: Lower, Floor: 10, Of: func(_ *suite.Cell, r *suite.Run) (float64, bool) {
			l := of(r)
			if l == nil || l.Samples == 0 {
				return 0, false
			}
			return float64(q.of(l)), true
		}})
	}
	return ms
}

func part(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

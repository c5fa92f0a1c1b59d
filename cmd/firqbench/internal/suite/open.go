package suite

import (
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// OpenSummary is the part of a Summary that only open loops have: medians over
// the rounds of what load.Open has.
type OpenSummary struct {
	Offered, Sent       float64 // tasks/s
	Enqueue, Queue, Lag load.Latency
	GeneratorShare      float64
	Unsent, Hurried     uint64 // in all rounds
	// Behind says in how many rounds the producers did not keep up with their
	// schedule, by whose fault.
	Behind map[string]int
}

func summarizeOpen(runs []Run) *OpenSummary {
	median := func(value func(*load.Open) float64) float64 {
		return stats.Median(column(runs, func(r *Run) float64 { return value(r.Open) }))
	}
	o := &OpenSummary{
		Offered:        median(func(o *load.Open) float64 { return o.Offered }),
		Sent:           median(func(o *load.Open) float64 { return o.Sent }),
		Enqueue:        latencies(runs, func(r *Run) *load.Latency { return &r.Open.Enqueue }),
		Queue:          latencies(runs, func(r *Run) *load.Latency { return &r.Open.Queue }),
		Lag:            latencies(runs, func(r *Run) *load.Latency { return &r.Open.Lag }),
		GeneratorShare: median((*load.Open).GeneratorShare),
		Behind:         make(map[string]int),
	}
	for _, r := range runs {
		o.Unsent += r.Open.Unsent
		o.Hurried += r.Open.Hurried
		if r.Open.Behind != "" {
			o.Behind[r.Open.Behind]++
		}
	}
	return o
}

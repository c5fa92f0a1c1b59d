package main

import (
	"fmt"
	"io"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// goal is a ratio of a figure of ours to one of another contestant, in the same round.
type goal struct {
	what          string
	ours, theirs  string
	of            func(metrics) float64
	least, atMost float64 // 0: no such limit
}

func p50(m metrics) float64       { return m.P50 }
func rate(m metrics) float64      { return m.Rate }
func processor(m metrics) float64 { return m.Processor }

var goals = []goal{
	{"one caller, p50", "firqnats", "nats", p50, 0, 1.5},
	{"64 callers, processor time per call", "firqnats", "nats", processor, 0, 1.2},
	{"the same", "firqnats", "grpc", processor, 0, 0.65},
	{"64 callers, calls/s", "firqnats", "nats", rate, 0.8, 0},
	{"the same", "firqnats", "grpc", rate, 1.5, 0},
	{"512 actors, processor time per call", "firqnats-512", "firqnats", processor, 0, 1.3},
	{"the same", "firqnats-512", "proto-512", processor, 0, 1.2},
	{"first call of an actor, p50", "firqnats-first", "nats", p50, 0, 4},
}

// figures of a contestant by round.
func (f *file) figures(name string, of func(metrics) float64) map[int]float64 {
	all := map[int]float64{}
	for _, r := range f.Runs {
		if r.Contestant == name && r.Error == "" {
			all[r.Round] = of(r.Metrics)
		}
	}
	return all
}

func (f *file) median(name string, of func(metrics) float64) float64 {
	var list []float64
	for _, x := range f.figures(name, of) {
		list = append(list, x)
	}
	return stats.Median(list)
}

// ratios of ours to theirs, round by round: what disturbs a round disturbs both.
func (g *goal) ratios(f *file) (list []float64) {
	theirs := f.figures(g.theirs, g.of)
	for round, x := range f.figures(g.ours, g.of) {
		if y := theirs[round]; y > 0 {
			list = append(list, x/y)
		}
	}
	return list
}

func (g *goal) String() string {
	if g.least > 0 {
		return fmt.Sprintf("at least %v x %s", g.least, g.theirs)
	}
	return fmt.Sprintf("at most %v x %s", g.atMost, g.theirs)
}

func (g *goal) reached(median float64) string {
	if median >= g.least && (g.atMost == 0 || median <= g.atMost) {
		return "yes"
	}
	return "**no**"
}

// markdown prints what was measured.
func markdown(w io.Writer, f *file) {
	report.Heading(w, "contestant", "p50, µs", "p99, µs", "64 callers, calls/s", "processor time per call, µs", "of which the caller, the others")
	for _, c := range contestants() {
		if len(f.figures(c.name, p50)) == 0 {
			continue
		}
		split := ""
		for i := range 3 {
			if part := f.median(c.name, func(m metrics) float64 {
				if i < len(m.Split) {
					return m.Split[i]
				}
				return 0
			}); part > 0 {
				split += fmt.Sprintf(" %.1f", part)
			}
		}
		number := func(format string, of func(metrics) float64) string { return fmt.Sprintf(format, f.median(c.name, of)) }
		report.Row(w, c.name, number("%.0f", p50), number("%.0f", func(m metrics) float64 { return m.P99 }), number("%.0f", rate),
			number("%.1f", processor), split)
	}
	report.Printf(w, "\n")
	report.Heading(w, "what", "goal", "ratio (interval)", "reached")
	for _, g := range goals {
		if list := g.ratios(f); len(list) > 0 {
			i := stats.IntervalOf(list)
			report.Row(w, g.ours+": "+g.what, g.String(), fmt.Sprintf("%.2f (%.2f to %.2f)", i.Median, i.Low, i.High), g.reached(i.Median))
		}
	}
	report.Printf(w, "\nMedians of %d rounds; ratios are of the same round.\n", f.Rounds)
}

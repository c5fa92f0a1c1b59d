package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

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

func rate(m metrics) float64       { return m.Rate }
func processor1(m metrics) float64 { return m.Processor }
func p50(m metrics) float64        { return m.P50 }
func quietP99(m metrics) float64   { return m.QuietP99 }
func served(m metrics) float64     { return m.Served }

const besideFlood = "quiet tenants beside a flood, p99"

var goals = []goal{
	{"requests/s, 32 connections", "firqproxy", "reverseproxy", rate, 0.9, 0},
	{"the same", "firqproxy-fleet", "reverseproxy", rate, 0.85, 0},
	{besideFlood, "firqproxy", "reverseproxy", quietP99, 0, 0.3},
	{"the same", "firqproxy", "nginx", quietP99, 0, 0.3},
	{"the same", "firqproxy", "haproxy", quietP99, 0, 0.3},
	{"the same", "firqproxy-fleet", "nginx", quietP99, 0, 0.3},
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
	return stats.Median(slices.Collect(maps.Values(f.figures(name, of))))
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
	report.Heading(w, "proxy", "requests/s", "processor time per request, µs", "one connection, p50, µs", "quiet tenants, p50, ms", "p99, ms", "lost", "the flood: answers/s", "refused/s")
	for _, c := range contestants {
		if why := f.Skipped[c.name]; why != "" {
			report.Printf(w, "| %s | skipped: %s | | | | | | | |\n", c.name, why)
		}
		if len(f.figures(c.name, rate)) == 0 {
			continue
		}
		number := func(format string, of func(metrics) float64) string { return fmt.Sprintf(format, f.median(c.name, of)) }
		report.Row(w, c.name, number("%.0f", rate), number("%.1f", processor1), number("%.0f", p50), number("%.1f", func(m metrics) float64 { return m.QuietP50 }),
			number("%.1f", quietP99), number("%.0f", func(m metrics) float64 { return float64(m.QuietLost) }), number("%.0f", served), number("%.0f", func(m metrics) float64 { return m.Refused }))
	}
	report.Printf(w, "\n")
	report.Heading(w, "what", "goal", "ratio (interval)", "reached")
	for _, g := range goals {
		if list := g.ratios(f); len(list) > 0 {
			i := stats.IntervalOf(list)
			report.Row(w, g.ours+": "+g.what, g.String(), fmt.Sprintf("%.2f (%.2f to %.2f)", i.Median, i.Low, i.High), g.reached(i.Median))
		}
	}
	if ours, theirs := f.median("firqproxy", p50), f.median("reverseproxy", p50); ours > 0 && theirs > 0 {
		g := goal{atMost: 50}
		report.Row(w, "firqproxy: one connection, p50", "at most 50 µs more than reverseproxy", fmt.Sprintf("%.0f µs more", ours-theirs), g.reached(ours-theirs))
	}
	report.Printf(w, "\nMedians of %d rounds; ratios are of the same round.\n", f.Rounds)
}

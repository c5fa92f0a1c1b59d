package main

import (
	"fmt"
	"io"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/goals"
)

func rate(m metrics) float64       { return m.Rate }
func processor1(m metrics) float64 { return m.Processor }
func p50(m metrics) float64        { return m.P50 }
func quietP99(m metrics) float64   { return m.QuietP99 }
func served(m metrics) float64     { return m.Served }

const besideFlood = "quiet tenants beside a flood, p99"

var wanted = []goals.Goal[metrics]{
	{What: "requests/s, 32 connections", Ours: "firqproxy", Theirs: "reverseproxy", Of: rate, Least: 0.9},
	{What: "the same", Ours: "firqproxy-fleet", Theirs: "reverseproxy", Of: rate, Least: 0.85},
	{What: besideFlood, Ours: "firqproxy", Theirs: "reverseproxy", Of: quietP99, AtMost: 0.3},
	{What: "the same", Ours: "firqproxy", Theirs: "nginx", Of: quietP99, AtMost: 0.3},
	{What: "the same", Ours: "firqproxy", Theirs: "haproxy", Of: quietP99, AtMost: 0.3},
	{What: "the same", Ours: "firqproxy-fleet", Theirs: "nginx", Of: quietP99, AtMost: 0.3},
}

// markdown prints what was measured.
func markdown(w io.Writer, f *file) {
	report.Heading(w, "proxy", "requests/s", "processor time per request, µs", "one connection, p50, µs", "quiet tenants, p50, ms", "p99, ms", "lost", "the flood: answers/s", "refused/s")
	for _, c := range contestants {
		if why := f.Skipped[c.name]; why != "" {
			report.Printf(w, "| %s | skipped: %s | | | | | | | |\n", c.name, why)
		}
		if len(f.Runs.Figures(c.name, rate)) == 0 {
			continue
		}
		number := func(format string, of func(metrics) float64) string {
			return fmt.Sprintf(format, f.Runs.Median(c.name, of))
		}
		report.Row(w, c.name, number("%.0f", rate), number("%.1f", processor1), number("%.0f", p50), number("%.1f", func(m metrics) float64 { return m.QuietP50 }),
			number("%.1f", quietP99), number("%.0f", func(m metrics) float64 { return float64(m.QuietLost) }), number("%.0f", served), number("%.0f", func(m metrics) float64 { return m.Refused }))
	}
	report.Printf(w, "\n")
	goals.Table(w, wanted, f.Runs)
	if ours, theirs := f.Runs.Median("firqproxy", p50), f.Runs.Median("reverseproxy", p50); ours > 0 && theirs > 0 {
		g := goals.Goal[metrics]{AtMost: 50}
		report.Row(w, "firqproxy: one connection, p50", "at most 50 µs more than reverseproxy", fmt.Sprintf("%.0f µs more", ours-theirs), g.Reached(ours-theirs))
	}
	report.Printf(w, "\nMedians of %d rounds; ratios are of the same round.\n", f.Rounds)
}

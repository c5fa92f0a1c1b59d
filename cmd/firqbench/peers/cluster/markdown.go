package main

import (
	"fmt"
	"io"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/goals"
)

func p50(m metrics) float64       { return m.P50 }
func rate(m metrics) float64      { return m.Rate }
func processor(m metrics) float64 { return m.Processor }

var wanted = []goals.Goal[metrics]{
	{What: "one caller, p50", Ours: "firqnats", Theirs: "nats", Of: p50, AtMost: 1.5},
	{What: "64 callers, processor time per call", Ours: "firqnats", Theirs: "nats", Of: processor, AtMost: 1.2},
	{What: "the same", Ours: "firqnats", Theirs: "grpc", Of: processor, AtMost: 0.65},
	{What: "64 callers, calls/s", Ours: "firqnats", Theirs: "nats", Of: rate, Least: 0.8},
	{What: "the same", Ours: "firqnats", Theirs: "grpc", Of: rate, Least: 1.5},
	{What: "512 actors, processor time per call", Ours: "firqnats-512", Theirs: "firqnats", Of: processor, AtMost: 1.3},
	{What: "the same", Ours: "firqnats-512", Theirs: "proto-512", Of: processor, AtMost: 1.2},
	{What: "first call of an actor, p50", Ours: "firqnats-first", Theirs: "nats", Of: p50, AtMost: 4},
}

// markdown prints what was measured.
func markdown(w io.Writer, f *file) {
	report.Heading(w, "contestant", "p50, µs", "p99, µs", "64 callers, calls/s", "processor time per call, µs", "of which the caller, the others")
	for _, c := range contestants() {
		if len(f.Runs.Figures(c.name, p50)) == 0 {
			continue
		}
		split := ""
		for i := range 3 {
			if part := f.Runs.Median(c.name, func(m metrics) float64 {
				if i < len(m.Split) {
					return m.Split[i]
				}
				return 0
			}); part > 0 {
				split += fmt.Sprintf(" %.1f", part)
			}
		}
		number := func(format string, of func(metrics) float64) string {
			return fmt.Sprintf(format, f.Runs.Median(c.name, of))
		}
		report.Row(w, c.name, number("%.0f", p50), number("%.0f", func(m metrics) float64 { return m.P99 }), number("%.0f", rate),
			number("%.1f", processor), split)
	}
	report.Printf(w, "\n")
	goals.Table(w, wanted, f.Runs)
	report.Printf(w, "\nMedians of %d rounds; ratios are of the same round.\n", f.Rounds)
}

package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// markdown writes what was measured, and the goals.
func markdown(w io.Writer, f *file) {
	figures(w, f)
	goalsTable(w, f)
	report.Printf(w, "%v; %d rounds; otter %s, groupcache %s, x/sync %s\n`%s`\n", &f.Env, f.Rounds, f.Modules["github.com/maypok86/otter/v2"],
		f.Modules["github.com/golang/groupcache"], f.Modules["golang.org/x/sync"], f.Env.Command)
}

// of returns the figures of a system, by round.
func (f *file) of(what, system, metric string) (xs []float64) {
	for _, x := range f.Figures {
		if x.Case == what && x.System == system && x.Metric == metric {
			xs = append(xs, x.Value)
		}
	}
	return xs
}

// figures writes a line for each figure: the median of the rounds with the lowest and the
// highest, and the median of the ratios of compute to it, round by round.
func figures(w io.Writer, f *file) {
	if len(f.Figures) == 0 {
		return
	}
	report.Printf(w, "| case | figure | system | median | lowest to highest | compute / this one |\n| --- | --- | --- | --- | --- | --- |\n")
	var seen []figure
	for _, x := range f.Figures {
		x.Round, x.Value = 0, 0
		if slices.Contains(seen, x) {
			continue
		}
		seen = append(seen, x)
		xs := f.of(x.Case, x.System, x.Metric)
		report.Printf(w, "| %s | %s | %s | %s | %s to %s | %s |\n", x.Case, x.Metric, x.System, number(stats.Median(xs)),
			number(slices.Min(xs)), number(slices.Max(xs)), f.ratio(&x))
	}
	report.Printf(w, "\n")
}

func (f *file) ratio(x *figure) string {
	us := f.of(x.Case, ours, x.Metric)
	if x.System == ours || len(us) == 0 {
		return ""
	}
	return number(stats.Ratio(us, f.of(x.Case, x.System, x.Metric)))
}

// number writes a figure with three digits, or all before the point.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case a >= 1e5:
		return report.Count(v)
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// goal is one of those that the package was built for.
type goal struct {
	what, metric string
	against      string // "": the figure itself counts, not a ratio to another's
	atMost       bool
	want         float64
}

func goals() []goal {
	all := []goal{
		{what: loads[0].name, metric: "calls/s", against: pool, want: 1.2},
		{what: loads[1].name, metric: "calls/s", against: pool, want: 1.2},
		{what: loads[2].name, metric: "calls/s", against: pool, want: 3},
		{what: loads[3].name, metric: "calls/s", against: pool, want: 3},
		{what: loads[4].name, metric: "calls/s", against: pool, want: 3},
		{what: loads[4].name, metric: "calls/s", against: groupCache, want: 2},
		{what: loads[0].name, metric: "calls/s", want: 5_000_000},
		{what: loads[2].name, metric: "calls/s", want: 1_500_000},
		{what: "one hit", metric: "ns", atMost: true, want: 100},
		{what: "one hit", metric: "allocations", atMost: true, want: 0},
		{what: "one miss", metric: "ns", atMost: true, want: 350},
		{what: "one miss", metric: "allocations", atMost: true, want: 1},
		{what: "overload", metric: "quiet in time, %", want: 99},
		{what: "overload", metric: "all in time/s", against: pool, want: 3},
		{what: "overload", metric: "executed too late, %", atMost: true, want: 0},
		{what: "overload", metric: "goroutines left", atMost: true, want: 0},
		{what: "refusals", metric: "executions/s", against: semaphored, want: 0.9},
		{what: "refusals", metric: "quiet p50, ms", against: semaphored, atMost: true, want: 0.1},
	}
	for _, t := range append(slices.Clip(traces), trace{name: "web log", sizes: []int{20, 50}, least: 0.9}) {
		for _, size := range t.sizes {
			all = append(all, goal{what: ratioCase(t.name, size), metric: "hits, %", against: otterAlone, want: t.least},
				goal{what: ratioCase(t.name, size), metric: "hits, %", against: otterInStep, want: t.least})
		}
	}
	for _, each := range routerEach {
		all = append(all, goal{what: routerCase(false, each), metric: "max/mean", atMost: true, want: 1.30},
			goal{what: routerCase(true, each), metric: "max/mean", atMost: true, want: 1.30})
	}
	return append(all,
		goal{what: movedCase, metric: "of the ideal", atMost: true, want: 1.1},
		goal{what: memoryCase, metric: "bytes", against: otterAlone, atMost: true, want: 1},
		goal{what: memoryCase, metric: "bytes", against: plainOtter, atMost: true, want: 1},
	)
}

// noise is what the allocations of the runtime itself may add to a count per call.
const noise = 0.005

// reached says whether a figure is what the goal asks for.
func (g *goal) reached(v float64) bool {
	switch {
	case math.IsNaN(v):
		return false
	case g.atMost && g.metric == "allocations":
		return v <= g.want+noise
	case g.atMost:
		return v <= g.want
	}
	return v >= g.want
}

func goalsTable(w io.Writer, f *file) {
	head := "| goal | compute | other | ratio | reached |\n| --- | --- | --- | --- | --- |\n"
	for _, g := range goals() {
		us := f.of(g.what, ours, g.metric)
		if len(us) == 0 {
			continue // not measured
		}
		report.Print(w, head)
		head = ""
		value, other, ratio := stats.Median(us), "", ""
		if g.against != "" {
			xs := f.of(g.what, g.against, g.metric)
			if len(xs) == 0 {
				continue
			}
			value = stats.Ratio(us, xs)
			other, ratio = fmt.Sprintf("%s (%s)", number(stats.Median(xs)), g.against), number(value)+" x"
		}
		bound, unit := "at least", ""
		if g.atMost {
			bound = "at most"
		}
		if g.against != "" {
			unit = " x"
		}
		report.Printf(w, "| %s: %s %s %s%s | %s | %s | %s | %s |\n", g.what, g.metric, bound, number(g.want), unit,
			number(stats.Median(us)), other, ratio, map[bool]string{true: "yes", false: "**no**"}[g.reached(value)])
	}
	report.Printf(w, "\n")
}

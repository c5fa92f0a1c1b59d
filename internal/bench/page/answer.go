package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/firq-go/firq/internal/bench/chart"
	"github.com/firq-go/firq/internal/bench/contest"
	"github.com/firq-go/firq/internal/bench/stats"
	"github.com/firq-go/firq/internal/bench/suite"
)

// opponents are what the subject is measured against, in the order of importance: the
// first one sorts the rows.
var opponents = []string{contest.OneLock, contest.Simple, contest.Sharded, contest.Channel}

// answer is what most readers come for: by how much the low-contention core is ahead, or
// behind, in each scenario. It stands first.
func (b *builder) answer() section {
	s := section{Title: "The answer", Text: []string{
		"How many times the tasks/s of each other contestant the low-contention core (" + contest.Lockfree + ") had. Right of 1 it is " +
			"faster. A mark is the median of the ratios of single rounds, in which both ran one after the other. The thin line holds the " +
			"true median with 95 % confidence; where several files have a scenario, the mark is the median of the files, and the line " +
			"goes from the least to the greatest of them. A line that crosses 1 shows no difference.",
	}}
	p := part{Title: "Ratios of tasks/s by scenario"}
	for _, label := range b.labels() {
		if f, ok := b.figure(b.ratios(label), ""); ok {
			p.Figures = append(p.Figures, f)
		}
	}
	if len(p.Figures) == 0 {
		s.Missing = append(s.Missing, "No file has "+contest.Lockfree+" together with one of "+strings.Join(opponents, ", ")+"; firqbench run -o FILE makes one.")
		return s
	}
	p.ID = b.id("answer", p.Title)
	s.Parts = append(s.Parts, p)
	return s
}

// closed returns the cells whose tasks/s are the contestants' own doing: no sweeps, which
// have sections of their own, no open loops, nothing that the driver paces.
func (b *builder) closed() (cells []*suite.Cell) {
	for _, f := range b.files {
		if f.Sweep != nil {
			continue
		}
		all := f.Cells()
		for i := range all {
			if c := &all[i]; c.Variant.Rate == 0 && c.Variant.Idle == 0 {
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// labels returns how much work there is between two calls, each amount once.
func (b *builder) labels() (all []string) {
	for _, c := range b.closed() {
		if l := workLabel(c); !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}

// workLabel is the same for all scenarios with as much work between two calls; those with
// work of their own are among those without.
func workLabel(c *suite.Cell) string {
	if c.Variant.Work > 0 {
		return "work " + duration(float64(c.Variant.Work))
	}
	return "no work"
}

// ratios is the chart of one amount of work.
func (b *builder) ratios(label string) chart.Chart {
	type row struct {
		name   string
		ratios map[string]stats.Interval // by opponent
	}
	var rows []row
	byName := map[string][]*suite.Cell{}
	for _, c := range b.closed() {
		if workLabel(c) != label {
			continue
		}
		if name := c.Scenario.Name; byName[name] == nil {
			rows = append(rows, row{name, map[string]stats.Interval{}})
		}
		byName[c.Scenario.Name] = append(byName[c.Scenario.Name], c)
	}
	for i := range rows {
		for _, other := range opponents {
			rows[i].ratios[other] = suite.RatioOver(byName[rows[i].name], contest.Lockfree, other, suite.Rate)
		}
	}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		return !slices.ContainsFunc(opponents, func(other string) bool { return r.ratios[other].N > 0 })
	})
	first := func(r row) float64 {
		for _, other := range opponents {
			if i := r.ratios[other]; i.N > 0 {
				return i.Median
			}
		}
		return math.Inf(-1)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(first(b), first(a)) })
	c := chart.Chart{
		Title: "Tasks/s of " + contest.Lockfree + " over those of the others, " + label,
		About: "Ratios of throughput by scenario.",
		X:     chart.Axis{Label: "ratio (log scale; right of 1: " + contest.Lockfree + " is faster)", Scale: chart.Log, Format: func(x float64) string { return fmt.Sprintf("%.3g", x) }},
		Y:     chart.Axis{Label: "scenario"},
	}
	for _, r := range rows {
		c.Y.Names = append(c.Y.Names, r.name)
	}
	for _, other := range opponents {
		line := chart.Series{Name: other, Slot: b.slots.of(other), Marks: true}
		for y, r := range rows {
			if i := r.ratios[other]; i.N > 0 {
				line.Points = append(line.Points, chart.Point{X: i.Median, Y: float64(y), Lo: i.Low, Hi: i.High})
			}
		}
		c.Series = append(c.Series, line)
	}
	return c
}

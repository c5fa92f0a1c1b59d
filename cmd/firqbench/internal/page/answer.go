package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

// opponents are what the subject is measured against, in the order of importance: the
// first one sorts the rows.
var opponents = []string{contest.OneLock, contest.Simple, contest.Sharded, contest.Channel}

// answer is what most readers come for: by how much the low-contention core is ahead, or
// behind, in each scenario. It stands first.
func (b *builder) answer() section {
	s := section{Title: "The answer", Text: []string{
		"The tasks/s of " + contest.Lockfree + ", the low-contention core, divided by those of each other contestant: right of 1 " + contest.Lockfree + " is faster. " +
			"Both ran one after the other in each round. A mark is the median of the rounds' ratios, or the median of the files' medians; the thin " +
			"line is its interval. The note below each chart says how many rounds or files it is based on, and at what confidence. An interval that contains 1 shows no difference.",
	}}
	var disturbed lacks
	for i, f := range b.files {
		if f.Run != nil && f.Others() >= usage.Busy {
			disturbed.add(b.names[i], busy)
		}
	}
	s.Missing = disturbed.sentences()
	p := part{Title: "Ratios of tasks/s by scenario"}
	var charts []chart.Chart
	var notes []string
	for i := range b.places {
		for _, label := range b.labels(i) {
			c, note := b.ratios(i, label)
			charts, notes = append(charts, c), append(notes, note)
		}
	}
	share(charts)
	for i, c := range charts {
		p.add(b, c, notes[i])
	}
	if len(p.Figures) == 0 {
		s.Missing = append(s.Missing, "No file has closed loops of "+contest.Lockfree+" together with one of "+strings.Join(opponents, ", ")+"; firqbench run -o FILE makes one.")
		return s
	}
	s.Parts = append(s.Parts, p.done(b, "answer"))
	return s
}

// closed returns the groups whose tasks/s are the contestants' own doing: no sweeps, which
// have their own sections, no open loops, nothing that the driver paces.
func (b *builder) closed() (all []*group) {
	for _, g := range b.groups {
		if !g.sweep && g.variant.Rate == 0 && g.variant.Idle == 0 {
			all = append(all, g)
		}
	}
	return all
}

// labels returns how much work there is between two calls in a place, each amount once.
func (b *builder) labels(place int) (all []string) {
	for _, g := range b.closed() {
		if l := workLabel(g); g.place == place && !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}

// workLabel is the same for all scenarios with as much work between two calls; those with
// other work are among those without.
func workLabel(g *group) string {
	if g.variant.Work > 0 {
		return "work " + duration(float64(g.variant.Work))
	}
	return "no work"
}

// ratio is a figure over the rounds of a file, or over several files.
type ratio struct {
	stats.Interval
	files int
}

func (g *group) ratio(other string) (r ratio) {
	for _, c := range g.cells {
		if suite.RatioOver([]*suite.Cell{c}, contest.Lockfree, other, suite.Rate).N > 0 {
			r.files++
		}
	}
	r.Interval = suite.RatioOver(g.cells, contest.Lockfree, other, suite.Rate)
	return r
}

// fewFiles is how many files it takes for an interval of their medians (suite.RatioOver).
const fewFiles = 6

// of says what the interval is.
func (r ratio) of() string {
	percent := fmt.Sprintf("%.3g %%", math.Floor(1000*r.Confidence)/10)
	switch {
	case r.files >= fewFiles:
		return fmt.Sprintf("median of %d files, confidence %s if files differ by chance alone", r.N, percent)
	case r.files > 1:
		return fmt.Sprintf("median of %d files, interval over those of all files, each with a confidence of %s", r.N, percent)
	case r.N == 1:
		return "1 round, no interval"
	case r.Confidence < stats.Confidence:
		return fmt.Sprintf("median of %d rounds, interval from the least to the greatest, confidence %s", r.N, percent)
	}
	return fmt.Sprintf("median of %d rounds, confidence %s", r.N, percent)
}

// ratios is the chart of a place and an amount of work, and what its intervals are.
func (b *builder) ratios(place int, label string) (chart.Chart, string) {
	type row struct {
		name   string
		ratios map[string]ratio // by opponent
	}
	var rows []row
	for _, g := range b.closed() {
		if g.place != place || workLabel(g) != label {
			continue
		}
		r := row{b.rowName(g), map[string]ratio{}}
		for _, other := range opponents {
			if x := g.ratio(other); x.N > 0 {
				r.ratios[other] = x
			}
		}
		if len(r.ratios) > 0 {
			rows = append(rows, r)
		}
	}
	first := func(r row) float64 {
		for _, other := range opponents {
			if i, ok := r.ratios[other]; ok {
				return i.Median
			}
		}
		return math.Inf(-1)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(first(b), first(a)) })
	c := chart.Chart{
		Title: "Tasks/s of " + contest.Lockfree + " over those of the others, " + label + b.at(place),
		About: "Ratios of throughput by scenario.",
		X: chart.Axis{Label: "ratio (log scale; right of 1: " + contest.Lockfree + " is faster)", Scale: chart.Log,
			Format: func(x float64) string { return fmt.Sprintf("%.3g", x) }, Lines: []float64{1}},
		Y: chart.Axis{Label: "scenario"},
	}
	for _, r := range rows {
		c.Y.Names = append(c.Y.Names, r.name)
	}
	var notes lacks
	for _, other := range opponents {
		line := chart.Series{Name: other, Slot: b.slots.of(other), Marks: true}
		for y, r := range rows {
			if i, ok := r.ratios[other]; ok {
				line.Points = append(line.Points, chart.Point{X: i.Median, Y: float64(y), Lo: i.Low, Hi: i.High})
				notes.add(r.name, i.of())
			}
		}
		c.Series = append(c.Series, line)
	}
	return c, notes.note()
}

// rowName is the scenario's name, followed by its settings if the place has runs of it with
// different ones.
func (b *builder) rowName(g *group) string {
	name := g.scenario.Name
	for _, other := range b.groups {
		if o := &other.scenario; other.place == g.place && o.Name == name && *o != g.scenario && !other.sweep {
			return fmt.Sprintf("%s %dx%d, %d", name, g.scenario.Producers, g.scenario.Consumers, g.scenario.Tenants)
		}
	}
	return name
}

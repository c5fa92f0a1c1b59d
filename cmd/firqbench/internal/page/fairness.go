package page

import (
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// fairest is where what is fairer still is drawn: an index of 1 is nowhere on a logarithmic
// scale.
const fairest = 1e-5

// fairness shows what fairness costs: it against throughput, a chart per scenario.
func (b *builder) fairness() section {
	s := section{Title: "Fairness against throughput", Text: []string{
		"Left is fairer, higher is faster; both axes are logarithmic, and the same on all charts. The index is Jain's, of what tenants were " +
			"served by cost: 1 is fair, so its distance from 1 is shown, and whatever is nearer than 0.00001 is shown there.",
		"It is not measured in the rounds whose tasks/s are shown. In a closed loop tenants get what they send, whatever the scheduler does. So a " +
			"backlog is made beforehand, in which every tenant has more than its share, and the index is of what was served of it (backlog probe).",
	}}
	for i := range b.places {
		p := part{Title: "Jain's index and tasks/s" + b.at(i)}
		var charts []chart.Chart
		var seen []string
		for _, g := range b.closed() {
			name := b.rowName(g)
			if g.place != i || slices.Contains(seen, name) {
				continue // the probe has no work between calls
			}
			if c := b.fair(g, name); !c.Empty() {
				seen = append(seen, name)
				charts = append(charts, c)
			}
		}
		share(charts)
		for _, c := range charts {
			p.add(b, c, "")
		}
		if len(p.Figures) > 0 {
			s.Parts = append(s.Parts, p.done(b, "fairness"))
		}
	}
	if len(s.Parts) == 0 {
		s.Text = nil
		s.Missing = []string{"No file has closed loops with an index of fairness, which firqbench run measures in scenarios of several tenants."}
	}
	return s
}

// fair is the chart of a scenario.
func (b *builder) fair(g *group, name string) chart.Chart {
	c := chart.Chart{
		Scatter: true,
		Title:   name + ", " + g.cells[0].Label(), About: "Fairness of each contestant against its throughput.",
		X: chart.Axis{Label: "1 - Jain's index (log scale, left is fairer)", Scale: chart.Log, Format: amount},
		Y: chart.Axis{Label: "tasks per second (log scale)", Scale: chart.Log, Format: count},
	}
	for _, contestant := range g.contestants() {
		var unfair []float64
		rs := g.runs(contestant)
		for _, r := range rs {
			if r.JainTenants > 0 {
				unfair = append(unfair, 1-r.Jain)
			}
		}
		if len(unfair) == 0 {
			continue
		}
		p := over(rs, func(r *suite.Run) float64 { return r.TasksPerSec })
		p.X = max(fairest, stats.Median(unfair))
		c.Series = append(c.Series, chart.Series{Name: contestant, Slot: b.slots.of(contestant), Marks: true, Points: []chart.Point{p}})
	}
	return c
}

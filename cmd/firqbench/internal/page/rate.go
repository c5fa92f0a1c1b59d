package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
)

// bend is how many times the p99 at the lowest rate a p99 is beyond the knee.
const bend = 3

// byRate shows how queue times grow with the rate of open loops, and where they begin to.
func (b *builder) byRate() section {
	s := section{Title: "Rate against p99", Text: []string{
		"Tasks come by the clock, whatever becomes of those before. Each point is the median over the rounds of the 99th percentile of the " +
			"queue time, from the intended start on; the thin line goes from the least round to the greatest.",
		fmt.Sprintf("The knee is between two tested rates: the lowest one from which on the p99 stays above %d times that at the lowest rate of all, and "+
			"the one before it. A bar at the foot of the chart goes from the one to the other.", bend),
	}}
	p := part{Title: "Queue time by rate"}
	b.lines(&p, b.measured(), comparison{
		same: func(m *measured) string {
			v := m.variant
			if v.Rate == 0 {
				return ""
			}
			v.Rate = 0
			return fmt.Sprintf("%d %d %+v %+v", m.place, m.cores, m.scenario, v)
		},
		x: func(m *measured) float64 { return m.variant.Rate }, y: func(m *measured) chart.Point { return m.late },
		title: func(ms []*measured) string {
			return fmt.Sprintf("%s: queue time by rate, 99th percentile, %s arrivals%s%s", ms[0].scenario.Name, ms[0].variant.Arrivals, ms[0].setting(), b.at(ms[0].place))
		},
		about: "The 99th percentile of the queue time of each contestant, from the intended start on.",
		X:     chart.Axis{Label: "tasks per second sent (log scale)", Scale: chart.Log, Format: count}, Y: durations("queue time p99"),
		more: func(c *chart.Chart, ms []*measured) string { return markKnees(c) + overrun(ms) },
	})
	if len(p.Figures) == 0 {
		s.Text = nil
		s.Missing = []string{"No file has a scenario at two rates or more; firqbench run --rate 20k/s,100k/s,500k/s -o FILE makes one."}
		return s
	}
	s.Parts = append(s.Parts, p.done(b, "rate"))
	return s
}

// markKnees marks the knee of each series, and says where they are.
func markKnees(c *chart.Chart) string {
	var said []string
	for i := range c.Series {
		s := &c.Series[i]
		ps := slices.SortedFunc(slices.Values(s.Points), func(a, b chart.Point) int { return int(a.X - b.X) })
		if len(ps) < 2 {
			continue
		}
		if k := knee(ps); k > 0 {
			s.Span = [2]float64{ps[k-1].X, ps[k].X}
			said = append(said, fmt.Sprintf("%s between %s/s and %s/s", s.Name, count(ps[k-1].X), count(ps[k].X)))
		} else {
			said = append(said, fmt.Sprintf("%s has no knee up to %s/s", s.Name, count(ps[len(ps)-1].X)))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "Knee: " + strings.Join(said, "; ") + "."
}

// overrun says at which rates the producers themselves did not keep up: there the knee may be the
// generator's, not the scheduler's.
func overrun(ms []*measured) string {
	late, all := map[float64]int{}, map[float64]int{}
	for _, m := range ms {
		for _, r := range m.runs(m.contestant) {
			all[m.variant.Rate]++
			if r.Open != nil && r.Open.Behind == load.BehindGenerator {
				late[m.variant.Rate]++
			}
		}
	}
	var said []string
	for _, rate := range slices.Sorted(maps.Keys(late)) {
		said = append(said, fmt.Sprintf("in %d of %d runs at %s/s", late[rate], all[rate], count(rate)))
	}
	if len(said) == 0 {
		return ""
	}
	return " The load generator could not keep up " + strings.Join(said, ", ") + ": the latencies of those are its own."
}

// knee returns the index of the first of the points, which are by rate, from which on all
// are above bend times the first; 0: there is none.
func knee(ps []chart.Point) int {
	k := len(ps)
	for k > 1 && ps[k-1].Y > bend*ps[0].Y {
		k--
	}
	if k == len(ps) {
		return 0
	}
	return k
}

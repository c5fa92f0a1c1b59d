package page

import "github.com/firq-go/firq/cmd/firqbench/internal/chart"

// lines collects a series per contestant, in order of first appearance.
type lines struct {
	slots  slots
	order  []string
	series map[string]*chart.Series
}

func newLines(s slots) *lines { return &lines{slots: s, series: map[string]*chart.Series{}} }

// of returns the series of a contestant, a new one at first.
func (l *lines) of(contestant string) *chart.Series {
	if l.series[contestant] == nil {
		l.series[contestant] = &chart.Series{Name: contestant, Slot: l.slots.of(contestant)}
		l.order = append(l.order, contestant)
	}
	return l.series[contestant]
}

func (l *lines) all() (all []chart.Series) {
	for _, name := range l.order {
		all = append(all, *l.series[name])
	}
	return all
}

// put puts p in the place of a point with the same x, or behind the others:
// of two places with the same x the one that was named last counts.
func put(ps *[]chart.Point, p chart.Point) {
	for i := range *ps {
		if (*ps)[i].X == p.X {
			(*ps)[i] = p
			return
		}
	}
	*ps = append(*ps, p)
}

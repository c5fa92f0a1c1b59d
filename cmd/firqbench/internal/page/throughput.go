package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// measured is what one contestant reached in one group.
type measured struct {
	*group
	cores      int // that Go used
	contestant string
	rate, late chart.Point // throughput, and the 99th percentile of the queue time; X is filled in later
}

// throughput shows it by scenario, by cores and by tenants.
func (b *builder) throughput() section {
	s := section{Title: "Throughput", Text: []string{
		"Tasks per second that consumers received. Each point is the median of all rounds of all files of one place, the thin line " +
			"goes from the least round to the greatest. Points of different places come from different machines, programs or settings.",
	}}
	all := b.measured()
	if len(all) == 0 {
		s.Missing = append(s.Missing, "No file holds throughput; firqbench run -o FILE makes one.")
		return s
	}
	for _, p := range []part{b.byScenario(all), b.byCores(all), b.byTenants(all)} {
		if len(p.Figures) > 0 {
			s.Parts = append(s.Parts, p.done(b, "throughput"))
			continue
		}
		s.Missing = append(s.Missing, p.Text...)
	}
	return s
}

func (b *builder) measured() (all []measured) {
	for _, g := range b.groups {
		if g.variant.Idle > 0 {
			continue // paced by the driver's pauses
		}
		for _, name := range g.contestants() {
			rs := g.runs(name)
			all = append(all, measured{
				group: g, cores: b.cores(g), contestant: name,
				rate: over(rs, func(r *suite.Run) float64 { return r.TasksPerSec }),
				late: over(rs, func(r *suite.Run) float64 { return float64(queueOf(r).P99) }),
			})
		}
	}
	return all
}

// over returns the median over rounds, with their range.
func over(rs []*suite.Run, value func(*suite.Run) float64) chart.Point {
	xs := make([]float64, len(rs))
	for i, r := range rs {
		xs[i] = value(r)
	}
	return chart.Point{Y: stats.Median(xs), Lo: slices.Min(xs), Hi: slices.Max(xs)}
}

// comparison says which points make a line, and what it is drawn against.
type comparison struct {
	same  func(*measured) string // equal for those that differ in x alone; "": not shown
	x     func(*measured) float64
	y     func(*measured) chart.Point
	title func([]*measured) string
	about string
	X, Y  chart.Axis
	// more, if there is one, changes the chart of points, and returns what is to be said of it.
	more func(*chart.Chart, []*measured) string
}

func perSecond() chart.Axis {
	return chart.Axis{Label: "tasks per second", Format: count, FromZero: true}
}

func rate(m *measured) chart.Point { return m.rate }

// lines adds a chart for each group of points that needs one: with two different x. Between
// the points of runs there is no line, as what is between them was not measured.
func (b *builder) lines(p *part, all []measured, c comparison) {
	sames := map[string][]*measured{}
	var order []string
	for i := range all {
		k := c.same(&all[i])
		if k == "" {
			continue
		}
		if sames[k] == nil {
			order = append(order, k)
		}
		sames[k] = append(sames[k], &all[i])
	}
	var charts []chart.Chart
	var notes []string
	for _, k := range order {
		ms := sames[k]
		drawn := chart.Chart{Title: c.title(ms), About: c.about, X: c.X, Y: c.Y}
		lines := newLines(b.slots)
		for _, m := range ms {
			if !slices.Contains(drawn.X.Ticks, c.x(m)) {
				drawn.X.Ticks = append(drawn.X.Ticks, c.x(m))
			}
			at := c.y(m)
			at.X = c.x(m)
			line := lines.of(m.contestant)
			line.Marks = !m.sweep && c.more == nil
			put(&line.Points, at)
		}
		if len(drawn.X.Ticks) < 2 {
			continue
		}
		slices.Sort(drawn.X.Ticks)
		drawn.Series = lines.all()
		note := "From " + strings.Join(b.from(ms), ", ") + "."
		if c.more != nil {
			note = c.more(&drawn, ms) + " " + note
		}
		charts, notes = append(charts, drawn), append(notes, note)
	}
	share(charts)
	for i := range charts {
		charts[i].X.Min, charts[i].X.Max = 0, 0 // each has its own ticks
		p.add(b, charts[i], notes[i])
	}
}

// from returns the names of the files that points come from.
func (b *builder) from(ms []*measured) (names []string) {
	for _, m := range ms {
		for _, i := range m.files {
			if name := b.names[i]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// settings is what m was run with. In a sweep, what was not chosen to vary may
// follow from the number of cores, and says nothing.
func (b *builder) settings(m *measured) string {
	s := m.scenario
	if f := b.files[m.files[0]]; f.Sweep != nil {
		p := f.Sweep.Plan
		for _, axis := range []struct {
			values []sweep.Value
			of     *int
		}{{p.Producers, &s.Producers}, {p.Consumers, &s.Consumers}, {p.Tenants, &s.Tenants}, {p.Shards, &s.Shards}, {p.Batch, &s.Batch}} {
			if len(axis.values) < 2 {
				*axis.of = 0
			}
		}
		s.HotProducers = 0
	}
	return fmt.Sprintf("%+v %+v", s, m.variant)
}

func (b *builder) byCores(all []measured) part {
	p := part{Title: "By cores"}
	b.lines(&p, all, comparison{
		same: func(m *measured) string {
			if m.variant.Rate > 0 {
				return "" // it is the rate
			}
			return whereAtAll(b.places[m.place].env) + b.settings(m)
		},
		x: func(m *measured) float64 { return float64(m.cores) }, y: rate,
		title: func(ms []*measured) string {
			more := ""
			if ms[0].point != nil {
				more = fmt.Sprintf(", %d tenants", ms[0].scenario.Tenants)
			}
			return fmt.Sprintf("%s by cores, %s%s", ms[0].scenario.Name, ms[0].cells[0].Label(), more)
		},
		about: "Throughput of each contestant.", X: chart.Axis{Label: "cores", Format: count}, Y: perSecond(),
	})
	p.Text = []string{"Only one number of cores was measured, of any scenario on the same machine with the same commit: no chart by cores. " +
		"firqbench sweep --cores 1,2,4 -o FILE makes a file for one."}
	if len(p.Figures) > 0 {
		p.Text = []string{"Cores: the value of GOMAXPROCS; a pinned program runs on exactly that many."}
	}
	return p
}

func (b *builder) byTenants(all []measured) part {
	p := part{Title: "By tenants"}
	b.lines(&p, all, comparison{
		same: func(m *measured) string {
			if m.variant.Rate > 0 {
				return ""
			}
			s := m.scenario
			s.Name, s.About, s.More, s.Tenants = "", "", "", 0
			return fmt.Sprintf("%d %t %d %+v %+v", m.place, m.sweep, m.cores, s, m.variant)
		},
		x: func(m *measured) float64 { return float64(m.scenario.Tenants) }, y: rate,
		title: func(ms []*measured) string {
			s := &ms[0].scenario
			name := s.Name + ", "
			for _, m := range ms {
				if m.scenario.Name != s.Name {
					name = ""
				}
			}
			title := fmt.Sprintf("%s%d producers, %d consumers by tenants, %s", name, s.Producers, s.Consumers, ms[0].cells[0].Label())
			if ms[0].point != nil {
				title += ", " + plural(ms[0].cores, "core")
			}
			return title + b.at(ms[0].place)
		},
		about: "Throughput of each contestant.", X: chart.Axis{Label: "tenants (log scale)", Scale: chart.Log, Format: count}, Y: perSecond(),
	})
	p.Text = []string{"No file has the same load with different numbers of tenants (as the scenarios single_hot_tenant, contended and many_tenants are): no chart by tenants."}
	if len(p.Figures) > 0 {
		p.Text = []string{"Loads that differ in nothing but the number of tenants, as the scenarios single_hot_tenant, contended and many_tenants do."}
	}
	return p
}

// byScenario is a chart per place and amount of work.
func (b *builder) byScenario(all []measured) part {
	p := part{Title: "By scenario", Text: []string{"Logarithmic scale: equal distances are equal factors."}}
	var charts []chart.Chart
	var notes []string
	for i := range b.places {
		for _, label := range b.labels(i) {
			var rows []string
			lines := newLines(b.slots)
			for _, m := range all {
				if m.place != i || m.sweep || m.variant.Rate > 0 || workLabel(m.group) != label {
					continue // other charts are about what differs there
				}
				row := b.rowName(m.group)
				if !slices.Contains(rows, row) {
					rows = append(rows, row)
				}
				r := m.rate
				r.X, r.Y = r.Y, float64(slices.Index(rows, row))
				line := lines.of(m.contestant)
				line.Marks, line.Points = true, append(line.Points, r)
			}
			charts = append(charts, chart.Chart{
				Title: "Throughput by scenario, " + label + b.at(i), About: "Throughput of each contestant in each scenario.",
				X: chart.Axis{Label: "tasks per second (log scale)", Scale: chart.Log, Format: count},
				Y: chart.Axis{Label: "scenario", Names: rows}, Series: lines.all(),
			})
			notes = append(notes, "From "+strings.Join(b.filesOf(i, func(f File) bool { return f.Run != nil }), ", ")+".")
		}
	}
	share(charts)
	for i, c := range charts {
		p.add(b, c, notes[i])
	}
	if len(p.Figures) == 0 {
		p.Text = nil
	}
	return p
}

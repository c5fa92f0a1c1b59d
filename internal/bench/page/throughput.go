package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firq-go/firq/internal/bench/chart"
	"github.com/firq-go/firq/internal/bench/stats"
	"github.com/firq-go/firq/internal/bench/suite"
	"github.com/firq-go/firq/internal/bench/sweep"
)

// measured is what one contestant reached in one cell of one file.
type measured struct {
	file       int
	cell       *suite.Cell
	cores      int // that Go used
	contestant string
	rate, late chart.Point // throughput, and the 99th percentile of the queue time; X is filled in later
}

// throughput shows it by scenario, by cores and by tenants.
func (b *builder) throughput() section {
	s := section{Title: "Throughput", Text: []string{
		"Tasks per second that consumers received. Each point is the median of the rounds, the thin line their range. " +
			"Compare points of one file; points of different files come from different runs.",
	}}
	all := b.measured()
	if len(all) == 0 {
		s.Missing = append(s.Missing, "No file holds throughput; firqbench run -o FILE makes one.")
		return s
	}
	for _, p := range []part{b.byCores(all), b.byTenants(all), b.byRate(all), b.byScenario(all)} {
		if len(p.Figures) > 0 {
			p.ID = b.id("throughput", p.Title)
			s.Parts = append(s.Parts, p)
			continue
		}
		s.Missing = append(s.Missing, p.Text...)
	}
	return s
}

func (b *builder) measured() (all []measured) {
	for i, f := range b.files {
		atAll := min(f.Env.GOMAXPROCS, f.Env.Cores)
		if n := len(f.Env.Pinned); n > 0 {
			atAll = min(atAll, n)
		}
		cells := f.Cells()
		for j := range cells {
			m := measured{file: i, cell: &cells[j], cores: atAll}
			if m.cell.Point != nil {
				m.cores = cores(m.cell)
			}
			if m.cell.Variant.Idle > 0 {
				continue // paced by the driver's pauses
			}
			for _, name := range contestants(m.cell.Runs) {
				m.contestant = name
				m.rate = m.over(func(r *suite.Run) float64 { return r.TasksPerSec })
				m.late = m.over(func(r *suite.Run) float64 { return float64(queueOf(r).P99) })
				all = append(all, m)
			}
		}
	}
	return all
}

// over returns the median over a contestant's rounds, with their range.
func (m *measured) over(value func(*suite.Run) float64) chart.Point {
	var xs []float64
	for i := range m.cell.Runs {
		if r := &m.cell.Runs[i]; r.Contestant == m.contestant {
			xs = append(xs, value(r))
		}
	}
	return chart.Point{Y: stats.Median(xs), Lo: slices.Min(xs), Hi: slices.Max(xs)}
}

// comparison says which points make a line, and what it is drawn against.
type comparison struct {
	same  func(*measured) string // equal for those that differ in x alone
	x     func(*measured) float64
	y     func(*measured) chart.Point
	title func([]*measured) string
	about string
	X, Y  chart.Axis
}

func perSecond() chart.Axis {
	return chart.Axis{Label: "tasks per second", Format: count, FromZero: true}
}

func rate(m *measured) chart.Point { return m.rate }

// lines draws a chart for each group of points that needs one: with two
// different x.
func (b *builder) lines(all []measured, c comparison) (figures []figure) {
	groups := map[string][]*measured{}
	var order []string
	for i := range all {
		k := c.same(&all[i])
		if k == "" {
			continue
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], &all[i])
	}
	for _, k := range order {
		chart := chart.Chart{Title: c.title(groups[k]), About: c.about, X: c.X, Y: c.Y}
		var from []string
		lines := newLines(b.slots)
		for _, m := range groups[k] {
			if !slices.Contains(chart.X.Ticks, c.x(m)) {
				chart.X.Ticks = append(chart.X.Ticks, c.x(m))
			}
			if name := b.names[m.file]; !slices.Contains(from, name) {
				from = append(from, name)
			}
			p := c.y(m)
			p.X = c.x(m)
			place(&lines.of(m.contestant).Points, p)
		}
		if len(chart.X.Ticks) < 2 {
			continue
		}
		slices.Sort(chart.X.Ticks)
		chart.Series = lines.all()
		if f, ok := b.figure(chart, "From "+strings.Join(from, ", ")+"."); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// where says what must be the same for two files to be compared.
func (b *builder) where(m *measured) string {
	e := b.files[m.file].Env
	return fmt.Sprint(e.CPU, e.Cores, e.Arch, e.GoVersion, e.Commit, e.Modified)
}

// settings is what m was run with. In a sweep, what was not chosen to vary may
// follow from the number of cores, and says nothing.
func (b *builder) settings(m *measured) string {
	s, rate := m.cell.Scenario, m.cell.Variant
	if f := b.files[m.file]; f.Sweep != nil {
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
	return fmt.Sprintf("%+v %+v", s, rate)
}

func (b *builder) byCores(all []measured) part {
	p := part{Title: "By cores", Figures: b.lines(all, comparison{
		same: func(m *measured) string {
			if m.cell.Variant.Rate > 0 {
				return "" // it is the rate
			}
			return b.where(m) + b.settings(m)
		},
		x: func(m *measured) float64 { return float64(m.cores) }, y: rate,
		title: func(ms []*measured) string {
			c, more := ms[0].cell, ""
			if c.Point != nil {
				more = fmt.Sprintf(", %d tenants", c.Scenario.Tenants)
			}
			return fmt.Sprintf("%s by cores, %s%s", c.Scenario.Name, c.Label(), more)
		},
		about: "Throughput of each contestant.", X: chart.Axis{Label: "cores", Format: count}, Y: perSecond(),
	})}
	p.Text = []string{"Only one number of cores was measured, of any scenario on the same machine with the same commit: no chart by cores. " +
		"firqbench sweep --cores 1,2,4 -o FILE makes a file for one."}
	if len(p.Figures) > 0 {
		p.Text = []string{"Go may use so many processors; where the program was pinned, it has no others."}
	}
	return p
}

func (b *builder) byTenants(all []measured) part {
	p := part{Title: "By tenants", Figures: b.lines(all, comparison{
		same: func(m *measured) string {
			if m.cell.Variant.Rate > 0 {
				return ""
			}
			s := m.cell.Scenario
			s.Name, s.About, s.More, s.Tenants = "", "", "", 0
			return fmt.Sprintf("%s %d %d %+v %+v", b.where(m), m.file, m.cores, s, m.cell.Variant)
		},
		x: func(m *measured) float64 { return float64(m.cell.Scenario.Tenants) }, y: rate,
		title: func(ms []*measured) string {
			c := ms[0].cell
			name := c.Scenario.Name + ", "
			for _, m := range ms {
				if m.cell.Scenario.Name != c.Scenario.Name {
					name = ""
				}
			}
			title := fmt.Sprintf("%s%d producers, %d consumers by tenants, %s", name, c.Scenario.Producers, c.Scenario.Consumers, c.Label())
			if c.Point != nil {
				title += ", " + plural(ms[0].cores, "core")
			}
			return title
		},
		about: "Throughput of each contestant.", X: chart.Axis{Label: "tenants (log scale)", Scale: chart.Log, Format: count}, Y: perSecond(),
	})}
	p.Text = []string{"No file has the same load with different numbers of tenants (as the scenarios single_hot_tenant, contended and many_tenants are): no chart by tenants."}
	if len(p.Figures) > 0 {
		p.Text = []string{"What differs in the number of tenants alone (as the scenarios single_hot_tenant, contended and many_tenants do), from one file."}
	}
	return p
}

// byRate shows how queue times grow with the rate of open loops.
func (b *builder) byRate(all []measured) part {
	return part{Title: "Queue time by rate", Figures: b.lines(all, comparison{
		same: func(m *measured) string {
			v := m.cell.Variant
			if v.Rate == 0 {
				return ""
			}
			v.Rate = 0
			return fmt.Sprintf("%s %d %d %+v %+v", b.where(m), m.file, m.cores, m.cell.Scenario, v)
		},
		x: func(m *measured) float64 { return m.cell.Variant.Rate }, y: func(m *measured) chart.Point { return m.late },
		title: func(ms []*measured) string {
			c := ms[0].cell
			return fmt.Sprintf("%s: queue time by rate, 99th percentile, %s arrivals%s", c.Scenario.Name, c.Variant.Arrivals, setting(c))
		},
		about: "The 99th percentile of the queue time of each contestant, from the intended start on.",
		X:     chart.Axis{Label: "tasks per second sent (log scale)", Scale: chart.Log, Format: count}, Y: durations("queue time"),
	})}
}

// byScenario is one chart per file.
func (b *builder) byScenario(all []measured) part {
	p := part{Title: "By scenario", Text: []string{"The scale is logarithmic: what is as far apart differs by the same factor."}}
	for i := range b.files {
		if b.files[i].Sweep != nil {
			continue // the charts above are about what it varies
		}
		var rows []string // scenario and variant
		lines := newLines(b.slots)
		for _, m := range all {
			if m.file != i || m.cell.Variant.Rate > 0 {
				continue
			}
			row := m.cell.Scenario.Name + shortLabel(m.cell)
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
			r := m.rate
			r.X, r.Y = r.Y, float64(slices.Index(rows, row))
			line := lines.of(m.contestant)
			line.Marks, line.Points = true, append(line.Points, r)
		}
		c := chart.Chart{
			Title: "Throughput by scenario, " + b.names[i], About: "Throughput of each contestant in each scenario.",
			X: chart.Axis{Label: "tasks per second (log scale)", Scale: chart.Log, Format: count},
			Y: chart.Axis{Label: "scenario", Names: rows}, Series: lines.all(),
		}
		if f, ok := b.figure(c, ""); ok {
			p.Figures = append(p.Figures, f)
		}
	}
	if len(p.Figures) == 0 {
		p.Text = nil
	}
	return p
}

// shortLabel is the variant, where there is work.
func shortLabel(c *suite.Cell) string {
	if c.Variant.Work > 0 {
		return " " + duration(float64(c.Variant.Work))
	}
	return ""
}

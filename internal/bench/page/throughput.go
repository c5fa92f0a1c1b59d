package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firq-go/firq/internal/bench/chart"
	"github.com/firq-go/firq/internal/bench/stats"
	"github.com/firq-go/firq/internal/bench/suite"
)

// measured is the throughput of one contestant in one cell of one file.
type measured struct {
	file       int
	cell       *suite.Cell
	cores      int // that Go used
	contestant string
	rate       chart.Point // Y with its range; X is filled in later
}

// throughput shows it by scenario, by cores and by tenants.
func (b *builder) throughput() section {
	s := section{Title: "Throughput", Text: []string{
		"Tasks per second that consumers received. Each point is the median of the rounds of one run, the thin line its range. " +
			"Compare points of one file; points of different files come from different runs.",
	}}
	all := b.measured()
	if len(all) == 0 {
		s.Missing = append(s.Missing, "No file holds throughput; firqbench run -o FILE makes one.")
		return s
	}
	for _, p := range []part{b.byCores(all), b.byTenants(all), b.byScenario(all)} {
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
		cores := min(f.Env.GOMAXPROCS, f.Env.Cores)
		if n := len(f.Env.Pinned); n > 0 {
			cores = min(cores, n)
		}
		cells := f.cells()
		for j := range cells {
			cell := &cells[j]
			if cell.Variant.Idle > 0 {
				continue // paced by the driver's pauses
			}
			for _, name := range contestants(cell.Runs) {
				var rates []float64
				for _, r := range cell.Runs {
					if r.Contestant == name {
						rates = append(rates, r.TasksPerSec)
					}
				}
				all = append(all, measured{i, cell, cores, name, chart.Point{
					Y: stats.Median(rates), Lo: slices.Min(rates), Hi: slices.Max(rates),
				}})
			}
		}
	}
	return all
}

// lines draws a chart for each group of points that differ in x alone: those
// for which same says the same. A group needs two different x.
func (b *builder) lines(all []measured, same func(*measured) string, x func(*measured) float64, title func(*measured) string, axis chart.Axis) (figures []figure) {
	groups := map[string][]*measured{}
	var order []string
	for i := range all {
		k := same(&all[i])
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], &all[i])
	}
	for _, k := range order {
		c := chart.Chart{
			Title: title(groups[k][0]), About: "Throughput of each contestant.",
			X: axis, Y: chart.Axis{Label: "tasks per second", Format: count, FromZero: true},
		}
		var from []string
		at := map[string]*chart.Series{}
		var names []string
		for _, m := range groups[k] {
			if !slices.Contains(c.X.Ticks, x(m)) {
				c.X.Ticks = append(c.X.Ticks, x(m))
			}
			if name := b.names[m.file]; !slices.Contains(from, name) {
				from = append(from, name)
			}
			if at[m.contestant] == nil {
				at[m.contestant] = &chart.Series{Name: m.contestant, Slot: b.slots.of(m.contestant)}
				names = append(names, m.contestant)
			}
			p := m.rate
			p.X = x(m)
			place(&at[m.contestant].Points, p)
		}
		if len(c.X.Ticks) < 2 {
			continue
		}
		slices.Sort(c.X.Ticks)
		for _, name := range names {
			c.Series = append(c.Series, *at[name])
		}
		if f, ok := b.figure(c, "From "+strings.Join(from, ", ")+"."); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// place puts p in the place of a point with the same x, or behind the others:
// of two runs of the same thing the one that was named last counts.
func place(ps *[]chart.Point, p chart.Point) {
	for i := range *ps {
		if (*ps)[i].X == p.X {
			(*ps)[i] = p
			return
		}
	}
	*ps = append(*ps, p)
}

// where says what must be the same for two files to be compared.
func (b *builder) where(m *measured) string {
	e := b.files[m.file].Env
	return fmt.Sprint(e.CPU, e.Cores, e.Arch, e.GoVersion, e.Commit, e.Modified)
}

func (b *builder) byCores(all []measured) part {
	p := part{Title: "By cores", Figures: b.lines(all,
		func(m *measured) string {
			return fmt.Sprintf("%s %+v %+v", b.where(m), m.cell.Scenario, m.cell.Variant)
		},
		func(m *measured) float64 { return float64(m.cores) },
		func(m *measured) string {
			return fmt.Sprintf("%s by cores, %s", m.cell.Scenario.Name, m.cell.Label())
		},
		chart.Axis{Label: "cores", Format: count})}
	p.Text = []string{"Only one number of cores was measured, of any scenario on the same machine with the same commit: no chart by cores. " +
		"firqbench run --cpus N -o FILE, for several N, makes files for one."}
	if len(p.Figures) > 0 {
		p.Text = []string{"Go may use so many processors, and where --cpus was given the program stays on them."}
	}
	return p
}

func (b *builder) byTenants(all []measured) part {
	p := part{Title: "By tenants", Figures: b.lines(all,
		func(m *measured) string {
			s := m.cell.Scenario
			s.Name, s.About, s.More, s.Tenants = "", "", "", 0
			return fmt.Sprintf("%s %d %d %+v %+v", b.where(m), m.file, m.cores, s, m.cell.Variant)
		},
		func(m *measured) float64 { return float64(m.cell.Scenario.Tenants) },
		func(m *measured) string {
			s := m.cell.Scenario
			return fmt.Sprintf("%d producers, %d consumers by tenants, %s", s.Producers, s.Consumers, m.cell.Label())
		},
		chart.Axis{Label: "tenants", Scale: chart.Log, Format: count})}
	p.Text = []string{"No file has the same load with different numbers of tenants (as the scenarios single_hot_tenant, contended and many_tenants are): no chart by tenants."}
	if len(p.Figures) > 0 {
		p.Text = []string{"Scenarios that differ in the number of tenants alone (single_hot_tenant, contended, many_tenants), from one file."}
	}
	return p
}

// byScenario is one chart per file and variant.
func (b *builder) byScenario(all []measured) part {
	p := part{Title: "By scenario", Text: []string{"The scale is logarithmic: what is as far apart differs by the same factor."}}
	for i := range b.files {
		var rows []string // scenario and variant
		at := map[string]*chart.Series{}
		var names []string
		for _, m := range all {
			if m.file != i {
				continue
			}
			row := m.cell.Scenario.Name + shortLabel(m.cell)
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
			if at[m.contestant] == nil {
				at[m.contestant] = &chart.Series{Name: m.contestant, Slot: b.slots.of(m.contestant), Marks: true}
				names = append(names, m.contestant)
			}
			r := m.rate
			r.X, r.Y = r.Y, float64(slices.Index(rows, row))
			at[m.contestant].Points = append(at[m.contestant].Points, r)
		}
		c := chart.Chart{
			Title: "Throughput by scenario, " + b.names[i], About: "Throughput of each contestant in each scenario.",
			X: chart.Axis{Label: "tasks per second", Scale: chart.Log, Format: count},
			Y: chart.Axis{Label: "scenario", Names: rows},
		}
		for _, name := range names {
			c.Series = append(c.Series, *at[name])
		}
		if f, ok := b.figure(c, ""); ok {
			p.Figures = append(p.Figures, f)
		}
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

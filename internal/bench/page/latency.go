package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/firq-go/firq/internal/bench/chart"
	"github.com/firq-go/firq/internal/bench/load"
	"github.com/firq-go/firq/internal/bench/report"
	"github.com/firq-go/firq/internal/bench/stats"
	"github.com/firq-go/firq/internal/bench/suite"
)

// mostCells is how many cells of a sweep get charts of their latencies.
const mostCells = 12

// setting says where in a sweep a cell is, "" for others.
func setting(c *suite.Cell) string {
	if c.Point == nil {
		return ""
	}
	s := c.Scenario
	return fmt.Sprintf(", %s, %s, %s, %s", plural(cores(c), "core"), plural(s.Producers, "producer"), plural(s.Consumers, "consumer"), plural(s.Tenants, "tenant"))
}

// cores returns how many Go could use.
func cores(c *suite.Cell) int {
	n := c.Point.GOMAXPROCS
	if p := len(c.Point.Pinned); p > 0 {
		n = min(n, p)
	}
	return n
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func samePoint(a, b *suite.Point) bool {
	return a == nil && b == nil || a != nil && b != nil && a.GOMAXPROCS == b.GOMAXPROCS && len(a.Pinned) == len(b.Pinned)
}

// latency shows enqueue calls and queue times of each scenario.
func (b *builder) latency() section {
	s := section{Title: "Latency by percentile", Text: []string{
		"How long an enqueue call takes, and how long tasks are queued. To the right the cases become rarer, each further " +
			"nine as wide as the one before; the last point is the maximum, drawn where one case of all is. Each point is the " +
			"median over the rounds.",
		"At a rate (--rate) both are from the intended start of a call on: what is late counts for all that came meanwhile.",
		"Without a rate all loops but that of the scenario overload are closed: producers wait while many tasks are under way. Queue times say " +
			"what a full pipe looks like, not what clients see that come at a rate of their own; replays do.",
	}}
	var missing lacks
	for i, f := range b.files {
		cells, few := f.Cells(), false
		if len(cells) == 0 {
			continue
		}
		if n := len(cells); f.Sweep != nil && n > mostCells {
			cells = cells[:mostCells]
			missing.add(b.names[i], fmt.Sprintf("a sweep of %d settings; the first %d are drawn here, all of them under throughput.", n, mostCells))
		}
		for j := 0; j < len(cells); {
			k, first := j, cells[j].Scenario
			p := part{Title: first.Name, Text: []string{b.names[i] + ": " + first.About + "."}}
			if at := setting(&cells[j]); at != "" {
				p.Title += at
				p.Text = []string{b.names[i] + "."} // what it is about may not hold any more
			}
			for ; j < len(cells) && cells[j].Scenario == first && samePoint(cells[j].Point, cells[k].Point); j++ {
				p.Figures = append(p.Figures, b.latencies(&cells[j], &few)...)
			}
			p.ID = b.id("latency", b.names[i], p.Title)
			p.Title = b.heading(s.Parts, p.Title, b.names[i])
			if len(p.Figures) > 0 {
				s.Parts = append(s.Parts, p)
			}
		}
		if few {
			missing.add(b.names[i], coarse)
		}
	}
	s.Missing = missing.sentences()
	if len(s.Parts) == 0 {
		s.Missing = append(s.Missing, "No file holds latencies of scenarios; firqbench run -o FILE makes one.")
	}
	return s
}

func (b *builder) latencies(cell *suite.Cell, few *bool) (figures []figure) {
	for _, kind := range []struct {
		title, axis, about string
		of                 func(*suite.Run) *load.Latency
	}{
		{"enqueue call", "time of a call", "How long an enqueue call takes.", enqueueOf},
		{"queue time", "queue time", "How long tasks are queued.", queueOf},
		{"queue time, " + cell.Scenario.Focus, "queue time", "How long these tasks are queued.", func(r *suite.Run) *load.Latency { return r.Focus }},
	} {
		c := chart.Chart{
			Title: fmt.Sprintf("%s: %s, %s%s", cell.Scenario.Name, kind.title, cell.Label(), setting(cell)), About: kind.about,
			X: percentiles(), Y: durations(kind.axis),
		}
		for _, name := range contestants(cell.Runs) {
			var ls []*load.Latency
			for i := range cell.Runs {
				if l := kind.of(&cell.Runs[i]); cell.Runs[i].Contestant == name && l != nil && l.Samples > 0 {
					ls = append(ls, l)
					*few = *few || len(l.Points) == 0
				}
			}
			c.Series = append(c.Series, chart.Series{Name: name, Slot: b.slots.of(name), Points: curve(ls)})
		}
		if f, ok := b.figure(c, ""); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// enqueueOf and queueOf are the latencies that matter: at a rate those from the
// intended start on.
func enqueueOf(r *suite.Run) *load.Latency {
	if r.Open != nil {
		return &r.Open.Enqueue
	}
	return &r.Enqueue
}

func queueOf(r *suite.Run) *load.Latency {
	if r.Open != nil {
		return &r.Open.Queue
	}
	return &r.Queue
}

// curve returns latency by quantile: medians over the rounds ls. Quantiles that
// not all of them have are left out.
func curve(ls []*load.Latency) (ps []chart.Point) {
	if len(ls) == 0 {
		return nil
	}
	median := func(value func(*load.Latency) float64) float64 {
		var xs []float64
		for _, l := range ls {
			xs = append(xs, value(l))
		}
		return stats.Median(xs)
	}
	add := func(q float64, value func(*load.Latency) time.Duration) {
		ps = append(ps, chart.Point{X: q, Y: median(func(l *load.Latency) float64 { return float64(value(l)) })})
	}
	points, least := len(ls[0].Points), ls[0].Samples
	for _, l := range ls {
		points, least = min(points, len(l.Points)), min(least, l.Samples)
	}
	for k := range points {
		add(load.PointQuantile(k), func(l *load.Latency) time.Duration { return l.Points[k] })
	}
	if points == 0 {
		for _, k := range []struct {
			q  float64
			of func(*load.Latency) time.Duration
		}{
			{0.5, func(l *load.Latency) time.Duration { return l.P50 }}, {0.95, func(l *load.Latency) time.Duration { return l.P95 }},
			{0.99, func(l *load.Latency) time.Duration { return l.P99 }}, {0.999, func(l *load.Latency) time.Duration { return l.P999 }},
		} {
			if (1-k.q)*float64(least) >= 1 {
				add(k.q, k.of)
			}
		}
	}
	if n := median(func(l *load.Latency) float64 { return float64(l.Samples) }); n > 1 {
		last := 1 - 1/n
		if len(ps) == 0 || ps[len(ps)-1].X < last {
			add(last, func(l *load.Latency) time.Duration { return l.Max })
		}
	}
	return ps
}

// percentiles is the axis of quantiles.
func percentiles() chart.Axis {
	return chart.Axis{Label: "percentile (each nine as wide as the last)", Scale: chart.Tail, Format: percentile}
}

// percentile writes a quantile with as many nines as it takes.
func percentile(q float64) string {
	if q <= 0 {
		return "0%"
	}
	digits := int(max(0, math.Ceil(-math.Log10(1-q)-1e-9)-2)) // beyond a whole percent
	if rest := 100 * q; digits == 0 && rest != math.Trunc(rest) {
		digits = 1
	}
	s := fmt.Sprintf("%.*f", digits+1, 100*q)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + "%"
}

// durations is a logarithmic axis of times.
func durations(label string) chart.Axis {
	return chart.Axis{Label: label + " (log scale)", Scale: chart.Log, Format: duration}
}

// duration writes nanoseconds, and count an amount.
func duration(ns float64) string { return report.Brief(report.Duration(time.Duration(math.Round(ns)))) }
func count(n float64) string     { return report.Brief(report.Count(n)) }

// contestants returns the names in order of first appearance.
func contestants(runs []suite.Run) (names []string) {
	seen := map[string]bool{}
	for i := range runs {
		if name := runs[i].Contestant; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

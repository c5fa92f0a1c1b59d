package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// recorded is a contestant's record.
type recorded struct {
	contestant string
	*load.Service
}

// mostLines is how many tenants of a record get a chart, the quiet ones among
// them.
const mostLines = 3

// service shows which tenants were served when.
func (b *builder) service() section {
	s := section{Title: "Service over time", Text: []string{
		"Who was served when, in the first record of each place: a chart for the quiet tenants together and for each of the noisiest. Where the load comes at a rate " +
			"of its own (overload, replays) it shows what was served so far, in percent of what the tenants asked for in the whole time, with what " +
			"they had asked for by then; and what waited, where everything was served in the end. Where producers wait for the queue it shows the rate: there every tenant gets what it sends.",
	}}
	var missing lacks
	had := map[*group]bool{} // that have a record already
	for i, f := range b.files {
		parts, has := b.recordedRuns(i, had)
		if f.Replay != nil {
			var rs []recorded
			for j := range f.Replay.Results {
				if r := &f.Replay.Results[j]; r.Service != nil {
					rs = append(rs, recorded{r.Contestant, r.Service})
				}
			}
			title := fmt.Sprintf("replay of %s, %d workers", traceName(f.Replay), f.Replay.Plan.Workers)
			parts = append(parts, b.recorded(title, b.names[i], rs, true)...)
		}
		for _, p := range parts {
			p.Title = b.heading(s.Parts, p.Title, b.names[i])
			s.Parts = append(s.Parts, p.done(b, "service"))
		}
		if len(parts) == 0 && !has {
			missing.add(b.names[i], lacksService(f))
		}
	}
	s.Missing = missing.sentences()
	return s
}

func lacksService(f File) string {
	hot := false
	for _, cell := range f.Cells() {
		hot = hot || cell.Scenario.Hot() > 0
	}
	switch {
	case f.Sweep != nil:
		return "no record of who was served when: a sweep makes none."
	case f.Run != nil && !hot:
		return "no scenario with noisy tenants, and so no record of who was served when."
	case f.Run != nil || f.Replay != nil:
		return "no record of who was served when: made by a firqbench that did not make one yet, or with --record 0s."
	}
	return "nothing that could be recorded."
}

// recordedRuns makes parts of the records in a file, but for those of which another file of
// the same place has had one; has says that there are some.
func (b *builder) recordedRuns(file int, had map[*group]bool) (parts []part, has bool) {
	for _, g := range b.groups {
		at := slices.Index(g.files, file)
		if at < 0 {
			continue
		}
		var rs []recorded
		for _, r := range g.cells[at].Runs {
			if r.Service != nil {
				rs = append(rs, recorded{r.Contestant, r.Service})
			}
		}
		if has = has || len(rs) > 0; len(rs) == 0 || had[g] {
			continue
		}
		had[g] = true
		title := g.scenario.Name + ", " + g.cells[at].Label() + b.at(g.place)
		parts = append(parts, b.recorded(title, b.names[file], rs, g.scenario.Overload > 0)...)
	}
	return parts, has
}

// recorded makes charts of records of the same load; open says that it does not
// wait for the queue.
func (b *builder) recorded(title, file string, rs []recorded, open bool) []part {
	if len(rs) == 0 {
		return nil
	}
	p := part{Title: title, Text: []string{"From " + file + "."}}
	var charts []chart.Chart
	for _, name := range linesOf(rs[0].Service) {
		c := chart.Chart{Title: title + ": " + name, X: chart.Axis{Label: "time, seconds", FromZero: true, Tight: true}, Rows: sometimes(rs[0].Ends)}
		line := b.rates
		if open {
			line = b.sums
		}
		line(&c, name, rs)
		charts = append(charts, c)
		if open {
			c = chart.Chart{Title: title + ": " + name + ", waiting", X: c.X, Rows: c.Rows}
			b.waiting(&c, name, rs)
			charts = append(charts, c)
		}
	}
	share(charts)
	for _, c := range charts {
		p.add(b, c, "")
	}
	if len(p.Figures) == 0 {
		return nil
	}
	return []part{p}
}

// sometimes returns five of the times at which something was recorded, the last one among
// them: all are in the file.
func sometimes(ends []time.Duration) (rows []float64) {
	every := (len(ends) + 4) / 5
	for i := len(ends) - 1; i >= 0; i -= every {
		rows = append(rows, ends[i].Seconds())
	}
	slices.Reverse(rows)
	return rows
}

// linesOf returns the names of the lines that are shown, quiet tenants first.
func linesOf(s *load.Service) (names []string) {
	for _, l := range s.Lines {
		if l.Name == scenario.FocusQuiet {
			names = append(names, l.Name)
		}
	}
	for _, l := range s.Lines {
		if l.Name != scenario.FocusQuiet && len(names) < mostLines {
			names = append(names, l.Name)
		}
	}
	return names
}

func lineOf(s *load.Service, name string) *load.ServiceLine {
	for i := range s.Lines {
		if l := &s.Lines[i]; l.Name == name && len(l.Asked) == len(s.Ends) && len(l.Served) == len(s.Ends) {
			return l
		}
	}
	return nil
}

// sums shows what was served so far as a part of all that was asked for.
func (b *builder) sums(c *chart.Chart, name string, rs []recorded) {
	c.About = "What was served so far, and what was asked for."
	c.Y = chart.Axis{Label: "% of all that was asked for", Format: percentOf, FromZero: true}
	for i, r := range rs {
		l := lineOf(r.Service, name)
		if l == nil {
			continue
		}
		all := int64(0)
		for _, n := range l.Asked {
			all += n
		}
		if all == 0 {
			continue
		}
		if i == 0 { // the load is the same for all
			c.Series = append(c.Series, chart.Series{Name: "asked for", Slot: slotAsked, Points: summed(r.Ends, l.Asked, all)})
		}
		c.Series = append(c.Series, chart.Series{Name: r.contestant, Slot: b.slots.of(r.contestant), Points: summed(r.Ends, l.Served, all)})
	}
}

func percentOf(v float64) string { return fmt.Sprintf("%.4g%%", v) }

func summed(ends []time.Duration, amounts []int64, all int64) []chart.Point {
	ps := []chart.Point{{}}
	sum := int64(0)
	for i, end := range ends {
		sum += amounts[i]
		ps = append(ps, chart.Point{X: end.Seconds(), Y: 100 * float64(sum) / float64(all)})
	}
	return ps
}

// waiting shows what was asked for and not served yet; nothing where a tenant was
// not served at all: what was rejected or has expired does not wait.
func (b *builder) waiting(c *chart.Chart, name string, rs []recorded) {
	c.About = "What was asked for and not served yet."
	c.Y = chart.Axis{Label: rs[0].Unit + " waiting", Format: count, FromZero: true}
	for _, r := range rs {
		l := lineOf(r.Service, name)
		if l == nil {
			continue
		}
		s := chart.Series{Name: r.contestant, Slot: b.slots.of(r.contestant), Points: []chart.Point{{}}}
		waiting := int64(0)
		for i, end := range r.Ends {
			waiting += l.Asked[i] - l.Served[i]
			s.Points = append(s.Points, chart.Point{X: end.Seconds(), Y: float64(waiting)})
		}
		if waiting != 0 {
			c.Series = nil
			return
		}
		c.Series = append(c.Series, s)
	}
}

// rates shows how fast tenants are served.
func (b *builder) rates(c *chart.Chart, name string, rs []recorded) {
	c.About = "How much was served per second."
	c.Y = chart.Axis{Label: rs[0].Unit + " per second", Format: count, FromZero: true}
	for _, r := range rs {
		l := lineOf(r.Service, name)
		if l == nil {
			continue
		}
		s := chart.Series{Name: r.contestant, Slot: b.slots.of(r.contestant)}
		last := time.Duration(0)
		for i, end := range r.Ends {
			if end > last {
				s.Points = append(s.Points, chart.Point{X: end.Seconds(), Y: float64(l.Served[i]) / (end - last).Seconds()})
			}
			last = end
		}
		c.Series = append(c.Series, s)
	}
}

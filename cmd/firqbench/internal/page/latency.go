package page

import (
	"fmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// mostCells is how many settings of a sweep get charts of their latencies.
const mostCells = 12

// latency shows enqueue calls and queue times of each scenario.
func (b *builder) latency() section {
	s := section{Title: "Latency", Text: []string{
		"How long an enqueue call takes, and how long tasks are queued. x: time; y: share of cases that took longer. Both axes are " +
			"logarithmic. A curve further left is faster; its lower end shows the worst cases, and its last point " +
			"is the maximum. A curve is the median over all rounds of all files of one place; the band goes from the least round to the greatest. " +
			"Charts of one scenario have the same axes.",
		"At a rate (--rate) both times begin at the intended start of a call, so a delay counts for every call that was due during it.",
		"Without a rate all loops but that of the scenario overload are closed: producers wait while many tasks are under way. Queue times say " +
			"what a full pipe looks like, not what clients see that come at a steady rate; replays do.",
	}}
	var missing lacks
	for i, f := range b.files {
		if f.Sweep != nil && len(f.Sweep.Cells) > mostCells {
			missing.add(b.names[i], fmt.Sprintf("a sweep of %d settings; the first %d are drawn here, all of them under throughput.", len(f.Sweep.Cells), mostCells))
		}
	}
	for _, scene := range b.scenes() {
		p := part{Title: scene[0].scenario.Name + scene[0].setting(), Text: []string{scene[0].scenario.About + "."}}
		if scene[0].point != nil {
			p.Text = nil // what it is about may not hold any more
		}
		var charts []chart.Chart
		for k := range mostKinds { // charts with the same axes stand next to each other
			for _, g := range scene {
				all := kinds(g)
				if k >= len(all) {
					continue
				}
				charts = append(charts, b.latencies(g, all[k]))
			}
		}
		p.Title = b.heading(s.Parts, p.Title, b.places[scene[0].place].name)
		share(charts)
		for _, c := range charts {
			p.add(b, c, "")
		}
		if len(p.Figures) > 0 {
			s.Parts = append(s.Parts, p.done(b, "latency"))
		}
	}
	s.Missing = missing.sentences()
	if len(s.Parts) == 0 {
		s.Missing = append(s.Missing, "No file holds latencies of scenarios; firqbench run -o FILE makes one.")
	}
	return s
}

func share(charts []chart.Chart) {
	all := make([]*chart.Chart, len(charts))
	for i := range charts {
		all[i] = &charts[i]
	}
	chart.Share(all...)
}

// scenes returns the groups that make a part of this section: those of one scenario, in
// one setting of a sweep.
func (b *builder) scenes() (scenes [][]*group) {
	known := map[string]int{}
	settings := map[int]int{} // of sweeps, by place
	for _, g := range b.groups {
		k := g.scenario.Name
		if g.sweep {
			k = fmt.Sprintf("%d %+v%s", g.place, g.scenario, g.setting())
			if settings[g.place]++; settings[g.place] > mostCells {
				continue
			}
		}
		at, ok := known[k]
		if !ok {
			at = len(scenes)
			known[k], scenes = at, append(scenes, nil)
		}
		scenes[at] = append(scenes[at], g)
	}
	return scenes
}

// kind is one of the times that a run has.
type kind struct {
	title, axis, about string
	of                 func(*suite.Run) *load.Latency
}

const mostKinds = 3

func kinds(g *group) []kind {
	all := []kind{
		{"enqueue call", "time of a call", "How long an enqueue call takes.", enqueueOf},
		{"queue time", "queue time", "How long tasks are queued.", queueOf},
	}
	if focus := g.scenario.Focus; focus != "" {
		all = append(all, kind{"queue time, " + focus, "queue time", "How long these tasks are queued.", func(r *suite.Run) *load.Latency { return r.Focus }})
	}
	return all
}

// latencies is the chart of one kind of time of a group.
func (b *builder) latencies(g *group, k kind) chart.Chart {
	c := distribution(k.axis)
	c.Title = fmt.Sprintf("%s: %s, %s%s%s", g.scenario.Name, k.title, g.cells[0].Label(), g.setting(), b.at(g.place))
	c.About = k.about
	for _, name := range g.contestants() {
		var ls []*load.Latency
		for _, cell := range g.cells {
			for j := range cell.Runs {
				r := &cell.Runs[j]
				if l := k.of(r); r.Contestant == name && l != nil && l.Samples > 0 {
					ls = append(ls, l)
				}
			}
		}
		c.Series = append(c.Series, chart.Series{Name: name, Slot: b.slots.of(name), Points: curve(ls), Band: true})
	}
	return c
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

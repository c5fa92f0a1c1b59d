package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

// quiet shows the queue times of replays by group of tenants.
func (b *builder) quiet() section {
	s := section{Title: "Queue time of quiet tenants", Text: []string{
		"Recorded traffic, replayed: each request arrives when the record says, whether or not those before were served. The quiet tenants are the " +
			"half that asks for least. Queue time is from the intended arrival to the delivery to a worker, exact to about 1 ms. Charts by time have " +
			"the axes of those of latency: y is the share of requests that waited longer.",
	}}
	if p := b.byWorkers(); len(p.Figures) > 0 {
		s.Parts = append(s.Parts, p.done(b, "quiet"))
	}
	missing := b.late
	for i, f := range b.files {
		if f.Replay == nil {
			continue
		}
		if f.Others() >= usage.Busy {
			missing.add(b.names[i], busy)
		}
		p := b.replayed(i, f.Replay)
		if len(p.Figures) == 0 {
			missing.add(b.names[i], "no queue times.")
			continue
		}
		p.Title = b.heading(s.Parts, p.Title, b.names[i])
		s.Parts = append(s.Parts, p.done(b, "quiet"))
	}
	s.Missing = missing.sentences()
	if len(s.Parts) == 0 && len(s.Missing) == 0 {
		s.Missing = append(s.Missing, "No file is a replay, so there is nothing to say about this; firqbench replay TRACE -o FILE makes one.")
	}
	return s
}

// strike leaves out of replays what contestants did whose requests arrived late: those queue
// times are the machine's.
func (b *builder) strike() {
	b.files = slices.Clone(b.files)
	for i, f := range b.files {
		if f.Replay == nil {
			continue
		}
		kept := *f.Replay
		kept.Results = nil
		for _, res := range f.Replay.Results {
			if !res.Late(&kept.Plan) {
				kept.Results = append(kept.Results, res)
				continue
			}
			b.late.add(b.names[i], fmt.Sprintf("%s is left out, as requests arrived up to %s late: the machine did not keep the pace.",
				res.Contestant, report.Duration(res.Lag.Max)))
		}
		if len(kept.Results) < len(f.Replay.Results) {
			file := *f.File
			file.Replay = &kept
			b.files[i].File = &file
		}
	}
}

// traceName leaves out the folder that the trace lay in.
func traceName(r *replay.Report) string { return filepath.Base(r.Trace.Name) }

// replayed makes a chart for each of the groups that say most.
func (b *builder) replayed(file int, r *replay.Report) part {
	title := fmt.Sprintf("%s, %d workers", traceName(r), r.Plan.Workers)
	p := part{Title: title, Text: []string{fmt.Sprintf("%s: %d requests of %d tenants in %s, load %.2f, quantum %d.",
		b.names[file], r.Trace.Requests, r.Trace.Tenants, report.Duration(r.Plan.Span), r.Plan.Load, r.Plan.Quantum)}}
	var charts []chart.Chart
	for _, group := range []string{replay.GroupQuiet, replay.GroupAll, replay.GroupBusiest} {
		c := distribution("queue time")
		c.Title, c.About = fmt.Sprintf("%s: queue time, %s", title, group), "How long requests are queued."
		for _, res := range r.Results {
			if l := groupTime(&res, group); l != nil {
				c.Series = append(c.Series, chart.Series{Name: res.Contestant, Slot: b.slots.of(res.Contestant), Points: curve([]*load.Latency{l})})
			}
		}
		charts = append(charts, c)
	}
	share(charts)
	for _, c := range charts {
		p.add(b, c, "")
	}
	return p
}

func groupTime(r *replay.Result, name string) *load.Latency {
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Name == name && g.Queue.Samples > 0 {
			return &g.Queue
		}
	}
	return nil
}

// byWorkers compares replays that differ in the number of workers alone.
func (b *builder) byWorkers() part {
	p := part{Title: "By workers", Text: []string{
		"Replays that differ in nothing but the number of workers; several passes are pooled. How much there is to win depends on how many workers the giants can block together.",
	}}
	groups := map[string][]int{}
	var order []string
	for i, f := range b.files {
		if f.Replay == nil {
			continue
		}
		t, plan := f.Replay.Trace, f.Replay.Plan
		k := fmt.Sprint(t, plan.Span, plan.Load, plan.Quantum, plan.Shards, plan.InFlight, b.placeOf[i])
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	var charts []chart.Chart
	var notes []string
	for _, k := range order {
		for _, at := range []struct {
			name string
			of   func(*load.Latency) float64
		}{
			{"99th", func(l *load.Latency) float64 { return float64(l.P99) }},
			{"95th", func(l *load.Latency) float64 { return float64(l.P95) }},
		} {
			c := chart.Chart{
				Title: fmt.Sprintf("%s: queue time of quiet tenants, %s percentile", traceName(b.files[groups[k][0]].Replay), at.name),
				About: "By number of workers.",
				X:     chart.Axis{Label: "workers", Scale: chart.Log, Format: count}, Y: durations("queue time"),
			}
			if note, ok := b.workers(&c, groups[k], at.of); ok {
				charts, notes = append(charts, c), append(notes, note)
			}
		}
	}
	share(charts)
	for i, c := range charts {
		p.add(b, c, notes[i])
	}
	return p
}

// workers fills the chart with points of files, and says which; false: there are not two.
func (b *builder) workers(c *chart.Chart, files []int, of func(*load.Latency) float64) (note string, ok bool) {
	var from []string
	lines := newLines(b.slots)
	for _, i := range files {
		r := b.files[i].Replay
		from = append(from, b.names[i])
		if x := float64(r.Plan.Workers); !slices.Contains(c.X.Ticks, x) {
			c.X.Ticks = append(c.X.Ticks, x)
		}
		for _, res := range r.Results {
			l := groupTime(&res, replay.GroupQuiet)
			if l == nil {
				continue
			}
			put(&lines.of(res.Contestant).Points, chart.Point{X: float64(r.Plan.Workers), Y: of(l)})
		}
	}
	if len(c.X.Ticks) < 2 {
		return "", false
	}
	slices.Sort(c.X.Ticks)
	c.Series = lines.all()
	return "From " + strings.Join(from, ", ") + ".", true
}

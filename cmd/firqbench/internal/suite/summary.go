package suite

import (
	"math"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// Summary is a contestant's line of a cell: medians over the rounds.
type Summary struct {
	Contestant string
	Rounds     int
	Paced      bool           // by the driver's pauses: a rate means nothing
	Rate       float64        // tasks/s
	Ratio      stats.Interval // to the reference: of the ratios per round; NaN without it
	ToSimple   stats.Interval // the same to contest.Simple
	Backlog    float64        // tasks queued, on average
	CPU        float64        // ns of processor time of the whole process per task
	Switches   float64        // context switches per task

	Instructions float64 // per task, from another run; 0: unknown

	Goodput        float64 // tasks/s before their deadline; NaN where there is none
	Enqueue, Queue load.Latency
	Refusal, Focus *load.Latency
	Rejected       float64      // part of the offered
	Expired        float64      // part of the accepted
	Open           *OpenSummary // nil without Variant.Rate
	Allocs, Bytes  float64      // per task
	Jain           float64      // NaN where there is none
	JainTenants    int
}

// Summarize returns a line per contestant that has runs, in order of first
// appearance in the first round.
func (c *Cell) Summarize(reference string) []Summary {
	paced := c.Variant.Idle > 0
	byName := make(map[string][]Run)
	var names []string
	for _, r := range c.Runs {
		if byName[r.Contestant] == nil {
			names = append(names, r.Contestant)
		}
		byName[r.Contestant] = append(byName[r.Contestant], r)
	}
	var lines []Summary
	for _, name := range names {
		line := summarize(name, byName[name], byName[reference])
		line.ToSimple = ratio(byName[name], byName[contest.Simple])
		if line.Paced = paced; paced {
			line.Ratio, line.ToSimple = stats.IntervalOf(nil), stats.IntervalOf(nil)
		}
		lines = append(lines, line)
	}
	return lines
}

func summarize(name string, runs, reference []Run) Summary {
	median := func(value func(*Run) float64) float64 { return stats.Median(column(runs, value)) }
	rate := func(r *Run) float64 { return r.TasksPerSec }
	latency := func(of func(*Run) *load.Latency) load.Latency { return latencies(runs, of) }
	s := Summary{
		Contestant: name, Rounds: len(runs),
		Rate: median(rate), Ratio: ratio(runs, reference),
		Enqueue:  latency(func(r *Run) *load.Latency { return &r.Enqueue }),
		Queue:    latency(func(r *Run) *load.Latency { return &r.Queue }),
		Rejected: median(func(r *Run) float64 { return part(r.Rejected, r.Offered) }),
		Expired:  median(func(r *Run) float64 { return part(r.Expired, r.Expired+r.Delivered) }),
		Allocs:   median(func(r *Run) float64 { return r.AllocsPerTask }),
		Bytes:    median(func(r *Run) float64 { return r.BytesPerTask }),
		Backlog:  median(func(r *Run) float64 { return r.MeanBacklog }),
		CPU:      median(func(r *Run) float64 { return r.CPUPerTask }),
		Switches: median(func(r *Run) float64 { return r.SwitchesPerTask }),

		Instructions: median(func(r *Run) float64 { return r.InstructionsPerTask }),
		Jain:         math.NaN(),
		Goodput:      math.NaN(),
	}
	if runs[0].Goodput != nil {
		s.Goodput = median(func(r *Run) float64 { return *r.Goodput })
	}
	if runs[0].Refusal != nil {
		l := latency(func(r *Run) *load.Latency { return r.Refusal })
		s.Refusal = &l
	}
	if runs[0].Focus != nil {
		l := latency(func(r *Run) *load.Latency { return r.Focus })
		s.Focus = &l
	}
	if runs[0].Open != nil {
		s.Open = summarizeOpen(runs)
	}
	if runs[0].JainTenants > 0 {
		s.Jain, s.JainTenants = median(func(r *Run) float64 { return r.Jain }), runs[0].JainTenants
	}
	return s
}

// latencies returns the medians of each figure.
func latencies(runs []Run, of func(*Run) *load.Latency) load.Latency {
	d := func(value func(*load.Latency) time.Duration) time.Duration {
		return time.Duration(stats.Median(column(runs, func(r *Run) float64 { return float64(value(of(r))) })))
	}
	return load.Latency{
		Samples: uint64(stats.Median(column(runs, func(r *Run) float64 { return float64(of(r).Samples) }))),
		Mean:    d(func(l *load.Latency) time.Duration { return l.Mean }),
		P50:     d(func(l *load.Latency) time.Duration { return l.P50 }),
		P95:     d(func(l *load.Latency) time.Duration { return l.P95 }),
		P99:     d(func(l *load.Latency) time.Duration { return l.P99 }),
		P999:    d(func(l *load.Latency) time.Duration { return l.P999 }),
		Max:     d(func(l *load.Latency) time.Duration { return l.Max }),
	}
}

// ratio pairs the rounds that both have.
func ratio(runs, reference []Run) stats.Interval {
	rates := make(map[int]float64)
	for _, r := range reference {
		rates[r.Round] = r.TasksPerSec
	}
	var ours, theirs []float64
	for _, r := range runs {
		if rate, ok := rates[r.Round]; ok {
			ours, theirs = append(ours, r.TasksPerSec), append(theirs, rate)
		}
	}
	return stats.IntervalOf(stats.Ratios(ours, theirs))
}

func column(runs []Run, value func(*Run) float64) []float64 {
	xs := make([]float64, len(runs))
	for i := range runs {
		xs[i] = value(&runs[i])
	}
	return xs
}

func part(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Figure returns a figure of a run, and whether the run has it.
type Figure func(*Cell, *Run) (float64, bool)

// Rate is the figure tasks/s. A run whose pace is the driver's has none.
func Rate(c *Cell, r *Run) (float64, bool) { return r.TasksPerSec, c.Variant.Idle == 0 }

// RatioOver returns how many times a figure of another contestant the subject has in
// cells of one scenario, each from another file. Of one cell it is that over its rounds. Of
// several it is the median of their medians: with the interval of these if they are six or
// more, which is when it has stats.Confidence, else with all that the intervals of the cells
// cover. No cell has both: N is 0.
func RatioOver(cells []*Cell, subject, other string, of Figure) stats.Interval {
	var all []stats.Interval
	var medians []float64
	for _, c := range cells {
		if i := c.ratioOver(subject, other, of); i.N > 0 {
			all, medians = append(all, i), append(medians, i.Median)
		}
	}
	switch len(all) {
	case 0:
		return stats.Interval{}
	case 1:
		return all[0]
	}
	if i := stats.IntervalOf(medians); i.Confidence >= stats.Confidence {
		return i
	}
	return stats.Hull(all)
}

// ratioOver pairs the rounds that both have.
func (c *Cell) ratioOver(subject, other string, of Figure) stats.Interval {
	figures := make(map[int]float64)
	for i := range c.Runs {
		if r := &c.Runs[i]; r.Contestant == other {
			if x, ok := of(c, r); ok {
				figures[r.Round] = x
			}
		}
	}
	var ours, theirs []float64
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Contestant != subject {
			continue
		}
		if their, ok := figures[r.Round]; ok {
			if our, ok := of(c, r); ok {
				ours, theirs = append(ours, our), append(theirs, their)
			}
		}
	}
	return stats.IntervalOf(stats.Ratios(ours, theirs))
}

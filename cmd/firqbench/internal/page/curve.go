package page

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// distribution is a chart of how long something takes: the complementary distribution
// function with both axes logarithmic, on which times of all sizes and the rarest cases
// can be seen alike.
func distribution(axis string) chart.Chart {
	return chart.Chart{
		Across: true, Rows: []float64{0.5, rarity(5), 0.05, rarity(10), rarity(15), rarity(20), rarity(25)},
		X: durations(axis), Y: chart.Axis{Label: "share that takes longer (log scale)", Scale: chart.Log, Format: part100},
	}
}

// rarity returns the share of cases that are beyond point k of a latency.
func rarity(k int) float64 { return math.Pow(10, -float64(k)/5) }

// curve returns latency by the share of cases that took longer, the most frequent ones
// first: medians over the rounds ls, with their range. Shares that not all of them have are
// left out.
func curve(ls []*load.Latency) (ps []chart.Point) {
	if len(ls) == 0 {
		return nil
	}
	add := func(rest float64, value func(*load.Latency) time.Duration) {
		var xs []float64
		for _, l := range ls {
			xs = append(xs, float64(value(l)))
		}
		ps = append(ps, chart.Point{X: stats.Median(xs), Y: rest, Lo: slices.Min(xs), Hi: slices.Max(xs)})
	}
	points := len(ls[0].Points)
	var samples []float64
	for _, l := range ls {
		points = min(points, len(l.Points))
		samples = append(samples, float64(l.Samples))
	}
	for k := 1; k < points; k++ { // the least of all says nothing, and would be far away
		if k > 1 && rarity(k-1) > 0.5 && rarity(k) < 0.5 {
			add(0.5, func(l *load.Latency) time.Duration { return l.P50 })
		}
		add(rarity(k), func(l *load.Latency) time.Duration { return l.Points[k] })
	}
	if n := stats.Median(samples); n > 1 && (len(ps) == 0 || ps[len(ps)-1].Y > 1/n) {
		add(1/n, func(l *load.Latency) time.Duration { return l.Max })
	}
	return ps
}

// part100 writes a share in percent, with as many digits as tell it from others.
func part100(share float64) string {
	return strconv.FormatFloat(round(100*share, 3), 'f', -1, 64) + "%"
}

// amount writes a number below 1 with two digits, and no exponent.
func amount(x float64) string { return strconv.FormatFloat(round(x, 2), 'f', -1, 64) }

// round leaves the given number of significant digits.
func round(x float64, digits int) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return y
}

// durations is a logarithmic axis of times.
func durations(label string) chart.Axis {
	return chart.Axis{Label: label + " (log scale)", Scale: chart.Log, Format: duration}
}

// duration writes nanoseconds, and count an amount.
func duration(ns float64) string { return report.Brief(report.Duration(time.Duration(math.Round(ns)))) }
func count(n float64) string     { return report.Brief(report.Count(n)) }

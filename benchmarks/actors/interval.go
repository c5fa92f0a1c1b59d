package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// confidence is that of the intervals where there are rounds enough; six.
const confidence = 0.95

// interval is a median and where it lies, by the order statistics of the sample: nothing is assumed of how figures
// scatter. Fewer than six figures cannot say that with enough confidence: low and high are then the extremes.
type interval struct {
	n                 int
	median, low, high float64
}

func intervalOf(xs []float64) interval {
	if len(xs) == 0 {
		return interval{0, math.NaN(), math.NaN(), math.NaN()}
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds), confidence)
	i := interval{len(xs), s.Center, s.Lo, s.Hi}
	if math.IsInf(i.low, 0) || math.IsInf(i.high, 0) {
		i.low, i.high = slices.Min(xs), slices.Max(xs)
	}
	return i
}

// String is the median and, if there is one, the interval.
func (i interval) String() string {
	switch i.n {
	case 0:
		return "-"
	case 1:
		return figure(i.median)
	}
	return fmt.Sprintf("%s (%s to %s)", figure(i.median), figure(i.low), figure(i.high))
}

// values returns them in the order of the rounds.
func values(byRound map[int]float64) (xs []float64) {
	for _, round := range slices.Sorted(maps.Keys(byRound)) {
		xs = append(xs, byRound[round])
	}
	return xs
}

// ratio is of a to b, round by round: what disturbed both in a round is not in it.
func ratio(a, b map[int]float64) interval {
	rs := make(map[int]float64)
	for round, x := range a {
		if y, ok := b[round]; ok && y != 0 {
			rs[round] = x / y
		}
	}
	return intervalOf(values(rs))
}

// figure writes x with three significant digits and no exponent.
func figure(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "-"
	case a < 0.0005:
		return "0"
	case a < 0.0995:
		return fmt.Sprintf("%.3f", x)
	case a < 9.995:
		return fmt.Sprintf("%.2f", x)
	case a < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

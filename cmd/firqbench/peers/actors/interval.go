package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// interval is a median and where it lies.
type interval struct{ stats.Interval }

func intervalOf(xs []float64) interval { return interval{stats.IntervalOf(xs)} }

// String is the median and, if there is one, the interval.
func (i interval) String() string {
	switch i.N {
	case 0:
		return "-"
	case 1:
		return figure(i.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", figure(i.Median), figure(i.Low), figure(i.High))
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

// Package stats holds the few statistics that the tables need.
package stats

import (
	"math"
	"slices"
)

// Median returns the middle value of xs, the mean of the two middle ones if
// their number is even, NaN if there are none. It leaves xs as it is.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return (s[m-1] + s[m]) / 2
}

// Spread returns half the range of xs as a part of their median: 0.1 means that
// the values lie within about 10 % of it. Below two values it is 0.
func Spread(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	m := Median(xs)
	if m == 0 {
		return 0
	}
	return (slices.Max(xs) - slices.Min(xs)) / 2 / m
}

// Jain returns Jain's fairness index of xs: 1 when all are equal, 1/n when one
// of n has everything (Jain, Chiu and Hawe 1984). All zero: NaN.
func Jain(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(xs)) * squares)
}

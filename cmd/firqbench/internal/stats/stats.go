// Package stats holds the few statistics that the tables need.
package stats

import (
	"cmp"
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

// MaxMin returns the max-min fair shares of an amount among parties that ask for the
// given demands, as if all had the same weight: no party gets more than it asks
// for, and what is left goes in equal parts to those that ask for more. Demands
// and amount are 0 or more. (Bertsekas and Gallager, Data Networks, 1992, 6.5.2.)
func MaxMin(demands []float64, amount float64) []float64 {
	order := make([]int, len(demands))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(demands[a], demands[b]) })
	shares := make([]float64, len(demands))
	for i, who := range order {
		shares[who] = min(demands[who], amount/float64(len(order)-i))
		amount -= shares[who]
	}
	return shares
}

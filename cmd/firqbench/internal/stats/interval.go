package stats

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is that of an Interval, where there are values enough: six.
const Confidence = 0.95

// Interval is a median, and two of the values between which the true median lies with a
// certain confidence: the order statistics of the sample, the 2nd and 8th of 9 for
// example. Nothing is assumed of how values scatter. (David and Nagaraja, Order
// Statistics, 2003, 7.1.)
type Interval struct {
	N      int     `json:"n"`
	Median float64 `json:"median"` // NaN without values, as are the next two
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Confidence is at least 0.95 from six values on; below that Low and High are the
	// extremes, and it is what those have: 0.94 of five, 0 of one.
	Confidence float64 `json:"confidence"`
}

// IntervalOf returns the interval of xs, which may be in any order and stay as they are.
func IntervalOf(xs []float64) Interval {
	n := len(xs)
	if n == 0 {
		return Interval{0, math.NaN(), math.NaN(), math.NaN(), 0}
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds), Confidence)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return extremes(xs)
	}
	return Interval{n, s.Center, s.Lo, s.Hi, s.Confidence}
}

// extremes returns the median of xs, of which there is one at least, with the least and the
// greatest of them: the true median is not between those only if all xs are on one side of it.
func extremes(xs []float64) Interval {
	n := len(xs)
	return Interval{n, Median(xs), slices.Min(xs), slices.Max(xs), 1 - math.Pow(2, float64(1-n))}
}

// Hull returns the median of the medians of is, of which there is one at least, with what
// all of them together cover. It claims no more than each of them does: its confidence is the
// least of theirs, and N is how many there are.
func Hull(is []Interval) Interval {
	h := is[0]
	medians := make([]float64, len(is))
	for i, x := range is {
		medians[i] = x.Median
		h.Low, h.High, h.Confidence = min(h.Low, x.Low), max(h.High, x.High), min(h.Confidence, x.Confidence)
	}
	h.N, h.Median = len(is), Median(medians)
	return h
}

// Ratios returns a[i]/b[i] of the rounds i that both have. Within a round the machine was
// about as fast for both: what disturbed both is not in it.
func Ratios(a, b []float64) (rs []float64) {
	for i := range min(len(a), len(b)) {
		if b[i] != 0 && !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			rs = append(rs, a[i]/b[i])
		}
	}
	return rs
}

// Ratio returns the median of Ratios, NaN if there are none.
func Ratio(a, b []float64) float64 { return Median(Ratios(a, b)) }

// BenjaminiHochberg returns for each p-value the smallest rate of false discoveries at
// which its test is one of those that are called significant (Benjamini and Hochberg,
// Controlling the false discovery rate, 1995). ps stay as they are.
func BenjaminiHochberg(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	qs, least := make([]float64, len(ps)), 1.0
	for rank := len(ps); rank > 0; rank-- {
		at := order[rank-1]
		least = min(least, ps[at]*float64(len(ps))/float64(rank))
		qs[at] = least
	}
	return qs
}

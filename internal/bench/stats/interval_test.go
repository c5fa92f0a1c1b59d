package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The tables of order statistics: of nine the 2nd and the 8th.
func TestIntervalOf(t *testing.T) {
	for _, c := range []struct {
		xs                    []float64
		median, low, high, at float64
	}{
		{nil, math.NaN(), math.NaN(), math.NaN(), 0},
		{[]float64{3}, 3, 3, 3, 0},
		{[]float64{3, 1}, 2, 1, 3, 0.5},
		{[]float64{5, 1, 4, 2, 3}, 3, 1, 5, 0.9375},
		{[]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}, 5, 2, 8, 0.9609375},
	} {
		if i := IntervalOf(c.xs); i.N != len(c.xs) || !near(i.Median, c.median) || !near(i.Low, c.low) || !near(i.High, c.high) || !near(i.Confidence, c.at) {
			t.Errorf("%v: %+v", c.xs, i)
		}
	}
}

// The interval holds the true median as often as it says, whatever the distribution.
func TestIntervalHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{5, 9, 20} {
		held, at := 0, 0.0
		const trials = 4000
		for range trials {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = r.ExpFloat64() // whose median is ln 2
			}
			i := IntervalOf(xs)
			if at = i.Confidence; i.Low <= math.Ln2 && math.Ln2 <= i.High {
				held++
			}
		}
		if got := float64(held) / trials; math.Abs(got-at) > 0.02 {
			t.Errorf("n = %d: holds %.3f of the time, says %.3f", n, got, at)
		}
	}
}

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

// Extremes say what they hold, and stay the extremes of any number.
func TestExtremes(t *testing.T) {
	if i := extremes([]float64{2, 9, 1, 8, 3, 7}); i != (Interval{6, 5, 1, 9, 1 - 1.0/32}) {
		t.Errorf("%+v", i)
	}
}

// A hull covers what its intervals cover and claims what the least certain of them claims.
func TestHull(t *testing.T) {
	is := []Interval{{9, 1.2, 1.1, 1.3, 0.96}, {5, 0.9, 0.85, 1.15, 0.9375}, {9, 1, 0.95, 1.05, 0.96}}
	if h := Hull(is); h != (Interval{3, 1, 0.85, 1.3, 0.9375}) {
		t.Errorf("%+v", h)
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

// The example of Benjamini and Hochberg (1995), section 3.2: of 15 comparisons the first
// four are significant at 0.05.
func TestBenjaminiHochberg(t *testing.T) {
	ps := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	for i, q := range BenjaminiHochberg(ps) {
		if (q <= 0.05) != (ps[i] <= 0.0095) || q < ps[i] || q > 1 {
			t.Errorf("p %v: q %v", ps[i], q)
		}
		if ps[i] == 0.0095 && math.Abs(q-0.0095*15/4) > 1e-12 {
			t.Errorf("p %v: q %v", ps[i], q)
		}
	}
	if qs := BenjaminiHochberg(nil); len(qs) != 0 {
		t.Error(qs)
	}
}

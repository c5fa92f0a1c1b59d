package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, math.NaN()}, {[]float64{3}, 3}, {[]float64{5, 1}, 3}, {[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5}, {[]float64{7, 7, 7, 1e9}, 7},
	} {
		before := slices.Clone(c.xs)
		if got := Median(c.xs); !near(got, c.want) {
			t.Errorf("Median(%v) = %v, want %v", c.xs, got, c.want)
		}
		if !slices.Equal(before, c.xs) {
			t.Errorf("Median changed %v to %v", before, c.xs)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, 0}, {[]float64{5}, 0}, {[]float64{9, 10, 11}, 0.1}, {[]float64{0, 0}, 0}, {[]float64{4, 4, 4}, 0},
	} {
		if got := Spread(c.xs); !near(got, c.want) {
			t.Errorf("Spread(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

func TestRatios(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{nil, nil, nan},
		{[]float64{2, 30, 4}, []float64{1, 10, 1}, 3},   // of 2, 3, 4: not 4/1, which the medians would give
		{[]float64{2, 30, 4}, []float64{1, 10}, 2.5},    // the rounds that both have
		{[]float64{2, 30, 4}, []float64{0, 10, nan}, 3}, // and that have a ratio
		{[]float64{1}, []float64{0}, nan},
	} {
		if got := Median(Ratios(c.a, c.b)); !near(got, c.want) {
			t.Errorf("Ratios(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, math.NaN()}, {[]float64{0, 0}, math.NaN()}, {[]float64{3}, 1}, {[]float64{2, 2, 2, 2}, 1},
		{[]float64{1, 0, 0, 0}, 0.25}, {[]float64{1, 1, 0, 0}, 0.5}, {[]float64{4, 2}, 36.0 / 40},
	} {
		if got := Jain(c.xs); !near(got, c.want) {
			t.Errorf("Jain(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

func TestMaxMin(t *testing.T) {
	for _, c := range []struct {
		demands []float64
		amount  float64
		want    []float64
	}{
		{nil, 5, nil},
		{[]float64{2, 2.6, 4, 5}, 10, []float64{2, 2.6, 2.7, 2.7}},
		{[]float64{10, 1, 10}, 9, []float64{4, 1, 4}},
		{[]float64{1, 2}, 9, []float64{1, 2}},
		{[]float64{3, 0, 3}, 0, []float64{0, 0, 0}},
	} {
		got := MaxMin(c.demands, c.amount)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("MaxMin(%v, %v) = %v, want %v", c.demands, c.amount, got, c.want)
		}
	}
}

// Max-min fair shares are what the name says: no party has more than it asks for,
// nothing is left while one asks for more, and a party that has less than it asks for
// has as much as any other.
func TestMaxMinProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands := rapid.SliceOfN(rapid.Float64Range(0, 1000), 0, 30).Draw(t, "demands")
		amount := rapid.Float64Range(0, 20_000).Draw(t, "amount")
		shares, given, wanted, most := MaxMin(demands, amount), 0.0, 0.0, 0.0
		for i, s := range shares {
			given, wanted, most = given+s, wanted+demands[i], max(most, s)
			if s < 0 || s > demands[i] {
				t.Fatalf("%v of a demand of %v", s, demands[i])
			}
		}
		if d := given - min(amount, wanted); d > 1e-6 || d < -1e-6 {
			t.Fatalf("%v of %v is given, %v is wanted", given, amount, wanted)
		}
		for i, s := range shares {
			if s < demands[i]-1e-9 && s < most-1e-6 {
				t.Fatalf("%v of a demand of %v, somebody has %v", s, demands[i], most)
			}
		}
	})
}

package usl

import (
	"math"
	"math/rand/v2"
	"testing"
)

// made is what a law gives, scattered by a part of it.
func made(l Law, scatter float64, ns ...int) []Point { return madeWith(3, l, scatter, ns...) }

func madeWith(seed uint64, l Law, scatter float64, ns ...int) (ps []Point) {
	r := rand.New(rand.NewPCG(seed, 4))
	for _, n := range ns {
		p := Point{N: n}
		for range 9 {
			p.Xs = append(p.Xs, l.At(float64(n))*math.Exp(scatter*r.NormFloat64()))
		}
		ps = append(ps, p)
	}
	return ps
}

func near(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Max(math.Abs(b), 1e-3) }

// A law is found again in what it gives, exactly, and nearly where it scatters.
func TestFit(t *testing.T) {
	for _, want := range []Law{{1e6, 0.05, 0.001}, {2.5e6, 0, 0}, {3e6, 0.3, 0}, {1e6, 0, 0.02}, {1e3, 1, 0.1}} {
		got, err := Fit(made(want, 0, 1, 2, 4, 8, 16, 32))
		if err != nil || !near(got.Lambda, want.Lambda, 1e-6) || !near(got.Alpha, want.Alpha, 1e-6) || !near(got.Beta, want.Beta, 1e-6) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	want := Law{1e6, 0.05, 0.001}
	const trials, least = 20, 15 // 19 of 20 are expected, of medians of nine somewhat fewer
	held := map[string]int{}
	for seed := range uint64(trials) {
		lambda, alpha, beta := Bootstrap(madeWith(seed, want, 0.03, 1, 2, 4, 8, 16, 32))
		for what, c := range map[string]struct {
			in   Range
			want float64
		}{"lambda": {lambda, want.Lambda}, "alpha": {alpha, want.Alpha}, "beta": {beta, want.Beta}} {
			if c.in.Low <= c.want && c.want <= c.in.High {
				held[what]++
			}
			if c.in.High-c.in.Low > c.want {
				t.Errorf("%s: %v to %v, made with %v", what, c.in.Low, c.in.High, c.want)
			}
		}
	}
	for _, what := range []string{"lambda", "alpha", "beta"} {
		if held[what] < least {
			t.Errorf("%s is in %d of %d ranges", what, held[what], trials)
		}
	}
	if p := want.Peak(); !near(p, math.Sqrt(950), 1e-9) {
		t.Errorf("peak at %v", p)
	}
	if p := (Law{1, 0.5, 0}).Peak(); !math.IsInf(p, 1) {
		t.Errorf("peak at %v without coherency", p)
	}
	if p := (Law{1, 2, 0.1}).Peak(); p != 1 {
		t.Errorf("peak at %v", p)
	}
}

// What gets better than in proportion has no contention, instead of a negative one.
func TestFitIsNotNegative(t *testing.T) {
	l, err := Fit([]Point{{1, []float64{1}}, {2, []float64{2.4}}, {4, []float64{5.5}}, {8, []float64{11}}})
	if err != nil || l.Alpha < 0 || l.Beta < 0 || l.Lambda <= 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestFitRefuses(t *testing.T) {
	for _, ps := range [][]Point{
		nil, made(Law{1, 0, 0}, 0, 1, 2), made(Law{1, 0, 0}, 0, 2, 2, 2, 1),
		{{1, []float64{1}}, {2, []float64{0}}, {3, []float64{1}}}, {{0, []float64{1}}, {2, []float64{1}}, {3, []float64{1}}},
		{{1, nil}, {2, []float64{1}}, {3, []float64{1}}}, {{1, []float64{math.NaN()}}, {2, []float64{1}}, {3, []float64{1}}},
	} {
		if l, err := Fit(ps); err == nil {
			t.Errorf("%v: %+v", ps, l)
		}
	}
}

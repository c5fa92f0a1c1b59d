// Package usl fits Gunther's Universal Scalability Law to throughput that was measured on
// several numbers of processors (N. J. Gunther, Guerrilla Capacity Planning, 2007, chapter
// 4; A General Theory of Computational Scalability Based on Rational Functions, 2008):
//
//	X(n) = Lambda * n / (1 + Alpha*(n-1) + Beta*n*(n-1))
//
// Alpha is the part of the work that is done one after another, contention; Beta what each
// processor costs each other one, coherency. With Beta above 0 there is a number of
// processors beyond which more of them are slower.
package usl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// Least is how many different numbers of processors a fit needs: as many as parameters.
const Least = 3

// Law is a fitted law.
type Law struct {
	Lambda float64 `json:"lambda"` // throughput of one processor
	Alpha  float64 `json:"alpha"`  // contention, 0 or more
	Beta   float64 `json:"beta"`   // coherency, 0 or more
}

// At returns the throughput of n processors.
func (l Law) At(n float64) float64 {
	return l.Lambda * n / (1 + l.Alpha*(n-1) + l.Beta*n*(n-1))
}

// Peak returns the number of processors with the greatest throughput, +Inf if more are
// always better, at least 1.
func (l Law) Peak() float64 {
	if l.Beta == 0 {
		return math.Inf(1)
	}
	return max(1, math.Sqrt(max(0, 1-l.Alpha)/l.Beta))
}

// Point is what was measured with n processors: one value per round.
type Point struct {
	N  int
	Xs []float64
}

// Fit returns the law of least squares of n/X, which is linear in the parameters, over the
// medians of the points. A parameter that would be negative is 0, and the others are fitted
// without it. At least Least points with different, positive N and positive values.
func Fit(points []Point) (Law, error) {
	var ns, ys []float64
	seen := map[int]bool{}
	for _, p := range points {
		x := stats.Median(p.Xs)
		if p.N < 1 || !(x > 0) || math.IsInf(x, 0) {
			return Law{}, fmt.Errorf("%d processors: a throughput of %v", p.N, x)
		}
		seen[p.N] = true
		ns, ys = append(ns, float64(p.N)), append(ys, float64(p.N)/x)
	}
	if len(seen) < Least {
		return Law{}, fmt.Errorf("%d numbers of processors are too few, there must be %d", len(seen), Least)
	}
	terms := []func(n float64) float64{
		func(float64) float64 { return 1 },
		func(n float64) float64 { return n - 1 },
		func(n float64) float64 { return n * (n - 1) },
	}
	var best []float64
	least := math.Inf(1)
	for _, with := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		c, err := solve(ns, ys, terms, with)
		if err != nil || c[0] <= 0 || c[1] < 0 || c[2] < 0 {
			continue
		}
		if sum := residual(ns, ys, terms, c); sum < least {
			best, least = c, sum
		}
	}
	if best == nil {
		return Law{}, fmt.Errorf("no law fits %v at %v processors", ys, ns)
	}
	return Law{Lambda: 1 / best[0], Alpha: best[1] / best[0], Beta: best[2] / best[0]}, nil
}

// solve returns the coefficients of these terms by least squares; those of others are 0.
func solve(ns, ys []float64, terms []func(float64) float64, with []int) ([]float64, error) {
	a, b := mat.NewDense(len(ns), len(with), nil), mat.NewVecDense(len(ns), slices.Clone(ys))
	for i, n := range ns {
		for k, t := range with {
			a.Set(i, k, terms[t](n))
		}
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		return nil, err
	}
	c := make([]float64, len(terms))
	for k, t := range with {
		c[t] = x.AtVec(k)
	}
	return c, nil
}

func residual(ns, ys []float64, terms []func(float64) float64, c []float64) (sum float64) {
	for i, n := range ns {
		y := 0.0
		for t, f := range terms {
			y += c[t] * f(n)
		}
		sum += (y - ys[i]) * (y - ys[i])
	}
	return sum
}

// Range is where a parameter lies.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Bootstrap fits samples of the rounds, drawn with replacement (Efron 1979), and returns
// the ranges that hold 95 % of what comes out. It is the same each time.
func Bootstrap(points []Point) (lambda, alpha, beta Range) {
	const samples = 400
	r := rand.New(rand.NewPCG(1, 2))
	var ls, as, bs []float64
	for range samples {
		drawn := make([]Point, len(points))
		for i, p := range points {
			xs := make([]float64, len(p.Xs))
			for k := range xs {
				xs[k] = p.Xs[r.IntN(len(p.Xs))]
			}
			drawn[i] = Point{p.N, xs}
		}
		if l, err := Fit(drawn); err == nil {
			ls, as, bs = append(ls, l.Lambda), append(as, l.Alpha), append(bs, l.Beta)
		}
	}
	return middle(ls), middle(as), middle(bs)
}

func middle(xs []float64) Range {
	if len(xs) == 0 {
		return Range{math.NaN(), math.NaN()}
	}
	slices.Sort(xs)
	return Range{xs[len(xs)*25/1000], xs[min(len(xs)-1, len(xs)*975/1000)]}
}

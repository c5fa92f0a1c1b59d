// Package compare says which figures of two result files, or of two contestants
// in one file, differ by more than chance.
//
// The statistics are those of benchstat, from golang.org/x/perf/benchmath: the
// median of the runs with an order-statistic confidence interval, and the
// Mann-Whitney U test (Mann and Whitney 1947), which supposes nothing about how
// the values are distributed. A difference is significant if p is not above
// alpha: of metrics that did not change, that part seems to.
package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/firq-go/firq/internal/bench/metric"
	"github.com/firq-go/firq/internal/bench/report"
	"github.com/firq-go/firq/internal/bench/suite"
)

// Options is what counts.
type Options struct {
	Threshold   float64         // a significant change for the worse beyond it is a regression; 0.05 is 5 %
	Alpha       float64         // of the test; 0: 0.05
	Metrics     []metric.Metric // nil: all
	Contestants []string        // Files: only these; Contestants: the two
}

// ErrRegression is what Comparison.Err wraps.
var ErrRegression = errors.New("regression")

// Verdict is what a row comes to.
type Verdict string

// The verdicts.
const (
	Same       Verdict = "no significant change"
	Better     Verdict = "better"
	Worse      Verdict = "worse"      // but not beyond the threshold
	Regression Verdict = "REGRESSION" // worse beyond the threshold
	Changed    Verdict = "changed"    // in a metric that has no better
	TooFew     Verdict = "too few runs to tell"
)

// Side is one of the two that are compared.
type Side struct {
	N      int     `json:"runs"`
	Median float64 `json:"median"`
	// Low and High bound the median with the given confidence; nil: there are too
	// few runs for a bound (6 are needed for 0.95).
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Confidence float64  `json:"confidence"`
}

// Row is one metric of one contestant in one cell.
type Row struct {
	Scenario   string `json:"scenario"`
	Variant    string `json:"variant"`
	Contestant string `json:"contestant"` // "a -> b" where two contestants are compared
	Metric     string `json:"metric"`
	Kind       string `json:"kind"`
	Old        Side   `json:"old"`
	New        Side   `json:"new"`
	// Change is (new - old) / old; nil: old is zero and new is not.
	Change  *float64 `json:"change"`
	P       float64  `json:"p"`
	Verdict Verdict  `json:"verdict"`
}

// Comparison is the outcome.
type Comparison struct {
	Old         string   `json:"old"` // what is compared, for people
	New         string   `json:"new"`
	Threshold   float64  `json:"threshold"`
	Alpha       float64  `json:"alpha"`
	Warnings    []string `json:"warnings"`
	Regressions int      `json:"regressions"`
	Rows        []Row    `json:"rows"`
}

// Err returns an error that wraps ErrRegression if there is one.
func (c *Comparison) Err() error {
	if c.Regressions == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d comparisons are worse by more than %.3g%%", ErrRegression, c.Regressions, len(c.Rows), 100*c.Threshold)
}

// Files compares each contestant in the first file, the reference, with itself in
// the second one.
func Files(before, after *report.File, o Options) (*Comparison, error) {
	c := o.comparison()
	c.environment(before, after)
	olds, news := byKey(before), byKey(after)
	for i := range before.Cells() {
		a := &before.Cells()[i]
		b := news[key(a)]
		if b == nil {
			c.warn("only the old file has %s", title(a))
			continue
		}
		if same, what := settings(a, b); !same {
			c.warn("%s was not run alike: %s", title(a), what)
		}
		for _, name := range contestants(a) {
			if len(o.Contestants) > 0 && !slices.Contains(o.Contestants, name) {
				continue
			}
			if !slices.Contains(contestants(b), name) {
				c.warn("only the old file has %s in %s", name, title(a))
				continue
			}
			c.compare(a, b, name, name, o.Metrics)
		}
	}
	for i := range after.Cells() {
		if b := &after.Cells()[i]; olds[key(b)] == nil {
			c.warn("only the new file has %s", title(b))
		}
	}
	const meaning = "compare within one run instead (--contestants)"
	c.noise("old", before, meaning)
	c.noise("new", after, meaning)
	c.control(before, news)
	return c.finish()
}

// Contestants compares two contestants within one file: the second one of
// Options.Contestants with the first, the reference.
func Contestants(f *report.File, o Options) (*Comparison, error) {
	if len(o.Contestants) != 2 || o.Contestants[0] == o.Contestants[1] {
		return nil, fmt.Errorf("--contestants: %q, must be two to compare within one file, the reference first", o.Contestants)
	}
	c := o.comparison()
	from, to := o.Contestants[0], o.Contestants[1]
	for i := range f.Cells() {
		cell := &f.Cells()[i]
		if names := contestants(cell); slices.Contains(names, from) && slices.Contains(names, to) {
			c.compare(cell, cell, from, to, o.Metrics)
		}
	}
	c.noise("one", f, "only large differences can be found")
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("--contestants: no scenario of the file has both %s and %s", from, to)
	}
	return c.finish()
}

func (o *Options) comparison() *Comparison {
	if o.Metrics == nil {
		o.Metrics = metric.All()
	}
	if o.Alpha == 0 {
		o.Alpha = benchmath.DefaultThresholds.CompareAlpha
	}
	return &Comparison{Threshold: o.Threshold, Alpha: o.Alpha, Warnings: []string{}}
}

// finish looks at what came out as a whole.
func (c *Comparison) finish() (*Comparison, error) {
	if len(c.Rows) == 0 {
		return nil, errors.New("there is nothing to compare: no scenario and contestant is in both")
	}
	fewest, few := math.MaxInt, 0
	for _, r := range c.Rows {
		fewest = min(fewest, r.Old.N, r.New.N)
		if r.Verdict == TooFew {
			few++
		}
		if r.Verdict == Regression {
			c.Regressions++
		}
	}
	if fewest < EnoughRuns {
		c.warn("there are as few as %d runs, and p cannot become small: use --rounds %d or more", fewest, 2*EnoughRuns)
	}
	if few > 0 {
		c.warn("%d of %d comparisons have too few runs to find any difference, however large", few, len(c.Rows))
	}
	return c, nil
}

// EnoughRuns is how many runs there should be on each side, at least.
const EnoughRuns = 5

const confidence = 0.95

// compare adds a row for each metric that both have.
func (c *Comparison) compare(a, b *suite.Cell, from, to string, metrics []metric.Metric) {
	who := to
	if from != to {
		who = from + " -> " + to
	}
	for _, m := range metrics {
		olds, news := values(a, from, m), values(b, to, m)
		if len(olds) == 0 || len(news) == 0 {
			continue
		}
		r := Row{Scenario: a.Scenario.Name, Variant: variant(a), Contestant: who, Metric: m.Name, Kind: string(m.Kind)}
		thresholds := &benchmath.Thresholds{CompareAlpha: c.Alpha}
		before, after := benchmath.NewSample(olds, thresholds), benchmath.NewSample(news, thresholds)
		r.Old, r.New = side(before), side(after)
		r.P = benchmath.AssumeNothing.Compare(before, after).P
		change := 0.0
		if r.Old.Median != r.New.Median {
			change = (r.New.Median - r.Old.Median) / r.Old.Median
		}
		if !math.IsInf(change, 0) {
			r.Change = &change
		}
		r.Verdict = c.verdict(m, &r, change)
		c.Rows = append(c.Rows, r)
	}
}

// verdict judges a change, which is infinite where the old value is zero.
func (c *Comparison) verdict(m metric.Metric, r *Row, change float64) Verdict {
	switch {
	case leastP(r.Old.N, r.New.N) > c.Alpha:
		return TooFew
	case r.P > c.Alpha || r.Old.Median == r.New.Median || math.Abs(r.New.Median-r.Old.Median) <= m.Floor:
		return Same
	case m.Better == metric.None:
		return Changed
	case (change > 0) == (m.Better == metric.Higher):
		return Better
	case math.Abs(change) > c.Threshold:
		return Regression
	}
	return Worse
}

// leastP returns the smallest p that the test can have: all of one side above all
// of the other, which is two of the ways to choose n1 of n1+n2.
func leastP(n1, n2 int) float64 {
	ways := 1.0
	for i := 1; i <= n1; i++ {
		ways *= float64(n2+i) / float64(i)
	}
	return min(1, 2/ways)
}

func side(s *benchmath.Sample) Side {
	sum := benchmath.AssumeNothing.Summary(s, confidence)
	bound := func(x float64) *float64 {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return nil
		}
		return &x
	}
	return Side{N: len(s.Values), Median: sum.Center, Low: bound(sum.Lo), High: bound(sum.Hi), Confidence: sum.Confidence}
}

func values(c *suite.Cell, contestant string, m metric.Metric) (vs []float64) {
	for i := range c.Runs {
		if r := &c.Runs[i]; r.Contestant == contestant {
			if v, ok := m.Of(c, r); ok {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

// contestants returns those of a cell, in the order of the first round.
func contestants(c *suite.Cell) (names []string) {
	for _, r := range c.Runs {
		if !slices.Contains(names, r.Contestant) {
			names = append(names, r.Contestant)
		}
	}
	return names
}

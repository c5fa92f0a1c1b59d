// Package compare says which figures of two programs, or of two contestants in one
// file, differ by more than chance.
//
// A file is a series of rounds. The rounds of a series are not independent: the machine
// was in one state for all of them, and the heap, the addresses and the threads of the
// process as well. Two series of one program differ in one figure of five by a test over
// their rounds. So where programs are compared, the unit is the series: each file counts
// as one value, the median of its rounds, and several files of each program are needed,
// run in alternation. With one file each it can only be said that the series differ.
// Two contestants of one file ran in alternation; there the unit is the round.
//
// The test is that of Mann and Whitney (1947), which supposes nothing about how the
// values are distributed (golang.org/x/perf/benchmath, as in benchstat). Many figures
// are tested at the same time, and of those that have not changed alpha would seem to; so p is
// adjusted by the procedure of Benjamini and Hochberg (1995), and a difference is
// significant if the adjusted one, q, is not above alpha: of all differences that are
// said to be significant, at most that part is chance.
package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Options is what counts.
type Options struct {
	Threshold   float64         // a significant change for the worse beyond it is a regression; 0.05 is 5 %
	Alpha       float64         // the part of chance in what is significant; 0: 0.05
	Metrics     []metric.Metric // nil: those of Gate
	Contestants []string        // Files: only these; Contestants: the two
}

// Gate returns the metrics that decide by default. The others explain; to test all of
// them would hide a change of one.
func Gate() []metric.Metric {
	ms, err := metric.Choose([]string{"tasks/s", "enqueue-p99", "queue-p99"})
	if err != nil {
		panic("firq: " + err.Error())
	}
	return ms
}

// Units of a comparison.
const (
	Rounds = "round"
	Series = "series"
)

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
	Differs    Verdict = "the series differ"
	TooFew     Verdict = "too few runs to tell"
)

// Side is one of the two that are compared.
type Side struct {
	N      int     `json:"runs"` // rounds or series: see Comparison.Unit
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
	P       float64  `json:"p"` // of this row alone
	Q       float64  `json:"q"` // P adjusted for the number of rows
	Verdict Verdict  `json:"verdict"`

	metric metric.Metric
}

// Comparison is the outcome.
type Comparison struct {
	Old         string   `json:"old"` // what is compared, for people
	New         string   `json:"new"`
	Unit        string   `json:"unit"` // of a value: Rounds or Series
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

// Files compares each contestant in the files before, which are of the reference, with
// itself in the files after. Each side has at least one.
func Files(before, after []*report.File, o Options) (*Comparison, error) {
	c := o.comparison()
	if len(before) > 1 || len(after) > 1 {
		c.Unit = Series
	}
	c.environments(before, after)
	olds, news := byKey(before), byKey(after)
	for _, k := range keys(before) {
		a, b := olds[k], news[k]
		if b == nil {
			c.warn("only the old file has %s", title(a[0]))
			continue
		}
		c.alike(a, b, len(before), len(after))
		for _, name := range contestants(a) {
			if len(o.Contestants) > 0 && !slices.Contains(o.Contestants, name) {
				continue
			}
			if !slices.Contains(contestants(b), name) {
				c.warn("only the old file has %s in %s", name, title(a[0]))
				continue
			}
			c.compare(a, b, name, name, o.Metrics)
		}
	}
	for _, k := range keys(after) {
		if olds[k] == nil {
			c.warn("only the new file has %s", title(news[k][0]))
		}
	}
	if c.Unit == Rounds {
		c.warn("one series on each side: they differ by more than their rounds do, also where the program is the same; " +
			"nothing here is called a regression. Run several of each in alternation: compare OLD... -- NEW...")
		const meaning = "compare within one run instead (--contestants)"
		c.noise("old", before[0], meaning)
		c.noise("new", after[0], meaning)
	}
	if len(c.Rows) == 0 {
		return nil, nothing(before, after, o.Contestants)
	}
	c.control(olds, news)
	c.verdicts(c.Unit == Rounds)
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
		if names := contestants([]*suite.Cell{cell}); slices.Contains(names, from) && slices.Contains(names, to) {
			c.compare([]*suite.Cell{cell}, []*suite.Cell{cell}, from, to, o.Metrics)
		}
	}
	c.disturbed("one", []*report.File{f})
	c.noise("one", f, "only large differences can be found")
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("--contestants: no scenario of the file has both %s and %s", from, to)
	}
	c.verdicts(false)
	return c.finish()
}

func (o *Options) comparison() *Comparison {
	if o.Metrics == nil {
		o.Metrics = Gate()
	}
	if o.Alpha == 0 {
		o.Alpha = benchmath.DefaultThresholds.CompareAlpha
	}
	return &Comparison{Threshold: o.Threshold, Alpha: o.Alpha, Unit: Rounds, Warnings: []string{}}
}

// finish looks at what came out as a whole.
func (c *Comparison) finish() (*Comparison, error) {
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
	switch {
	case fewest >= EnoughRuns:
	case c.Unit == Series:
		c.warn("there are as few as %d series, and p cannot become small: run %d or more of each", fewest, EnoughRuns)
	default:
		c.warn("there are as few as %d runs, and p cannot become small: use --rounds %d or more", fewest, 2*EnoughRuns)
	}
	if few > 0 {
		c.warn("%d of %d comparisons have too few values to find any difference, however large", few, len(c.Rows))
	}
	return c, nil
}

// EnoughRuns is how many values there should be on each side, at least.
const EnoughRuns = 5

const confidence = 0.95

// compare adds a row for each metric that both have.
func (c *Comparison) compare(a, b []*suite.Cell, from, to string, metrics []metric.Metric) {
	who := to
	if from != to {
		who = from + " -> " + to
	}
	for _, m := range metrics {
		olds, news := c.values(a, from, m), c.values(b, to, m)
		if len(olds) == 0 || len(news) == 0 {
			continue
		}
		r := Row{Scenario: a[0].Scenario.Name, Variant: variant(a[0]), Contestant: who, Metric: m.Name, Kind: string(m.Kind), metric: m}
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
		c.Rows = append(c.Rows, r)
	}
}

// verdicts judges the rows, all together; alone says that there is one series on each
// side.
func (c *Comparison) verdicts(alone bool) {
	var ps []float64
	for i := range c.Rows { // a row that cannot be significant is no test
		if r := &c.Rows[i]; !c.few(r) {
			ps = append(ps, r.P)
		}
	}
	qs := stats.BenjaminiHochberg(ps)
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Q = 1; !c.few(r) {
			r.Q, qs = qs[0], qs[1:]
		}
		r.Verdict = c.verdict(r)
		if alone && (r.Verdict == Better || r.Verdict == Worse || r.Verdict == Regression) {
			r.Verdict = Differs
		}
	}
}

func (c *Comparison) few(r *Row) bool { return leastP(r.Old.N, r.New.N) > c.Alpha }

func (c *Comparison) verdict(r *Row) Verdict {
	m, change := &r.metric, math.Inf(1) // where the old value is zero
	if r.Change != nil {
		change = *r.Change
	}
	switch {
	case c.few(r):
		return TooFew
	case r.Q > c.Alpha || r.Old.Median == r.New.Median || math.Abs(r.New.Median-r.Old.Median) <= m.Floor:
		return Same
	case m.Better == metric.None:
		return Changed
	case (r.New.Median > r.Old.Median) == (m.Better == metric.Higher):
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

// values are those of the rounds of the cells, or a median for each cell where the unit
// is the series.
func (c *Comparison) values(cells []*suite.Cell, contestant string, m metric.Metric) (vs []float64) {
	for _, cell := range cells {
		rounds := values(cell, contestant, m)
		if c.Unit == Series && len(rounds) > 0 {
			rounds = []float64{stats.Median(rounds)}
		}
		vs = append(vs, rounds...)
	}
	return vs
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

// contestants returns those of the cells, in the order of the first round.
func contestants(cells []*suite.Cell) (names []string) {
	for _, c := range cells {
		for _, r := range c.Runs {
			if !slices.Contains(names, r.Contestant) {
				names = append(names, r.Contestant)
			}
		}
	}
	return names
}

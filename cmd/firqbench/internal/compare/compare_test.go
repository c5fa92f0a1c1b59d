package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

var update = flag.Bool("update", false, "write the golden files")

// rates is a contestant's tasks/s, round by round. Its enqueue p99 is 1e12 / rate,
// so that it gets worse when the rate does.
type rates map[string][]float64

func cell(name string, rs rates) suite.Cell {
	c := suite.Cell{Scenario: scenario.Scenario{Name: name, Shape: scenario.Flow, Tenants: 64}}
	var names []string
	for n := range rs {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		for round, rate := range rs[n] {
			c.Runs = append(c.Runs, suite.Run{Contestant: n, Round: round, Result: load.Result{
				TasksPerSec: rate, Enqueue: load.Latency{Samples: 1, P99: time.Duration(1e12 / rate)}, Delivered: 1, Offered: 1,
			}})
		}
	}
	return c
}

func file(cells ...suite.Cell) *report.File {
	return &report.File{
		Schema: report.Schema,
		Env:    machine.Env{CPU: "x", Cores: 8, GOMAXPROCS: 8, GoVersion: "go1.26", Load: "0.1"},
		Run:    &report.RunSection{Rounds: 6, Measure: time.Second, Contestants: []string{"lockfree"}, Cells: cells},
	}
}

func choose(t *testing.T, names ...string) []metric.Metric {
	t.Helper()
	ms, err := metric.Choose(names)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// upwards returns n values from first, one more each.
func upwards(first float64, n int) (xs []float64) {
	for i := range n {
		xs = append(xs, first+float64(i))
	}
	return xs
}

// series are files with one round each.
func series(rs []float64) (files []*report.File) {
	for _, r := range rs {
		files = append(files, file(cell("s", rates{"lockfree": {r}})))
	}
	return files
}

// one is a side with one file.
func one(f *report.File) []*report.File { return []*report.File{f} }

// p of samples that do not overlap is 2 / (n1+n2 choose n1).
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		what     string
		old, new []float64
		p        float64
		change   float64 // of the medians
		want     Verdict
	}{
		{"6 against 6, faster", upwards(1000, 6), upwards(2000, 6), 2.0 / 924, 1000 / 1002.5, Better},
		{"5 against 5, half", upwards(1000, 5), upwards(500, 5), 2.0 / 252, -500.0 / 1002, Regression},
		{"4 against 4, half", upwards(1000, 4), upwards(500, 4), 2.0 / 70, -500 / 1001.5, Regression},
		{"within the threshold", upwards(1000, 6), upwards(980, 6), 2.0 / 924, -20 / 1002.5, Worse},
		{"just beyond it", upwards(1000, 6), upwards(949, 6), 2.0 / 924, -51 / 1002.5, Regression},
		{"3 against 3, however far", upwards(1000, 3), upwards(1, 3), 0.1, -999.0 / 1001, TooFew},
		{"1 against 1", []float64{1000}, []float64{1}, 1, -0.999, TooFew},
		{"3 against 9", upwards(1000, 3), upwards(100, 9), 2.0 / 220, -897.0 / 1001, Regression},
		{"overlapping", []float64{1000, 900, 1100, 1200, 800, 950}, []float64{700, 1010, 910, 1110, 1210, 600}, 0.93, -15.0 / 975, Same},
		{"all equal", []float64{7, 7, 7, 7, 7}, []float64{7, 7, 7, 7, 7}, 1, 0, Same},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := Files(series(c.old), series(c.new), Options{Threshold: 0.05, Metrics: choose(t, "tasks/s")})
			if err != nil || len(got.Rows) != 1 {
				t.Fatal(got, err)
			}
			r := got.Rows[0]
			if r.Verdict != c.want || math.Abs(*r.Change-c.change) > 1e-9 || math.Abs(r.P-c.p) > 0.01*max(c.p, 0.1) {
				t.Errorf("%+v: change %v; want p %v, change %v, %s", r, *r.Change, c.p, c.change, c.want)
			}
			if regressed := got.Err() != nil; regressed != (c.want == Regression) || regressed && !errors.Is(got.Err(), ErrRegression) {
				t.Errorf("error %v for %s", got.Err(), c.want)
			}
			if (r.Old.Low == nil) != (r.Old.N < 6) || r.Old.Low != nil && (*r.Old.Low > r.Old.Median || *r.Old.High < r.Old.Median) {
				t.Errorf("confidence interval %v to %v of %d runs around %v", r.Old.Low, r.Old.High, r.Old.N, r.Old.Median)
			}
		})
	}
}

// For a latency less is better, and what differs by less than the clock tells, or
// comes from nothing, has its own rules.
func TestDirections(t *testing.T) {
	runs := func(p99 time.Duration, allocs, goodput float64) suite.Cell {
		c := cell("s", rates{"a": upwards(1000, 6)})
		for i := range c.Runs {
			r := &c.Runs[i].Result
			r.Enqueue.P99, r.AllocsPerTask, r.Goodput, r.Rejected = p99, allocs, &goodput, uint64(100*allocs)
			r.Offered = 100
		}
		return c
	}
	six := func(c suite.Cell) (files []*report.File) {
		for range 6 {
			files = append(files, file(c))
		}
		return files
	}
	all := metric.All()
	got, err := Files(six(runs(100, 0, 100)), six(runs(110, 0.009, 200)), Options{Threshold: 0.05, Metrics: all})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := func(c *Comparison) map[string]Verdict {
		m := map[string]Verdict{}
		for _, r := range c.Rows {
			m[r.Metric] = r.Verdict
		}
		return m
	}
	// 10 ns more are no difference, nor is a hundredth of an allocation.
	if v := verdicts(got); v["enqueue-p99"] != Same || v["allocs/task"] != Same || v["goodput/s"] != Better || v["tasks/s"] != Same {
		t.Errorf("%v", v)
	}
	got, err = Files(six(runs(100, 0, 100)), six(runs(111, 1, 50)), Options{Threshold: 0.05, Metrics: all})
	if v := verdicts(got); err != nil || v["enqueue-p99"] != Regression || v["allocs/task"] != Regression || v["goodput/s"] != Regression || v["rejected"] != Changed {
		t.Errorf("%v, %v", v, err)
	}
	for _, r := range got.Rows {
		if fromZero := r.Metric == "allocs/task" || r.Metric == "rejected"; (r.Change == nil) != fromZero {
			t.Errorf("%s: change %v", r.Metric, r.Change)
		}
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err) // an infinite change would be one
	}
}

func TestContestants(t *testing.T) {
	f := file(
		cell("s", rates{"baseline-1": upwards(1000, 6), "lockfree": upwards(3000, 6)}),
		cell("no baseline", rates{"lockfree": upwards(3000, 6)}),
	)
	ms := choose(t, "tasks/s")
	got, err := Contestants(f, Options{Threshold: 0.05, Metrics: ms, Contestants: []string{"baseline-1", "lockfree"}})
	if err != nil || len(got.Rows) != 1 || got.Rows[0].Verdict != Better || got.Rows[0].Contestant != "baseline-1 -> lockfree" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = Contestants(f, Options{Threshold: 0.05, Metrics: ms, Contestants: []string{"lockfree", "baseline-1"}})
	if err != nil || got.Regressions != 1 {
		t.Errorf("the reference is the first: %+v, %v", got, err)
	}
	noisy := file(cell("s", rates{"a": {700, 1000, 1400, 900, 1100, 1000}, "b": {700, 1000, 1400, 900, 1100, 1000}}))
	got, err = Contestants(noisy, Options{Metrics: ms, Contestants: []string{"a", "b"}})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "only large differences can be found") {
		t.Errorf("noise: %+v, %v", got, err)
	}
	for _, bad := range [][]string{nil, {"lockfree"}, {"lockfree", "lockfree"}, {"lockfree", "nobody"}} {
		if _, err := Contestants(f, Options{Contestants: bad}); err == nil || !strings.Contains(err.Error(), "--contestants: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	two := file(cell("s", rates{"a": upwards(1, 6), "b": upwards(1, 6)}))
	got, err = Files(one(two), one(two), Options{Metrics: ms, Contestants: []string{"b"}})
	if err != nil || len(got.Rows) != 1 || got.Rows[0].Contestant != "b" {
		t.Errorf("only b: %+v, %v", got, err)
	}
	worked := cell("s", rates{"a": {1}})
	worked.Variant.Work = time.Microsecond
	for _, c := range []struct {
		other suite.Cell
		only  []string
		want  string
	}{
		{cell("other", rates{"a": {1}}), nil, "nothing to compare: the old file has the scenarios s, the new one other"},
		{worked, nil, "nothing to compare: s was run with no work, and then with work 1µs/task"},
		{cell("s", rates{"c": {1}}), nil, "nothing to compare: s has a and b in the old file and c in the new one"},
		{cell("s", rates{"a": {1}}), []string{"x"}, "only x were asked for (--contestants)"},
	} {
		if _, err := Files(one(two), one(file(c.other)), Options{Contestants: c.only}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("nothing in common: %v, want %q", err, c.want)
		}
	}
}

// golden is two files with one of each verdict.
func golden(t *testing.T) *Comparison {
	t.Helper()
	var old, now []*report.File
	for i := range 6 {
		x := float64(i) * 1e3
		before := []suite.Cell{cell("contended", rates{"channel": {100}, "lockfree": {100e3 + x}}), cell("zipf", rates{"lockfree": {100e3 + x}})}
		after := []suite.Cell{cell("contended", rates{"channel": {100}, "lockfree": {80e3 + x}}), cell("zipf", rates{"lockfree": {200e3 + x}})}
		if i < 3 {
			before, after = append(before, cell("few", rates{"lockfree": {1000 + x}})), append(after, cell("few", rates{"lockfree": {1 + x}}))
		}
		old, now = append(old, file(before...)), append(now, file(after...))
	}
	c, err := Files(old, now, Options{Threshold: 0.05, Metrics: choose(t, "tasks/s", "enqueue-p99", "jain", "rejected")})
	if err != nil {
		t.Fatal(err)
	}
	c.Old, c.New = "6 files", "6 others"
	return c
}

func TestGolden(t *testing.T) {
	c := golden(t)
	for name, write := range map[string]func(*bytes.Buffer){
		"table.golden": func(b *bytes.Buffer) { c.Table(b, false) },
		"all.golden":   func(b *bytes.Buffer) { c.Table(b, true) },
		"csv.golden": func(b *bytes.Buffer) {
			if err := c.CSV(b); err != nil {
				t.Error(err)
			}
		},
	} {
		var b bytes.Buffer
		write(&b)
		path := "testdata/" + name
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s: %v; got\n%s\nwant\n%s", name, err, &b, want)
		}
		if name == "csv.golden" {
			if lines, err := csv.NewReader(&b).ReadAll(); err != nil || len(lines) != len(c.Rows)+1 {
				t.Errorf("%d lines of CSV for %d rows, %v", len(lines), len(c.Rows), err)
			}
		}
	}
}

func ExampleComparison_Err() {
	c := Comparison{Threshold: 0.05, Regressions: 1, Rows: make([]Row, 12)}
	fmt.Println(c.Err())
	// Output: regression: 1 of 12 comparisons are worse by more than 5%
}

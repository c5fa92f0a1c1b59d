package matrix

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
	"github.com/firq-go/firq/cmd/firqbench/internal/usl"
)

func ran(cores int, scenarios map[string][]float64) *report.File {
	f := &report.File{Schema: report.Schema, Env: machine.Env{CPU: "AMD EPYC(TM) 9000 Processor", Cores: cores, OS: "linux", Arch: "amd64", GoVersion: "go1.26"}, Run: &report.RunSection{}}
	for _, name := range []string{"contended", "zipf", "ping_pong"} {
		c := suite.Cell{Scenario: scenario.Scenario{Name: name}}
		if name == "ping_pong" {
			c.Variant.Idle = 1
		}
		for round, ratio := range scenarios[name] {
			c.Runs = append(c.Runs, suite.Run{Contestant: contest.Lockfree, Round: round, Result: load.Result{TasksPerSec: 1e6 * ratio}},
				suite.Run{Contestant: contest.OneLock, Round: round, Result: load.Result{TasksPerSec: 1e6}})
		}
		f.Run.Cells = append(f.Run.Cells, c)
	}
	return f
}

// Files of one kind of machine are one column; what a machine has not run is a dash.
func TestRatios(t *testing.T) {
	files := []*report.File{
		ran(2, map[string][]float64{"contended": {2, 2.2, 2.4}, "zipf": {3}, "ping_pong": {9}}),
		ran(64, map[string][]float64{"contended": {5, 5, 5}}),
		ran(2, map[string][]float64{"contended": {1, 1, 1}}),
	}
	m := Of(files, rate(t), contest.Lockfree, []string{contest.OneLock, contest.Simple})
	if len(m.Hosts) != 2 || m.Hosts[0] != "AMD EPYC 9000, 2 x, linux/amd64, go1.26" || len(m.Rows) != 2 {
		t.Fatalf("%+v", m)
	}
	c := m.Rows[0]
	if c.Scenario != "contended" || c.Ratios[0].Median != 1.6 || c.Ratios[0].Low != 1 || c.Ratios[0].High != 2.4 || c.Ratios[1].Median != 5 {
		t.Errorf("%+v %+v %+v", c, c.Ratios[0], c.Ratios[1])
	}
	if z := m.Rows[1]; z.Ratios[0].Median != 3 || z.Ratios[1] != nil {
		t.Errorf("%+v", z)
	}
	var b bytes.Buffer
	m.Table(&b, contest.Lockfree)
	for _, want := range []string{"  B  AMD EPYC 9000, 64 x", "1.60 [1.00, 2.40] 5.00 [5.00, 5.00]", "3.00                 -", "No sweep over three"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	text := asMarkdown(&m)
	for _, want := range []string{"tasks/s of `lockfree`, over that of the contestant in the column; AMD EPYC 9000, 64 x", "| contended | no work | 5.00 [5.00, 5.00] |\n", "| zipf | no work | 3.00 |\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "**") {
		t.Errorf("bold without having lost:\n%s", text)
	}
}

func rate(t *testing.T) metric.Metric { return chosen(t, "tasks/s") }

func chosen(t *testing.T, name string) metric.Metric {
	t.Helper()
	ms, err := metric.Choose([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return ms[0]
}

func asMarkdown(m *Matrix) string {
	var b bytes.Buffer
	m.Markdown(&b, contest.Lockfree)
	return b.String()
}

// What is lost for certain is bold: the interval, and not only the median, is below 1.
func TestMarkdownBold(t *testing.T) {
	for _, c := range []struct {
		ratios []float64
		want   string
	}{
		{[]float64{0.5, 0.7}, "| **0.60** [0.50, 0.70] |"}, {[]float64{0.5, 1.1}, "| 0.80 [0.50, 1.10] |"}, {[]float64{0.5}, "| 0.50 |"},
	} {
		var files []*report.File
		for _, r := range c.ratios {
			files = append(files, ran(2, map[string][]float64{"contended": {r}}))
		}
		m := Of(files, rate(t), contest.Lockfree, []string{contest.Simple, contest.OneLock})
		if text := asMarkdown(&m); !strings.Contains(text, c.want) {
			t.Errorf("no %q in\n%s", c.want, text)
		}
	}
}

// Of what is better when it is less, more is lost.
func TestMarkdownLower(t *testing.T) {
	var files []*report.File
	for _, r := range []float64{1.5, 1.7} {
		f := ran(2, map[string][]float64{"contended": {1}})
		f.Run.Cells[0].Runs[0].CPUPerTask, f.Run.Cells[0].Runs[1].CPUPerTask = 100*r, 100
		files = append(files, f)
	}
	m := Of(files, chosen(t, "cpu/task"), contest.Lockfree, []string{contest.OneLock})
	if text := asMarkdown(&m); !strings.Contains(text, "cpu/task of `lockfree`") || !strings.Contains(text, "| **1.60** [1.50, 1.70] |") {
		t.Error(text)
	}
}

// What was pinned or limited counts as a separate machine.
func TestHosts(t *testing.T) {
	f := ran(2, nil)
	f.Env.Pinned, f.Env.Quota = []int{1}, 80
	m := Of([]*report.File{ran(2, nil), f}, rate(t), contest.Lockfree, []string{contest.OneLock})
	if len(m.Hosts) != 2 || !strings.HasSuffix(m.Hosts[1], ", pinned to 1, at most 80 % of one processor's time") {
		t.Errorf("%q", m.Hosts)
	}
	if text := asMarkdown(&m); text != "" {
		t.Errorf("a table of nothing:\n%s", text)
	}
}

// The law of a sweep is the one that it was made with; shards that follow from the number
// of processors are one line.
func TestScale(t *testing.T) {
	law := usl.Law{Lambda: 1e6, Alpha: 0.1, Beta: 0.01}
	f := ran(8, nil)
	f.Run, f.Sweep = nil, &sweep.Report{}
	for _, n := range []int{1, 2, 4, 8} {
		for _, shards := range []int{0, 1, 2 * n} {
			c := suite.Cell{Scenario: scenario.Scenario{Name: "contended", Shards: shards, Tenants: 64}, Point: &suite.Point{GOMAXPROCS: 8, Pinned: make([]int, n)}}
			for round := range 3 {
				c.Runs = append(c.Runs, suite.Run{Contestant: contest.Lockfree, Round: round, Result: load.Result{TasksPerSec: law.At(float64(n))}})
			}
			f.Sweep.Cells = append(f.Sweep.Cells, c)
		}
	}
	m := Of([]*report.File{f}, rate(t), contest.Lockfree, []string{contest.OneLock})
	var variants []string
	for _, s := range m.Scale {
		variants = append(variants, s.Variant)
		if math.Abs(s.Alpha-0.1) > 1e-6 || math.Abs(s.Beta-0.01) > 1e-6 || s.Most != 8 || s.Peak == nil || math.Abs(*s.Peak-math.Sqrt(90)) > 1e-3 || s.WorstFit > 1e-6 {
			t.Errorf("%+v", s)
		}
	}
	if got := strings.Join(variants, "; "); got != "no work, 64 tenants, default shards; no work, 64 tenants, 1 shards; no work, 64 tenants, 2x shards" {
		t.Error(got)
	}
	var b bytes.Buffer
	m.Table(&b, contest.Lockfree)
	if !strings.Contains(b.String(), "0.100 [0.100, 0.100]") || !strings.Contains(b.String(), "No file has runs of lockfree together") {
		t.Errorf("%s", &b)
	}
}

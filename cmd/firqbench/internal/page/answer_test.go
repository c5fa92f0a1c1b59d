package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// answered is a file with the ratios of lockfree to one lock, by scenario and round.
func answered(ratios map[string][]float64) *report.File {
	f := &report.File{Schema: report.Schema, Run: &report.RunSection{}}
	for _, name := range []string{"contended", "zipf", "uncontended"} {
		c := suite.Cell{Scenario: scenario.Scenario{Name: name}}
		for round, ratio := range ratios[name] {
			machine := float64(1 + round%3) // that is not equally fast all the time
			c.Runs = append(c.Runs,
				suite.Run{Contestant: contest.Lockfree, Round: round, Result: load.Result{TasksPerSec: ratio * 1e6 * machine}},
				suite.Run{Contestant: contest.OneLock, Round: round, Result: load.Result{TasksPerSec: 1e6 * machine}})
		}
		if len(c.Runs) > 0 {
			f.Run.Cells = append(f.Run.Cells, c)
		}
	}
	return f
}

// The first thing on the page are the ratios, round by round, the largest on top; of
// several files with one scenario the median, over what the intervals of all of them cover.
func TestAnswer(t *testing.T) {
	one := answered(map[string][]float64{"contended": {2, 2.2, 2.4}, "zipf": {3, 3, 3}, "uncontended": {0.5, 0.6, 0.7}})
	two := answered(map[string][]float64{"contended": {5, 5, 5}})
	three := answered(map[string][]float64{"contended": {4, 4, 4}})
	b := newBuilder([]File{{"1", one}, {"2", two}, {"3", three}})
	c, _ := b.ratios(0, "no work")
	if want := []string{"contended", "zipf", "uncontended"}; !slices.Equal(c.Y.Names, want) {
		t.Errorf("rows %q, want %q", c.Y.Names, want)
	}
	if len(c.Visible()) != 1 || c.Visible()[0].Name != contest.OneLock {
		t.Fatalf("series %+v", c.Visible())
	}
	var got []string
	for _, p := range c.Visible()[0].Points {
		got = append(got, fmt.Sprintf("%.1f %.1f %.1f", p.X, p.Lo, p.Hi))
	}
	if want := []string{"4.0 2.0 5.0", "3.0 0.0 0.0", "0.6 0.5 0.7"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	text := write(t, b.files)
	if answer, latency := strings.Index(text, "<h2 id=\"the-answer-h\">"), strings.Index(text, "<h2 id=\"latency"); answer < 0 || latency < answer {
		t.Errorf("the answer is at %d, the latency at %d", answer, latency)
	}
	if text := write(t, []File{{"r", replayed(8)}}); !strings.Contains(text, "No file has closed loops of lockfree together with") {
		t.Error("a page without an answer does not say so")
	}
}

// What was measured on another machine, with another commit or with a quota has a chart of
// its own, and each chart says what its intervals are.
func TestAnswerByPlace(t *testing.T) {
	nine := []float64{2, 2, 2, 2, 2, 2, 2, 2, 3}
	file := func(commit, cpu string, quota int, ratios []float64) *report.File {
		f := answered(map[string][]float64{"contended": ratios})
		f.Env = machine.Env{Commit: commit, CPU: cpu, Cores: 2, GOMAXPROCS: 2, Quota: quota, Load: fmt.Sprint(len(ratios)), Command: cpu}
		return f
	}
	cs := charts(write(t, []File{
		{"a", file("0123456789", "one(R) CPU", 0, nine)}, {"b", file("abcdef0123", "one(R) CPU", 0, nine[:2])}, {"c", file("0123456789", "two", 0, nine[:1])},
		{"d", file("0123456789", "two", 80, nine)}, {"e", file("0123456789", "two", 80, nine)}, {"f", file("0123456789", "two", 80, []float64{4, 4, 4, 4, 4})},
	}))
	const ratio = "Tasks/s of lockfree over those of the others, no work, "
	for place, want := range map[string][2]string{
		"one CPU, 2 cores, commit 0123456": {"Marks: median of 9 rounds, confidence 96 %.", "2"},
		"one CPU, 2 cores, commit abcdef0": {"Marks: median of 2 rounds, interval from the least to the greatest, confidence 50 %.", "2"},
		"two, 2 cores":                     {"Marks: 1 round, no interval.", "2"},
		"two, 2 cores, quota 80%":          {"Marks: median of 3 files, interval over those of all files, each with a confidence of 93.7 %.", "2"},
	} {
		if c := find(t, cs, ratio+place); c.note != want[0] || c.rows[0][1] != want[1] {
			t.Errorf("%s: %q, %q, want %q", place, c.note, c.rows[0], want)
		}
	}
	if n := strings.Count(fmt.Sprint(cs), ratio); n != 4 {
		t.Errorf("%d charts of ratios", n)
	}
}

// Ratios of few rounds among those of many are named.
func TestAnswerNote(t *testing.T) {
	f := answered(map[string][]float64{"contended": {2, 2, 2, 2, 2, 2}, "zipf": {3, 3, 3, 3, 3, 3}, "uncontended": {0.5}})
	b := newBuilder([]File{{"1", f}})
	if _, note := b.ratios(0, "no work"); note != "Marks: median of 6 rounds, confidence 96.8 %; uncontended: 1 round, no interval." {
		t.Errorf("%q", note)
	}
}

// A scenario that was run with other numbers of goroutines is not the same scenario.
func TestAnswerSettings(t *testing.T) {
	one, two := answered(map[string][]float64{"contended": {2}}), answered(map[string][]float64{"contended": {4}})
	two.Run.Cells[0].Scenario.Producers, two.Run.Cells[0].Scenario.Tenants = 4, 9
	c, _ := newBuilder([]File{{"1", one}, {"2", two}}).ratios(0, "no work")
	if want := []string{"contended 4x0, 9", "contended 0x0, 0"}; !slices.Equal(c.Y.Names, want) {
		t.Errorf("rows %q, want %q", c.Y.Names, want)
	}
}

// Two files that show no difference each do not show one together, and six show what their
// medians do.
func TestSeveralFiles(t *testing.T) {
	file := func(first float64) File {
		rounds := []float64{0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3}
		for i := range rounds {
			rounds[i] *= first
		}
		return File{"f", answered(map[string][]float64{"contended": rounds})}
	}
	of := func(files ...File) ratio {
		g := newBuilder(files).closed()[0]
		return g.ratio(contest.OneLock)
	}
	if r := of(file(1.05), file(1.1)); r.Low > 0.8 || r.High < 1.3 || r.N != 2 {
		t.Errorf("two files, each with 1 in its interval: %+v", r)
	}
	six := of(file(1.05), file(1.06), file(1.07), file(1.08), file(1.09), file(1.1))
	if six.Low < 1.04 || six.High > 1.11 || six.Confidence < stats.Confidence {
		t.Errorf("six files that agree: %+v", six)
	}
}

package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firq-go/firq/internal/bench/contest"
	"github.com/firq-go/firq/internal/bench/load"
	"github.com/firq-go/firq/internal/bench/report"
	"github.com/firq-go/firq/internal/bench/scenario"
	"github.com/firq-go/firq/internal/bench/suite"
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
// several files with one scenario the median, with their range.
func TestAnswer(t *testing.T) {
	one := answered(map[string][]float64{"contended": {2, 2.2, 2.4}, "zipf": {3, 3, 3}, "uncontended": {0.5, 0.6, 0.7}})
	two := answered(map[string][]float64{"contended": {5, 5, 5}})
	three := answered(map[string][]float64{"contended": {4, 4, 4}})
	b := &builder{files: []File{{"1", one}, {"2", two}, {"3", three}}, names: []string{"1", "2", "3"}, ids: map[string]int{}, slots: slots{}}
	c := b.ratios("no work")
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
	if want := []string{"4.0 2.2 5.0", "3.0 0.0 0.0", "0.6 0.5 0.7"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	text := write(t, b.files)
	if answer, latency := strings.Index(text, "<h2 id=\"the-answer-h\">"), strings.Index(text, "<h2 id=\"latency"); answer < 0 || latency < answer {
		t.Errorf("the answer is at %d, the latency at %d", answer, latency)
	}
	if text := write(t, []File{{"r", replayed(8, true)}}); !strings.Contains(text, "No file has lockfree together with") {
		t.Error("a page without an answer does not say so")
	}
}

// With --only the page has these sections, and is as much smaller.
func TestOnly(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, everything(), "answer", "quiet"); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for title, want := range map[string]bool{"The answer": true, "Queue time of quiet tenants": true, "Latency by percentile": false, "Throughput": false, "Environment and commands": true} {
		if strings.Contains(text, ">"+title+"</h2>") != want {
			t.Errorf("%s: want %t", title, want)
		}
	}
	if err := Write(&b, nil, "speed"); err == nil || err.Error() != `unknown section "speed"; there are answer, latency, throughput, service, quiet` {
		t.Error(err)
	}
}

package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

func TestSweepTable(t *testing.T) {
	cs := cells(scenario.All()[0])[:1]
	cs[0].Point = &suite.Point{GOMAXPROCS: 16}
	cs[0].Scenario.Shards = 32
	cs[0].Errors = []string{"round 2: it broke"}
	r := &sweep.Report{Plan: sweep.Plan{Rounds: 3, Duration: time.Second}, Cells: cs}
	var b bytes.Buffer
	Sweep(&b, r)
	for _, want := range []string{"no work 44.0M 1.33x 33.0M 1.00x ", "   16 ", " 32 ", "lockfree  baseline-1", "FAILED, contended, no work: round 2: it broke", "3 rounds of 1s"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
	cs = opened(scenario.All()[0], func(run int, o *load.Open) {
		if run == 3 { // of lockfree
			o.Behind = load.BehindGenerator
		}
	})[:1]
	cs[0].Point = &suite.Point{GOMAXPROCS: 2}
	b.Reset()
	Sweep(&b, &sweep.Report{Cells: cs})
	for _, want := range []string{"123.5k/s constant", "12.3ms* ", " 12.3ms ", "from the intended start", "default"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
	b.Reset()
	if Sweep(&b, &sweep.Report{}); b.Len() > 0 {
		t.Errorf("a table of nothing: %s", &b)
	}
}

// The estimate is of what this session has to do, not of what an earlier one has
// done.
func TestSweepProgress(t *testing.T) {
	plan := sweep.Plan{
		Scenarios: []string{"contended"}, Cores: []int{1, 2, 3, 4}, Contestants: []string{contest.Channel, contest.Lockfree}, Rounds: 5, Duration: time.Second,
	}
	steps, err := plan.Steps()
	if err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	p := NewSweepProgress(&w, steps, 3)
	if p.Left() != 10 || Estimate(10, &plan) != 10*time.Second {
		t.Errorf("%d runs left, %v", p.Left(), Estimate(10, &plan))
	}
	cell := &suite.Cell{Scenario: scenario.All()[0], Point: &suite.Point{GOMAXPROCS: 4}}
	for i := range 5 {
		p.Before(3, i, cell, contest.Channel)
	}
	cell.Scenario.Shards = 2
	p.Before(3, 0, cell, contest.Channel)
	p.Clear()
	want := "[  0%] 4/4: contended on 4, 8+8 t64, no work\n[ 50%] 4/4: contended on 4, 8+8 t64 s2, no work, "
	if !strings.HasPrefix(w.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", &w, want)
	}
}

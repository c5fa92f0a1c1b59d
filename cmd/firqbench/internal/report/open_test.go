package report

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// opened makes open loops of cells.
func opened(s scenario.Scenario, change func(run int, o *load.Open)) []suite.Cell {
	cs := cells(s)
	for i := range cs {
		cs[i].Variant = suite.Variant{Work: cs[i].Variant.Work, Rate: 123_456, Arrivals: arrivals.Constant}
		for j := range cs[i].Runs {
			l := cs[i].Runs[j].Queue
			o := &load.Open{Offered: 123e3, Sent: 123e3, Enqueue: l, Queue: l, Lag: load.Latency{Samples: 1, Mean: 123}, Held: l}
			if change != nil {
				change(j, o)
			}
			cs[i].Runs[j].Open = o
		}
	}
	return cs
}

func TestOpenTable(t *testing.T) {
	for _, s := range scenario.All() {
		if !s.CanOpen() {
			continue
		}
		var b bytes.Buffer
		Scenario(&b, opened(s, nil), []string{contest.Lockfree, contest.OneLock, contest.Sharded, contest.Channel})
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 120 {
				t.Errorf("%s: %d columns: %s", s.Name, n, line)
			}
		}
		for _, want := range []string{"offered", "sent", "123.5k/s constant, consumers work", "lockfree", "(open loop, "} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", s.Name, want, &b)
			}
		}
		if strings.Contains(b.String(), "NOTE") || strings.Contains(b.String(), "closed") || strings.Contains(b.String(), "under way") {
			t.Errorf("%s: something is wrong in\n%s", s.Name, &b)
		}
	}
}

// What latencies are worth is said under the table.
func TestOpenNotes(t *testing.T) {
	for _, c := range []struct {
		change func(run int, o *load.Open)
		want   string
	}{
		{func(run int, o *load.Open) { // the runs of the channel are 0, 4 and 8
			if run == 4 {
				o.Behind = load.BehindGenerator
			}
		}, "channel: in 1 of 3 runs THE LOAD GENERATOR COULD NOT KEEP UP"},
		{func(_ int, o *load.Open) { o.Behind = load.BehindContestant }, "lockfree: in 3 of 3 runs its calls held the producers up"},
		{func(_ int, o *load.Open) { o.Queue.Mean, o.Lag.Mean = 100, 75 }, "lockfree: 75% of the mean queue time is lateness of the load generator"},
		{func(_ int, o *load.Open) { o.Unsent, o.Hurried = 2, 1 }, "(6 tasks never sent, 3 drained)"},
	} {
		var b bytes.Buffer
		Scenario(&b, opened(scenario.All()[0], c.change), nil)
		if !strings.Contains(b.String(), c.want) || !strings.Contains(b.String(), "NOTE, 123.5k/s constant") {
			t.Errorf("%q is missing in\n%s", c.want, &b)
		}
	}
}

func TestOpenLegend(t *testing.T) {
	var b bytes.Buffer
	OpenLegend(&b, &suite.Plan{Rounds: 3, Measure: time.Second})
	if !strings.Contains(b.String(), "median of 3 rounds of 1s") {
		t.Errorf("got\n%s", &b)
	}
}

// Printf writes what could move the cursor in words; the legends' own line ends are none of that.
func TestLegendLines(t *testing.T) {
	for _, legend := range []func(io.Writer, *suite.Plan){Legend, OpenLegend} {
		var b strings.Builder
		legend(&b, &suite.Plan{Rounds: 3, Measure: time.Second})
		for line := range strings.Lines(b.String()) {
			if strings.Contains(line, `\n`) || len(line) > 110 {
				t.Errorf("a line of the legend: %s", line)
			}
		}
	}
}

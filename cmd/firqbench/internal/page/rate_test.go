package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// The knee is where the p99 has grown to more than three times what it was, for good.
func TestKnee(t *testing.T) {
	for _, c := range []struct {
		ys   []float64
		want int
	}{
		{[]float64{10, 20, 30}, 0}, {[]float64{10, 31}, 1}, {[]float64{10, 20, 31, 400}, 2}, {[]float64{10, 400, 20, 400}, 3}, {[]float64{10, 400, 20}, 0}, {[]float64{10}, 0},
	} {
		var ps []chart.Point
		for i, y := range c.ys {
			ps = append(ps, chart.Point{X: float64(i), Y: y})
		}
		if got := knee(ps); got != c.want {
			t.Errorf("%v: knee at %d, want %d", c.ys, got, c.want)
		}
	}
}

// The chart marks each contestant's knee between two rates, says where it is, and says so
// where there is none. A point is the median of the rounds.
func TestRate(t *testing.T) {
	f := &report.File{Schema: report.Schema, Run: &report.RunSection{}}
	for _, at := range []struct {
		rate      float64
		one, none time.Duration
	}{{80_000, 400, 60}, {20_000, 20, 30}, {40_000, 40, 40}} { // in no order
		c := suite.Cell{Scenario: scenario.Scenario{Name: "contended"}, Variant: suite.Variant{Rate: at.rate, Arrivals: "poisson"}}
		for round := range 3 {
			for name, p99 := range map[string]time.Duration{"lockfree": at.none, "baseline-1": at.one} {
				p99 *= time.Microsecond * time.Duration(1+10*(round/2)) // the third is disturbed
				open := &load.Open{Queue: load.Latency{Samples: 9, P99: p99}}
				if at.rate > 50_000 && round == 2 {
					open.Behind = load.BehindGenerator
				}
				c.Runs = append(c.Runs, suite.Run{Contestant: name, Round: round, Result: load.Result{Open: open}})
			}
		}
		slices.SortStableFunc(c.Runs, func(a, b suite.Run) int { return strings.Compare(a.Contestant, b.Contestant) })
		f.Run.Cells = append(f.Run.Cells, c)
	}
	text := write(t, []File{{"r.json", f}})
	c := find(t, charts(text), "contended: queue time by rate, 99th percentile, poisson arrivals")
	if want := "Knee: baseline-1 between 40k/s and 80k/s; lockfree has no knee up to 80k/s. " +
		"The load generator could not keep up in 2 of 6 runs at 80k/s: the latencies of those are its own. From r.json."; c.note != want {
		t.Errorf("%q, want %q", c.note, want)
	}
	if got := strings.Join(c.rows[2], " "); got != "80k 400µs 60µs" {
		t.Errorf("%q", got)
	}
	if n := strings.Count(text, `class="span"`); n != 1 {
		t.Errorf("%d knees are marked", n)
	}
	if !strings.Contains(write(t, everything()[:1]), "No file has a scenario at two rates or more") {
		t.Error("a page without rates does not say so")
	}
}

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// A busy machine is named before the plan and under the tables; a quiet one is not, nor is one
// that a scenario keeps busy on purpose.
func TestBusy(t *testing.T) {
	cell := func(others ...float64) suite.Cell {
		c := suite.Cell{Scenario: scenario.Scenario{Name: "s"}, Point: &suite.Point{}}
		for _, x := range others {
			c.Runs = append(c.Runs, suite.Run{Contestant: "lockfree", Others: x})
		}
		return c
	}
	neighbour := cell(0.5)
	neighbour.Scenario.Neighbour = true
	for _, c := range []struct {
		what string
		say  func(b *bytes.Buffer)
		want string
	}{
		{"busy before", func(b *bytes.Buffer) { Busy(b, 0.45) }, "WARNING: other programs use 45% of"},
		{"quiet before", func(b *bytes.Buffer) { Busy(b, 0.09) }, ""},
		{"busy runs", func(b *bytes.Buffer) { during(b, othersOf([]suite.Cell{cell(0.1, 0.3), cell(0.2)})) }, "WARNING: other programs used 20% of"},
		{"one run of many", func(b *bytes.Buffer) { during(b, othersOf([]suite.Cell{cell(0.3, 0, 0, 0)})) }, ""},
		{"no runs", func(b *bytes.Buffer) { during(b, othersOf([]suite.Cell{cell()})) }, ""},
		{"a sweep", func(b *bytes.Buffer) {
			var all bytes.Buffer
			Sweep(&all, &sweep.Report{Cells: []suite.Cell{neighbour, cell(0.2)}})
			b.WriteString(all.String()[max(0, strings.Index(all.String(), "WARNING")):])
		}, "WARNING: other programs used 20% of"},
		{"a neighbour", func(b *bytes.Buffer) { during(b, othersOf([]suite.Cell{neighbour})) }, ""},
	} {
		var b bytes.Buffer
		c.say(&b)
		if got := b.String(); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

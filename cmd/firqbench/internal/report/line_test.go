package report

import (
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func TestCacheLine(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells [][]float64
		want  string
	}{
		{"no run knows", [][]float64{{0, 0}, {}}, ""},
		{"all alike", [][]float64{{30, 0, 26}, {34}}, "cache line 30ns (26ns to 34ns)\n"},
		{"the machine was moved", [][]float64{{30, 180}, {90, 91, 200}}, "cache line 91ns (30ns to 200ns); 3 of 5 runs began while it was more than 3 times the minimum\n"},
	} {
		var cells []suite.Cell
		for _, took := range c.cells {
			cell := suite.Cell{}
			for _, ns := range took {
				cell.Runs = append(cell.Runs, suite.Run{CacheLine: ns})
			}
			cells = append(cells, cell)
		}
		var b strings.Builder
		if cacheLine(&b, cells); b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}

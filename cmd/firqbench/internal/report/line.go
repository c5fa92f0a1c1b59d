package report

import (
	"io"
	"slices"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

const lineLegend = `  cache line  time to move a cache line between two processors, measured just before each run. Where it
            differs much, as in a virtual machine that is moved, those runs do not compare.
`

// apart is how many times the least is a difference: caches that are shared and ones that
// are not are further apart, and single measurements of one kind are not.
const apart = 3

// cacheLine writes how long a cache line took before the runs; nothing where no run knows.
func cacheLine(w io.Writer, cells []suite.Cell) {
	var took []float64
	for _, c := range cells {
		for _, r := range c.Runs {
			if r.CacheLine > 0 {
				took = append(took, r.CacheLine)
			}
		}
	}
	if len(took) == 0 {
		return
	}
	ns := func(x float64) string { return Duration(time.Duration(x)) }
	least, most := slices.Min(took), slices.Max(took)
	Printf(w, "cache line %s (%s to %s)", ns(stats.Median(took)), ns(least), ns(most))
	far := 0
	for _, x := range took {
		if x > apart*least {
			far++
		}
	}
	if far > 0 {
		Printf(w, "; %d of %d runs began while it was more than %d times the minimum", far, len(took), apart)
	}
	Printf(w, "\n")
}

package report

import (
	"io"

	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

// Busy says before a plan that the machine is not alone with the benchmark; others is the part
// of its processor time that other programs have just used. The load average is no sign of that:
// for minutes it holds what the compiler used, whose "go run" is the usual way to begin.
func Busy(w io.Writer, others float64) {
	if others >= usage.Busy {
		Printf(w, "WARNING: other programs use %s of this machine's processor time. All figures below are of a busy\n"+
			"machine, and contestants suffer from that differently. Close other programs and run it again.\n\n", Percent(others))
	}
}

// Others returns the part of the machine's processor time that other programs used while the
// file was measured.
func (f *File) Others() float64 {
	if f.Replay != nil {
		return othersOfReplay(f.Replay.Results)
	}
	return othersOf(f.Cells())
}

// othersOf returns the mean over the runs: of a single one of a tenth of a second the kernel's
// counters say little.
func othersOf(cells []suite.Cell) float64 {
	sum, n := 0.0, 0
	for _, c := range cells {
		if c.Scenario.Neighbour {
			continue // busy on purpose
		}
		for _, r := range c.Runs {
			sum += r.Others
			n++
		}
	}
	return sum / float64(max(n, 1))
}

func othersOfReplay(results []replay.Result) (most float64) {
	for _, r := range results {
		most = max(most, r.Others)
	}
	return most
}

// during says under a table which part of the processors other programs used while it was measured.
func during(w io.Writer, others float64) {
	if others >= usage.Busy {
		Printf(w, "WARNING: other programs used %s of this machine's processor time during these runs\n", Percent(others))
	}
}

package report

import (
	"io"

	"github.com/firq-go/firq/internal/bench/suite"
	"github.com/firq-go/firq/internal/bench/usage"
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

// busyDuring says under a table that other programs ran meanwhile. The mean over the runs counts:
// of a single one of a tenth of a second the kernel's counters say little.
func busyDuring(w io.Writer, cells []suite.Cell) {
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
	if n > 0 {
		during(w, sum/float64(n))
	}
}

func during(w io.Writer, others float64) {
	if others >= usage.Busy {
		Printf(w, "WARNING: other programs used %s of this machine's processor time during these runs\n", Percent(others))
	}
}

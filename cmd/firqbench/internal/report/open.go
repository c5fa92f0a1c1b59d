package report

import (
	"fmt"
	"io"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// openColumns are those of a scenario that runs as an open loop: rates that were
// offered, sent and delivered, and latencies from the intended start.
func openColumns(s scenario.Scenario) []column {
	enqueue := func(s *suite.Summary) *load.Latency { return &s.Open.Enqueue }
	queue := func(s *suite.Summary) *load.Latency { return &s.Open.Queue }
	lag := func(s *suite.Summary) *load.Latency { return &s.Open.Lag }
	mean := func(l *load.Latency) time.Duration { return l.Mean }
	all := s.Focus == "" && !s.Reject && !s.Deadlines() // else the line would be too long; the rest is in the file
	columns := []column{
		{"", "", func(s *suite.Summary) string { return " " + s.Contestant }},
		{"tasks/s", "offered", func(s *suite.Summary) string { return Count(s.Open.Offered) }},
		{"tasks/s", "sent", func(s *suite.Summary) string { return Count(s.Open.Sent) }},
		{"tasks/s", "deliv.", func(s *suite.Summary) string { return Count(s.Rate) }},
	}
	if s.Life == 0 {
		columns = append(columns, column{"enqueued", "p50", latency(enqueue, p50)})
	}
	columns = append(columns, column{"enqueued", "p99", latency(enqueue, p99)})
	if s.Life == 0 {
		columns = append(columns, column{"enqueued", "p99.9", latency(enqueue, p999)})
	}
	columns = append(columns, column{"queue time", "p50", latency(queue, p50)})
	if all {
		columns = append(columns, column{"queue time", "p95", latency(queue, p95)})
	}
	columns = append(columns, column{"queue time", "p99", latency(queue, p99)})
	if s.Life == 0 {
		columns = append(columns, column{"queue time", "p99.9", latency(queue, p999)})
	}
	columns = append(columns,
		column{"generator", "late", latency(lag, mean)},
		column{"generator", "part", func(s *suite.Summary) string { return Percent(s.Open.GeneratorShare) }})
	columns = append(columns, focusColumns(s)...)
	if s.Reject {
		columns = append(columns, column{"re-", "ject", func(s *suite.Summary) string { return Percent(s.Rejected) }})
	}
	if s.Deadlines() {
		columns = append(columns, column{"ex-", "pire", func(s *suite.Summary) string { return Percent(s.Expired) }})
	}
	return columns
}

// openNotes says under a table where latencies are not what they seem.
func openNotes(w io.Writer, cell *suite.Cell, lines []suite.Summary) {
	for _, l := range lines {
		o := l.Open
		if o == nil {
			continue
		}
		note := func(format string, args ...any) {
			Printf(w, "NOTE, %s, %s: %s\n", cell.Label(), l.Contestant, fmt.Sprintf(format, args...))
		}
		if n := o.Behind[load.BehindGenerator]; n > 0 {
			note("in %d of %d runs THE LOAD GENERATOR COULD NOT KEEP UP; latencies are those of the generator", n, l.Rounds)
		}
		if n := o.Behind[load.BehindContestant]; n > 0 {
			note("in %d of %d runs its calls held the producers up: it cannot take this rate", n, l.Rounds)
		}
		if o.GeneratorShare > 0.5 && o.Behind[load.BehindGenerator] == 0 {
			note("%s of the mean queue time is lateness of the load generator, not of the queue", Percent(o.GeneratorShare))
		}
		if o.Unsent+o.Hurried > 0 {
			note("the backlog was not served in time (%d tasks never sent, %d drained): latencies would be higher", o.Unsent, o.Hurried)
		}
	}
}

// OpenLegend explains the tables of open loops.
func OpenLegend(w io.Writer, p *suite.Plan) {
	Printf(w, `How to read the tables
  Open loop: tasks come by a schedule (--rate, --arrivals), whatever became of those before, and all
  latencies count from when a task was to be sent, whenever that was (no coordinated omission).
  Each figure is the median of %d rounds of %v after %v of warm-up.
  tasks/s   offered: due in the measured window; sent: of them, sent in it; deliv.: delivered in it.
  enqueued  from the intended start to the end of the enqueue call.
  queue time from the intended start to the delivery, of every task that was due in the window.
  quiet     the same of all tenants but the hot ones; crit.: of the tasks of critical priority.
  generator late: how late the load generator's own slowness made a task, in the mean, as opposed to
            calls before that took long; part: of the mean queue time. Where the part is large, or
            less was sent than offered through the generator's fault, latencies are the generator's.
`+costLegend+lineLegend+`  Only consumers work between two tasks (--work); producers do nothing but send, on time.
`, p.Rounds, p.Measure, p.Warmup)
}

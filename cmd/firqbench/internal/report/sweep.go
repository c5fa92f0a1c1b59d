package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// Sweep writes what a sweep has measured: a line per cell, a column per
// contestant.
func Sweep(w io.Writer, r *sweep.Report) {
	if len(r.Cells) == 0 {
		return
	}
	var names []string
	for _, c := range r.Cells {
		for _, run := range c.Runs {
			if !slices.Contains(names, run.Contestant) {
				names = append(names, run.Contestant)
			}
		}
	}
	order(names)
	t := NewTable()
	head := table.Row{"scenario", "cores", "prod.", "cons.", "tenants", "shards", "batch", "part"}
	var configs []table.ColumnConfig
	for i := 2; i <= 7; i++ {
		configs = append(configs, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	for _, name := range names {
		head = append(head, name)
		configs = append(configs, table.ColumnConfig{Number: len(head), Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(head)
	open := false
	for i := range r.Cells {
		t.AppendRow(sweepRow(&r.Cells[i], names, sweepValue))
		open = open || r.Cells[i].Variant.Rate > 0
	}
	Print(w, t.Render()+"\n\n")
	sweepCosts(w, r, names, head, configs)
	what := "tasks/s, and how many times those of " + contest.Reference + " round by round"
	if open {
		what = "queue time p99 from the intended start; *: the producers did not keep up"
	}
	during(w, othersOf(r.Cells))
	Printf(w, "%s; medians of %d rounds of %v.\nCompare within a line: what is in different lines ran at different times.\n", what, r.Plan.Rounds, r.Plan.Duration)
	for _, c := range r.Cells {
		for _, e := range c.Errors {
			Printf(w, "FAILED, %s, %s: %s\n", c.Scenario.Name, c.Label(), oneLine(e))
		}
	}
}

// sweepCosts writes what a task takes, as Sweep does what was measured.
func sweepCosts(w io.Writer, r *sweep.Report, names []string, head table.Row, configs []table.ColumnConfig) {
	t := NewTable()
	t.SetColumnConfigs(configs)
	t.AppendHeader(head)
	for i := range r.Cells {
		t.AppendRow(sweepRow(&r.Cells[i], names, sweepCost))
	}
	Print(w, t.Render()+"\n\n")
	Printf(w, "What a task takes: processor time of the whole process, context switches, allocations.\n")
}

func sweepCost(l *suite.Summary) string {
	if l.Paced || l.CPU == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %s %s", Duration(time.Duration(l.CPU)), Switches(l.Switches), PerTask(l.Allocs))
}

func sweepRow(c *suite.Cell, names []string, value func(*suite.Summary) string) table.Row {
	s := &c.Scenario
	shards := "default"
	if s.Shards > 0 {
		shards = strconv.Itoa(s.Shards)
	}
	row := table.Row{s.Name, c.Point.GOMAXPROCS, s.Producers, s.Consumers, s.Tenants, shards, s.Batch, c.Label()}
	lines := c.Summarize(contest.Reference)
	for _, name := range names {
		i := slices.IndexFunc(lines, func(l suite.Summary) bool { return l.Contestant == name })
		if i < 0 {
			row = append(row, "-")
			continue
		}
		row = append(row, value(&lines[i]))
	}
	return row
}

func sweepValue(l *suite.Summary) string {
	switch {
	case l.Open != nil && len(l.Open.Behind) > 0:
		return Duration(l.Open.Queue.P99) + "*"
	case l.Open != nil:
		return Duration(l.Open.Queue.P99)
	case l.Paced:
		return Duration(l.Queue.P50)
	}
	return fmt.Sprintf("%s %s", Count(l.Rate), ratio(l.Ratio.Median)+"x")
}

// order sorts contestants as other tables have them.
func order(names []string) {
	var all []string
	for _, c := range contest.ForRun() {
		all = append(all, c.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
}

// SweepProgress shows how far a sweep has come, with an estimate of the time left
// from the runs of this session. It draws only between runs.
type SweepProgress struct {
	p     *Progress
	steps []sweep.Step
	first int // step that this session begins with
	done  int
	total int
}

// NewSweepProgress returns the progress on w of a sweep that has done some of its
// steps already.
func NewSweepProgress(w io.Writer, steps []sweep.Step, done int) *SweepProgress {
	s := &SweepProgress{p: NewProgress(io.Discard, w, nil), steps: steps, first: done}
	s.total = s.Left()
	return s
}

// Left returns how many runs are left when the session begins.
func (s *SweepProgress) Left() (runs int) {
	for i := s.first; i < len(s.steps); i++ {
		runs += s.steps[i].Runs()
	}
	return runs
}

// Before is a sweep.Observer.
func (s *SweepProgress) Before(step, round int, cell *suite.Cell, contestant string) {
	c := &cell.Scenario
	shards := ""
	if c.Shards > 0 {
		shards = fmt.Sprintf(" s%d", c.Shards)
	}
	s.p.title = fmt.Sprintf("%d/%d: %s on %d, %d+%d t%d%s, %s", step+1, len(s.steps), c.Name, cell.Point.GOMAXPROCS,
		c.Producers, c.Consumers, c.Tenants, shards, cell.Label())
	s.p.Before(s.done, s.total, cell, contestant, round)
	s.done++
}

// Clear takes the bar off the screen.
func (s *SweepProgress) Clear() { s.p.Clear() }

// Estimate returns about how long n runs take.
func Estimate(runs int, p *sweep.Plan) time.Duration {
	return (&suite.Plan{Warmup: p.Warmup, Measure: p.Duration}).EstimateOf(runs)
}

package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Scenario writes a scenario's table: a part per variant, a line per contestant.
// order is the order of the lines.
func Scenario(w io.Writer, cells []suite.Cell, order []string) {
	s := cells[0].Scenario
	Printf(w, "%s: %s\n(%s)\n", s.Name, s.About, cellFacts(&cells[0]))
	t := NewTable()
	columns := columnsOf(s)
	if cells[0].Variant.Rate > 0 {
		columns = openColumns(s)
	}
	var groups, heads table.Row
	configs := make([]table.ColumnConfig, len(columns))
	members := map[string]int{}
	for _, c := range columns {
		members[c.group]++
	}
	for i, c := range columns {
		groups, heads = append(groups, c.group), append(heads, c.head)
		// A group as wide as its columns together at most: the library divides by zero
		// where a wider one is to be spread over columns of which none is to grow.
		least := (len(c.group) + members[c.group] - 1) / members[c.group]
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight, WidthMin: least}
	}
	configs[0].Align = text.AlignLeft
	t.SetColumnConfigs(configs)
	t.AppendHeader(groups, table.RowConfig{AutoMerge: true, AutoMergeAlign: text.AlignRight})
	t.AppendHeader(heads)
	for i, cell := range cells {
		if i > 0 {
			t.AppendSeparator()
		}
		appendCell(t, cell, columns, order)
	}
	Print(w, t.Render()+"\n")
	costs(w, cells, order)
	cacheLine(w, cells)
	during(w, othersOf(cells))
	for _, cell := range cells {
		openNotes(w, &cell, cell.Summarize(contest.Reference))
		for _, e := range cell.Errors {
			Printf(w, "FAILED, %s: %s\n", cell.Label(), oneLine(e))
		}
	}
	Printf(w, "\n")
}

// appendCell adds a variant's label and its lines.
func appendCell(t table.Writer, cell suite.Cell, columns []column, order []string) {
	t.AppendRow(table.Row{cell.Label()})
	lines := cell.Summarize(contest.Reference)
	slices.SortStableFunc(lines, func(a, b suite.Summary) int {
		return cmp.Compare(slices.Index(order, a.Contestant), slices.Index(order, b.Contestant))
	})
	for i := range lines {
		var r table.Row
		for _, c := range columns {
			r = append(r, c.value(&lines[i]))
		}
		t.AppendRow(r)
	}
}

// cellFacts says what was run, overrides included.
func cellFacts(c *suite.Cell) string {
	s := c.Scenario
	if c.Variant.Rate > 0 { // the variants say how much is offered
		s.Overload, s.Window, s.QuietRate = 0, 0, 0
		return strings.Replace(facts(s), "closed loop", "open loop", 1)
	}
	return facts(s)
}

// facts says what was run, overrides included.
func facts(s scenario.Scenario) string {
	parts := []string{"closed loop"}
	if s.Overload > 0 {
		parts[0] = fmt.Sprintf("open loop, %gx what can be served", s.Overload)
	}
	if s.Shape == scenario.Flow {
		parts = append(parts, fmt.Sprintf("%d producers, %d consumers", s.Producers, s.Consumers))
	}
	if s.Tenants > 1 {
		parts = append(parts, fmt.Sprintf("%d tenants", s.Tenants))
	}
	if s.Skew > 0 {
		parts = append(parts, fmt.Sprintf("skew %g", s.Skew))
	}
	if s.QuietRate > 0 {
		parts = append(parts, fmt.Sprintf("%s of the quiet tenants", arrivals.FormatRate(s.QuietRate)))
	}
	if s.Batch > 1 {
		parts = append(parts, fmt.Sprintf("batches of %d", s.Batch))
	}
	switch {
	case s.Shards == 1:
		parts = append(parts, "1 shard")
	case s.Shards > 1:
		parts = append(parts, fmt.Sprintf("%d shards", s.Shards))
	}
	if s.Life > 0 {
		parts = append(parts, fmt.Sprintf("tasks live %v", s.Life))
	}
	if s.Capacity > 0 {
		parts = append(parts, fmt.Sprintf("capacity %d", s.Capacity))
	}
	if s.Shape == scenario.Flow && !s.Reject && s.Window > 0 {
		parts = append(parts, fmt.Sprintf("about %d tasks under way", s.Window))
	}
	return strings.Join(parts, ", ")
}

// column is one column of a scenario's table.
type column struct {
	group, head string // two lines of header
	value       func(*suite.Summary) string
}

func latency(of func(*suite.Summary) *load.Latency, d func(*load.Latency) time.Duration) func(*suite.Summary) string {
	return func(s *suite.Summary) string {
		l := of(s)
		if l == nil || l.Samples == 0 {
			return "-"
		}
		return Duration(d(l))
	}
}

func p50(l *load.Latency) time.Duration  { return l.P50 }
func p95(l *load.Latency) time.Duration  { return l.P95 }
func p99(l *load.Latency) time.Duration  { return l.P99 }
func p999(l *load.Latency) time.Duration { return l.P999 }

// focusColumns are about the tasks of Scenario.Focus, and about deadlines.
func focusColumns(s scenario.Scenario) (columns []column) {
	if s.Focus != "" {
		short := map[string]string{scenario.FocusQuiet: "quiet", scenario.FocusCritical: "crit."}[s.Focus]
		columns = append(columns, column{short, "p99", latency(func(s *suite.Summary) *load.Latency { return s.Focus }, p99)})
	}
	if s.Life > 0 {
		columns = append(columns, column{"good", "put/s", func(s *suite.Summary) string { return Count(s.Goodput) }})
	}
	return columns
}

func columnsOf(s scenario.Scenario) []column {
	call := func(s *suite.Summary) *load.Latency { return &s.Enqueue }
	queue := func(s *suite.Summary) *load.Latency { return &s.Queue }
	rate := func(l *suite.Summary) string {
		if l.Paced {
			return "-"
		}
		return Count(l.Rate)
	}
	columns := []column{
		{"", "", func(s *suite.Summary) string { return " " + s.Contestant }},
		{"", "tasks/s", rate},
		{"vs 1 lock", "x", func(s *suite.Summary) string { return ratio(s.Ratio.Median) }},
		{"vs 1 lock", "95%", func(s *suite.Summary) string { return between(s.Ratio) }},
	}
	simple := func(s *suite.Summary) string { return ratio(s.ToSimple.Median) }
	if s.Life > 0 { // the line is full; all figures are in the file
		columns = append(columns, column{"vs", "simple", simple}, column{"enq.", "p99", latency(call, p99)})
	} else {
		columns = append(columns, column{"vs simple", "x", simple},
			column{"vs simple", "95%", func(s *suite.Summary) string { return between(s.ToSimple) }},
			column{"enqueue call", "p50", latency(call, p50)}, column{"enqueue call", "p99", latency(call, p99)})
	}
	if !s.Reject {
		columns = append(columns, column{"enqueue call", "p99.9", latency(call, p999)})
	}
	columns = append(columns, []column{
		{"queue time", "p50", latency(queue, p50)},
		{"queue time", "p99", latency(queue, p99)},
		{"", "queued", func(s *suite.Summary) string { return Count(s.Backlog) }},
	}...)
	columns = append(columns, focusColumns(s)...)
	if s.Reject {
		columns = append(columns, column{"rej.", "call", latency(func(s *suite.Summary) *load.Latency { return s.Refusal }, p50)},
			column{"re-", "ject", func(s *suite.Summary) string { return Percent(s.Rejected) }})
	}
	if s.Deadlines() {
		columns = append(columns, column{"ex-", "pire", func(s *suite.Summary) string { return Percent(s.Expired) }})
	}
	return append(columns, column{"", "Jain", func(s *suite.Summary) string { return number(s.Jain, "%.3f") }})
}

// NewTable returns a table in the style of all reports. Cells that are strings are
// made printable; the columns that are given by SetColumnConfigs go by them.
func NewTable() table.Writer {
	t := printableTable{table.NewWriter()}
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options.SeparateColumns = false
	style.Options.DrawBorder = false
	style.Box.PaddingLeft, style.Box.PaddingRight = "", " "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

// Legend explains the tables.
func Legend(w io.Writer, p *suite.Plan) {
	Printf(w, `How to read the tables
  Each figure is the median of %d rounds of %v after %v of warm-up; the contestants alternate.
  tasks/s   delivered to consumers in the measured window.
  vs 1 lock tasks/s over those of %s: the median of the ratios round by round, and the range that
            holds the true median with a confidence of %s (order statistics of the rounds of this
            run; another run on another day may lie elsewhere). A range with 1 in it shows no difference.
  vs simple the same over those of %s.
  enqueue   how long an enqueue call takes; 1 call in %d is timed (all in ping_pong),
            and what is timed includes one read of the clock, here %v.
  queue time from enqueue to delivery, every task. All loops but overload's are closed: producers wait
            while many tasks are under way, so this says what a full pipe looks like, not what clients
            see that come at a steady rate (--rate and "firqbench replay" do).
  queued    tasks in the queue, on average. Queue times of contestants that keep different numbers
            of tasks queued do not compare: --rate gives all the same load.
  quiet     queue time of all tenants but the hot ones; crit.: of the tasks of critical priority.
  goodput/s tasks delivered before their deadline, by the clock of the consumer that got them.
  rej. call how long an enqueue call takes that is rejected: the median of those that were timed.
  reject    part of the offered tasks; expire: part of the accepted ones.
`+costLegend+lineLegend+`  Jain      fairness index by delivered cost, 1 is best: over up to 1,000 tenants, all with work queued
            throughout, offered in the scenario's proportions with costs of 1 to 4; a separate probe
            after the measured window.
  Work is CPU time on each side, a calibrated loop: per task, in batches per call. A consumer that
  does nothing between two calls mostly measures how cache lines move between cores: look at both
  variants.
`, p.Rounds, p.Measure, p.Warmup, contest.Reference, confidence(p.Rounds), contest.Simple, load.SampleEvery, contest.ClockCost())
}

// confidence is that of the intervals of the given number of rounds.
func confidence(rounds int) string {
	return Percent(stats.IntervalOf(make([]float64, rounds)).Confidence)
}

// ratio writes a ratio in at most four characters, or five from 100 on.
func ratio(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// between writes where the median of a ratio lies; "-": one round, or none, says nothing
// about others.
func between(i stats.Interval) string {
	if i.N < 2 {
		return "-"
	}
	return ratio(i.Low) + "-" + ratio(i.High)
}

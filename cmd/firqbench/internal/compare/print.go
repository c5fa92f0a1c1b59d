package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Table writes the comparison for people: for each cell and contestant the rows
// that changed, and the names of the metrics that did not; with all, every row.
func (c *Comparison) Table(w io.Writer, all bool) {
	report.Printf(w, "old: %s\nnew: %s\n", c.Old, c.New)
	for _, warning := range c.Warnings {
		report.Printf(w, "WARNING: %s\n", warning)
	}
	for rest := c.Rows; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].group() == rest[0].group() {
			n++
		}
		c.group(w, rest[:n], all)
		rest = rest[n:]
	}
	counts := make(map[Verdict]int)
	for _, r := range c.Rows {
		counts[r.Verdict]++
	}
	var sums []string
	for _, v := range []Verdict{Regression, Worse, Better, Changed, Differs, Same, TooFew} {
		if counts[v] > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	report.Printf(w, "\n%d comparisons: %s", len(c.Rows), strings.Join(sums, ", "))
	report.Printf(w, `
Medians over the %s, with the range of their 95%% confidence interval (?: needs 6 values). p is that
of the Mann-Whitney test, q is p adjusted for %d comparisons (Benjamini and Hochberg). Significant is
q <= %.3g: of all differences that are called so, at most that part is chance. A regression is
significant and worse by more than %.3g%%.
`, map[string]string{Rounds: "rounds", Series: "series (the median of the rounds of each)"}[c.Unit], len(c.Rows), c.Alpha, 100*c.Threshold)
}

func (r *Row) group() string { return r.Scenario + "\n" + r.Variant + "\n" + r.Contestant }

func (c *Comparison) group(w io.Writer, rows []Row, all bool) {
	report.Printf(w, "\n%s, %s: %s\n", rows[0].Scenario, rows[0].Variant, rows[0].Contestant)
	t := report.NewTable()
	var configs []table.ColumnConfig
	for i := 2; i <= 8; i++ {
		configs = append(configs, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(table.Row{"  ", "old", "±", "new", "±", "change", "p", "q", ""})
	unchanged := map[Verdict][]string{}
	for _, r := range rows {
		if !all && (r.Verdict == Same || r.Verdict == TooFew) {
			unchanged[r.Verdict] = append(unchanged[r.Verdict], r.Metric)
			continue
		}
		t.AppendRow(table.Row{
			"  " + r.Metric, value(r.Kind, r.Old.Median), r.Old.spread(), value(r.Kind, r.New.Median), r.New.spread(),
			r.change(), probability(r.P), probability(r.Q), r.Verdict,
		})
	}
	if t.Length() > 0 {
		report.Print(w, t.Render()+"\n")
	}
	for _, v := range []Verdict{Same, TooFew} {
		if names := unchanged[v]; len(names) > 0 {
			indent := "  "
			for line := range strings.Lines(text.WrapSoft(fmt.Sprintf("%s: %s", v, strings.Join(names, ", ")), 100)) {
				report.Printf(w, "%s%s\n", indent, strings.TrimSpace(line))
				indent = "    "
			}
		}
	}
}

// spread is the range of the confidence interval as a part of the median.
func (s *Side) spread() string {
	switch {
	case s.Low == nil || s.High == nil:
		return "?"
	case s.Median == 0:
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*max(*s.High/s.Median-1, 1-*s.Low/s.Median))
}

func (r *Row) change() string {
	if r.Change == nil {
		return "from 0"
	}
	return fmt.Sprintf("%+.1f%%", 100**r.Change)
}

func probability(p float64) string {
	if p < 0.0005 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// value writes a median in the unit of its kind.
func value(kind string, x float64) string {
	switch metric.Kind(kind) {
	case metric.Rate:
		return report.Count(x) + "/s"
	case metric.Duration:
		return report.Duration(time.Duration(math.Round(x)))
	case metric.PerTask:
		return report.PerTask(x)
	}
	return fmt.Sprintf("%.3g", x)
}

// CSV writes a line per row. Durations are in ns, changes and bounds plain
// numbers; what is unknown is empty.
func (c *Comparison) CSV(w io.Writer) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	maybe := func(x *float64) string {
		if x == nil {
			return ""
		}
		return number(*x)
	}
	out := csv.NewWriter(w)
	lines := [][]string{{
		"scenario", "variant", "contestant", "metric", "kind", "old_runs", "old_median", "old_low", "old_high",
		"new_runs", "new_median", "new_low", "new_high", "change", "p", "q", "verdict",
	}}
	for _, r := range c.Rows {
		lines = append(lines, []string{
			report.Printable(r.Scenario), report.Printable(r.Variant), report.Printable(r.Contestant), r.Metric, r.Kind, strconv.Itoa(r.Old.N), number(r.Old.Median), maybe(r.Old.Low), maybe(r.Old.High),
			strconv.Itoa(r.New.N), number(r.New.Median), maybe(r.New.Low), maybe(r.New.High), maybe(r.Change), number(r.P), number(r.Q), string(r.Verdict),
		})
	}
	return out.WriteAll(lines)
}

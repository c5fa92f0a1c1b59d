package live

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Screen shows views on a terminal, each in the place of the last one; elsewhere
// it writes a line per second and contestant. The last view, that of the whole
// run, is a table on both.
type Screen struct {
	w        io.Writer
	terminal *os.File      // nil where w is none
	lines    int           // that the last view has on the terminal
	said     time.Duration // when the last line was written
}

// NewScreen returns a screen on w.
func NewScreen(w io.Writer) *Screen {
	return &Screen{w: w, terminal: report.Terminal(w)}
}

// Show shows v.
func (s *Screen) Show(v *View) {
	width := 100
	if s.terminal != nil {
		if w, _, err := term.GetSize(int(s.terminal.Fd())); err == nil && w > 0 {
			width = w - 1
		}
	}
	switch {
	case s.terminal != nil:
		var b strings.Builder
		if s.lines > 0 {
			report.Printf(&b, "\x1b[%dA\x1b[J", s.lines) // up to where it began, and clear from there
		}
		shown := Table(v, width)
		s.lines = strings.Count(shown, "\n")
		b.WriteString(shown)
		report.Print(s.w, b.String()) // in one write, so that it does not flicker
	case v.Over:
		report.Print(s.w, Table(v, width))
	case v.At-s.said >= window:
		s.said = v.At
		report.Print(s.w, Lines(v))
	}
}

// Table returns v as a table: a row per figure, a column per contestant; no line
// is wider than the given number of columns.
func Table(v *View, width int) string {
	t := report.NewTable()
	t.Style().Box.PaddingRight = "  "
	t.Style().Size.WidthMax = width
	head := table.Row{fmt.Sprintf("after %v", v.At.Round(100*time.Millisecond))}
	if v.Over {
		head[0] = fmt.Sprintf("whole run, %v", v.At.Round(100*time.Millisecond))
	}
	for _, s := range v.Sides {
		head = append(head, s.Contestant)
	}
	t.AppendHeader(head)
	for _, r := range rows {
		row := table.Row{r.label}
		for i := range v.Sides {
			value := "-"
			if s := &v.Sides[i]; s.Span > 0 {
				value = r.value(s)
			}
			row = append(row, value)
		}
		t.AppendRow(row)
	}
	for i := range topTenants {
		row, some := table.Row{""}, false
		if i == 0 {
			row[0] = "served most"
		}
		for j := range v.Sides {
			cell := ""
			if top := v.Sides[j].Top; i < len(top) {
				cell, some = fmt.Sprintf("%s %s, %s/s", top[i].Name, report.Percent(top[i].Share), report.Count(top[i].Served)), true
			}
			row = append(row, cell)
		}
		if some {
			t.AppendRow(row)
		}
	}
	var b strings.Builder
	report.Printf(&b, "%s\n", cut(v.Scenario+": "+v.About, width))
	report.Print(&b, t.Render()+"\n")
	for _, s := range v.Sides {
		if s.Error != "" {
			report.Printf(&b, "%s\n", cut("FAILED, "+s.Error, width))
		}
	}
	return b.String()
}

// cut leaves out what would not fit into a line.
func cut(line string, width int) string {
	return text.Snip(report.Printable(line), max(1, width), "…")
}

// rows are the figures.
var rows = []struct {
	label string
	value func(*Side) string
}{
	{"tasks/s", func(s *Side) string { return report.Count(s.TasksPerSec) }},
	{"offered/s", func(s *Side) string { return report.Count(s.Offered) }},
	{"rejected/s", func(s *Side) string { return report.Count(s.Rejected) }},
	{"expired/s", func(s *Side) string { return report.Count(s.Expired) }},
	{"queued now", func(s *Side) string {
		if s.Queued < 0 {
			return "?"
		}
		return report.Count(float64(s.Queued))
	}},
	{"enqueue p50, p99, max", func(s *Side) string { return times(&s.Enqueue) }},
	{"queue time p50, p99, max", func(s *Side) string { return times(&s.Queue) }},
	{"fairness (Jain)", func(s *Side) string {
		if s.Fairness.Tenants == 0 {
			return "-"
		}
		return fmt.Sprintf("%.3f of %d tenants", s.Fairness.Jain, s.Fairness.Tenants)
	}},
	{"worst off has of its share", func(s *Side) string {
		if s.Fairness.Tenants == 0 {
			return "-"
		}
		return fmt.Sprintf("%s %s", report.Percent(s.Fairness.Worst), s.Fairness.WorstTenant)
	}},
}

func times(l *load.Latency) string {
	if l.Samples == 0 {
		return "-"
	}
	return report.Duration(l.P50) + " " + report.Duration(l.P99) + " " + report.Duration(l.Max)
}

// Lines returns v as a line per contestant.
func Lines(v *View) string {
	var b strings.Builder
	for i := range v.Sides {
		s := &v.Sides[i]
		if s.Span == 0 {
			continue
		}
		report.Printf(&b, "%6.1fs %-16s", v.At.Seconds(), s.Contestant)
		for j, r := range rows {
			if j > 0 {
				b.WriteString("; ")
			}
			report.Printf(&b, "%s %s", r.label, r.value(s))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

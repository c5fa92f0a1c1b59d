package matrix

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// Markdown writes a table of ratios for each host, a column for each contestant that the
// subject is compared with. A ratio is bold where the subject has lost for certain.
func (m *Matrix) Markdown(w io.Writer, subject string) {
	for i, host := range m.Hosts {
		t, over := m.wide(i)
		if t == nil {
			continue
		}
		head := table.Row{"scenario", "work"}
		for _, name := range over {
			head = append(head, name)
		}
		what := ""
		if len(m.Costs) > 0 {
			head, what = append(head, costHead...), fmt.Sprintf("; then what a task of `%s` takes", subject)
		}
		t.AppendHeader(head)
		report.Printf(w, "%s of `%s`, over that of the contestant in the column%s; %s\n\n", m.Metric, subject, what, host)
		report.Print(w, t.RenderMarkdown())
		report.Printf(w, "\n\n")
	}
}

// wide returns the rows of a host, and the contestants of their columns; nil if it has none.
func (m *Matrix) wide(host int) (t table.Writer, over []string) {
	type place struct{ scenario, variant string }
	cells := map[place]map[string]*stats.Interval{}
	var order []place
	column := map[string]bool{}
	for _, r := range m.Rows {
		if r.Ratios[host] == nil {
			continue
		}
		p := place{r.Scenario, r.Variant}
		if cells[p] == nil {
			cells[p], order = map[string]*stats.Interval{}, append(order, p)
		}
		cells[p][r.Over] = r.Ratios[host]
		if !column[r.Over] {
			column[r.Over], over = true, append(over, r.Over)
		}
	}
	if len(order) == 0 {
		return nil, nil
	}
	t = report.NewTable()
	for _, p := range order {
		row := table.Row{p.scenario, p.variant}
		for _, name := range over {
			text := cell(cells[p][name])
			if i := cells[p][name]; m.lost(i) {
				text = fmt.Sprintf("**%.2f** [%.2f, %.2f]", i.Median, i.Low, i.High)
			}
			row = append(row, text)
		}
		if len(m.Costs) > 0 {
			row = append(row, m.costCells(m.Hosts[host], p.scenario, p.variant)...)
		}
		t.AppendRow(row)
	}
	return t, over
}

// lost reports whether the whole interval is on the worse side of 1.
func (m *Matrix) lost(i *stats.Interval) bool {
	if i == nil || i.N < 2 {
		return false
	}
	return i.High < 1 && !m.lower || i.Low > 1 && m.lower
}

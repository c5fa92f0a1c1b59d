package matrix

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// Table writes the matrix for people.
func (m *Matrix) Table(w io.Writer, subject string) {
	report.Printf(w, "Hosts\n")
	for i, h := range m.Hosts {
		report.Printf(w, "  %c  %s\n", letter(i), h)
	}
	m.ratios(w, subject)
	m.costs(w, subject)
}

// letter stands for a host in the head of a column.
func letter(i int) rune { return 'A' + rune(i%26) }

func (m *Matrix) ratios(w io.Writer, subject string) {
	if len(m.Rows) == 0 {
		report.Printf(w, "\nNo file has runs of %s together with what it is compared with.\n", subject)
		return
	}
	t, configs := report.NewTable(), []table.ColumnConfig(nil)
	head := table.Row{"", "", subject + " over"}
	for i := range m.Hosts {
		head = append(head, string(letter(i)))
		configs = append(configs, table.ColumnConfig{Number: 4 + i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(head)
	for _, r := range m.Rows {
		row := table.Row{r.Scenario, r.Variant, r.Over}
		for _, i := range r.Ratios {
			row = append(row, cell(i))
		}
		t.AppendRow(row)
	}
	report.Printf(w, "\nRatios of %s\n", m.Metric)
	report.Print(w, t.Render())
	report.Printf(w, `

Medians of the ratios round by round; in brackets what holds the true median with 95%% confidence, over
the rounds of one file; over fewer than six files of a host, what the intervals of all of them cover.
`)
}

func cell(i *stats.Interval) string {
	switch {
	case i == nil:
		return "-"
	case i.N < 2:
		return fmt.Sprintf("%.2f", i.Median)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.Median, i.Low, i.High)
}

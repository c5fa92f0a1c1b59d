package matrix

import (
	"fmt"
	"io"
	"math"

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
	m.scaling(w)
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

func (m *Matrix) scaling(w io.Writer) {
	if len(m.Scale) == 0 {
		report.Printf(w, "\nNo sweep over three or more numbers of processors: no law of scaling can be fitted (firqbench sweep --cores 1,2,4).\n")
		return
	}
	t, configs := report.NewTable(), []table.ColumnConfig(nil)
	t.AppendHeader(table.Row{"", "", "", "one processor", "contention", "coherency", "peak", "measured to", "worst fit"})
	for i := 4; i <= 9; i++ {
		configs = append(configs, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for i, h := range m.Hosts {
		t.AppendRow(table.Row{fmt.Sprintf("%c", letter(i))})
		for _, s := range m.Scale {
			if s.Host != h {
				continue
			}
			peak := "none"
			if s.Peak != nil {
				peak = fmt.Sprintf("%.0f", math.Round(*s.Peak))
			}
			t.AppendRow(table.Row{"  " + s.Scenario, s.Variant, s.Contestant,
				fmt.Sprintf("%s/s [%s, %s]", report.Count(s.Lambda), report.Count(s.LambdaIn.Low), report.Count(s.LambdaIn.High)),
				fmt.Sprintf("%.3f [%.3f, %.3f]", s.Alpha, s.AlphaIn.Low, s.AlphaIn.High),
				fmt.Sprintf("%.4f [%.4f, %.4f]", s.Beta, s.BetaIn.Low, s.BetaIn.High),
				peak, s.Most, report.Percent(s.WorstFit)})
		}
	}
	report.Printf(w, "\nScaling with processors\n")
	report.Print(w, t.Render())
	report.Printf(w, `

Gunther's Universal Scalability Law, fitted to the medians of sweeps: tasks/s of one processor, the part
of the work that is done one after another, what each processor costs each other one, and where the
most tasks/s are; in brackets 95%% of what resampled rounds give. Beyond what was measured it is a guess.
`)
}

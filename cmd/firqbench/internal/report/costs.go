package report

import (
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/instructions"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

const costLegend = `  a task takes  of the whole process, the load generator included, per delivered task: processor time,
            context switches of threads, allocations and their bytes; and, where --instructions names
            the file of a count ("firqbench instructions"), instructions on one thread without work.
`

// costColumns are what a task takes of the machine. The first one is the contestant.
func costColumns() []column {
	timed := func(value func(*suite.Summary) string) func(*suite.Summary) string {
		return func(s *suite.Summary) string {
			if s.Paced || s.CPU == 0 { // too few to divide what the driver takes, or unknown
				return "-"
			}
			return value(s)
		}
	}
	counted := func(value func(*suite.Summary) float64) func(*suite.Summary) string {
		return func(s *suite.Summary) string {
			if s.Paced {
				return "-"
			}
			return PerTask(value(s))
		}
	}
	return []column{
		{"", "a task takes", func(s *suite.Summary) string { return " " + s.Contestant }},
		{"", "CPU", timed(func(s *suite.Summary) string { return Duration(time.Duration(s.CPU)) })},
		{"", "switches", timed(func(s *suite.Summary) string { return Switches(s.Switches) })},
		{"", "allocs", counted(func(s *suite.Summary) float64 { return s.Allocs })},
		{"", "bytes", counted(func(s *suite.Summary) float64 { return s.Bytes })},
		{"", "instructions", func(s *suite.Summary) string {
			if s.Paced || s.Instructions == 0 {
				return "-"
			}
			return Count(s.Instructions)
		}},
	}
}

// costs writes what a task takes: a part per variant, a line per contestant.
func costs(w io.Writer, cells []suite.Cell, order []string) {
	t := NewTable()
	columns := costColumns()
	var heads table.Row
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		heads = append(heads, c.head)
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	configs[0].Align, configs[0].AlignHeader = text.AlignLeft, text.AlignLeft
	t.SetColumnConfigs(configs)
	t.AppendHeader(heads)
	for i, cell := range cells {
		if i > 0 {
			t.AppendSeparator()
		}
		appendCell(t, cell, columns, order)
	}
	Print(w, "\n"+t.Render()+"\n")
}

// Instructions writes a count: a line per scenario, a column per contestant.
func Instructions(w io.Writer, s *instructions.Section, names []string) {
	t := NewTable()
	head := table.Row{"instructions/task"}
	var configs []table.ColumnConfig
	for i, name := range names {
		head = append(head, name)
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(head)
	for i := range s.Cells {
		name := s.Cells[i].Scenario.Name
		row := table.Row{name}
		for _, c := range names {
			text := "-"
			if x, ok := s.Median(name, c); ok {
				text = Count(x)
			}
			row = append(row, text)
		}
		t.AppendRow(row)
	}
	Print(w, "\n"+t.Render()+"\n")
	Printf(w, "%s: runs of %d and of %d tasks, their difference divided by %d; medians of %d. The whole process, the load\ngenerator included, one thread at a time, no work between the calls.\n",
		s.Tool, s.Fewer, s.More, s.More-s.Fewer, s.Rounds)
}

package matrix

import (
	"io"
	"math"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Cost is what a task of the subject takes of a host: medians, nil where they were not
// counted. Processor time, switches and allocations are those of the whole process, the load
// generator included; instructions are counted apart (firqbench instructions), without work.
type Cost struct {
	Host         string   `json:"host"`
	Scenario     string   `json:"scenario"`
	Variant      string   `json:"variant"`
	CPU          *float64 `json:"cpu_ns"`
	Switches     *float64 `json:"switches"`
	Allocs       *float64 `json:"allocs"`
	Instructions *float64 `json:"instructions"`
}

// AddCosts adds what a task of the subject takes, by host and row.
func (m *Matrix) AddCosts(files []*report.File, subject string) error {
	ms, err := metric.Choose([]string{"cpu/task", "switches/task", "allocs/task"})
	if err != nil {
		return err
	}
	for _, h := range m.Hosts {
		done := map[string]bool{}
		for _, r := range m.Rows {
			if row := r.Scenario + "\n" + r.Variant; done[row] {
				continue
			} else {
				done[row] = true
			}
			c := Cost{Host: h, Scenario: r.Scenario, Variant: r.Variant}
			for _, of := range ms {
				x := median(files, h, &r, subject, of)
				switch of.Name {
				case "cpu/task":
					c.CPU = x
				case "switches/task":
					c.Switches = x
				default:
					c.Allocs = x
				}
			}
			c.Instructions = instructions(files, h, &r, subject)
			if c.CPU != nil || c.Switches != nil || c.Allocs != nil || c.Instructions != nil {
				m.Costs = append(m.Costs, c)
			}
		}
	}
	return nil
}

// median returns that of the medians of the files of a host; nil: no file has the figure.
func median(files []*report.File, host string, r *Row, subject string, of metric.Metric) *float64 {
	var medians []float64
	for _, f := range files {
		if f.Run == nil || Host(f) != host {
			continue
		}
		for i := range f.Run.Cells {
			if c := &f.Run.Cells[i]; c.Scenario.Name == r.Scenario && c.Label() == r.Variant {
				if xs := figures(c, subject, of); len(xs) > 0 {
					medians = append(medians, stats.Median(xs))
				}
			}
		}
	}
	if len(medians) == 0 {
		return nil
	}
	x := stats.Median(medians)
	return &x
}

func figures(c *suite.Cell, subject string, of metric.Metric) (xs []float64) {
	for i := range c.Runs {
		if c.Runs[i].Contestant == subject {
			if x, ok := of.Of(c, &c.Runs[i]); ok {
				xs = append(xs, x)
			}
		}
	}
	return xs
}

// instructions looks for a count of the same program on the same kind of processor: how many
// there are, and how fast, makes no difference to one thread. What is between two calls is
// not counted, so all parts of a scenario have the same; but one that the driver's pauses pace
// has none.
func instructions(files []*report.File, host string, r *Row, subject string) *float64 {
	for _, f := range files {
		if f.Instructions == nil || !slices.ContainsFunc(files, func(o *report.File) bool {
			return o.Run != nil && Host(o) == host && o.Env.Arch == f.Env.Arch && o.Env.GoVersion == f.Env.GoVersion
		}) {
			continue
		}
		if x, ok := f.Instructions.Median(r.Scenario, subject); ok {
			return &x
		}
	}
	return nil
}

// costHead names the columns that costCells fills.
var costHead = table.Row{"CPU/task", "switches/task", "allocs/task", "instructions/task"}

// costCells are "-" without a count.
func (m *Matrix) costCells(host, scenario, variant string) table.Row {
	cells := table.Row{"-", "-", "-", "-"}
	for i := range m.Costs {
		c := &m.Costs[i]
		if c.Host != host || c.Scenario != scenario || c.Variant != variant {
			continue
		}
		if c.CPU != nil {
			cells[0] = report.Duration(time.Duration(math.Round(*c.CPU)))
		}
		if c.Switches != nil {
			cells[1] = report.Switches(*c.Switches)
		}
		if c.Allocs != nil {
			cells[2] = report.PerTask(*c.Allocs)
		}
		if c.Instructions != nil {
			cells[3] = report.Count(*c.Instructions)
		}
	}
	return cells
}

// costs writes them for people.
func (m *Matrix) costs(w io.Writer, subject string) {
	if len(m.Costs) == 0 {
		return
	}
	report.Printf(w, "\nWhat a task of %s takes\n", subject)
	t := report.NewTable()
	t.AppendHeader(append(table.Row{"host", "scenario", "part"}, costHead...))
	for _, c := range m.Costs {
		host := string(letter(slices.Index(m.Hosts, c.Host)))
		t.AppendRow(append(table.Row{host, c.Scenario, c.Variant}, m.costCells(c.Host, c.Scenario, c.Variant)...))
	}
	report.Print(w, t.Render()+"\n")
	report.Printf(w, "CPU, switches and allocations of the whole process, load generator included; instructions on one\nthread, without work between the calls (firqbench instructions).\n")
}

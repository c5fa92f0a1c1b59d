package model

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// Report is all that the model says.
type Report struct {
	*Calibration
	Errors      Errors       `json:"errors"`
	Predictions []Prediction `json:"predictions"`
}

// Errors are absolute errors, as parts of what was measured.
type Errors struct {
	Fitted  Spread `json:"fitted"` // of the machine
	HeldOut Spread `json:"held_out"`
}

// Spread is the middle and the greatest of N errors.
type Spread struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Worst  float64 `json:"worst"`
}

// Of makes the report of a calibration and what it predicts.
func Of(c *Calibration, ps []Prediction) *Report {
	return &Report{Calibration: c, Predictions: ps, Errors: Errors{Fitted: c.spread(ForMachine), HeldOut: c.spread(HeldOut)}}
}

func (c *Calibration) spread(use Use) (s Spread) {
	var es []float64
	for i := range c.Observations {
		if o := &c.Observations[i]; o.Use == use {
			es = append(es, math.Abs(o.Off()))
		}
	}
	if s.N = len(es); s.N > 0 {
		s.Median, s.Worst = stats.Median(es), slices.Max(es)
	}
	return s
}

// Write prints the report, as Markdown or as text.
func (r *Report) Write(w io.Writer, markdown bool) {
	show := func(title string, t table.Writer) {
		body := t.Render
		if markdown {
			body = t.RenderMarkdown
		}
		report.Printf(w, "%s\n\n", title)
		report.Print(w, body())
		report.Printf(w, "\n\n")
	}
	fitted := 0
	for i := range r.Observations {
		if r.Observations[i].Use != HeldOut {
			fitted++
		}
	}
	show(fmt.Sprintf("Parameters: %d, fitted to %d observations", len(r.Local)+len(knobs), fitted), r.parameters())
	show(fmt.Sprintf("Measured tasks/s, and the model's error. Absolute errors of the %d figures that the machine was fitted to: median %s, "+
		"worst %s; of the %d that were held out: median %s, worst %s",
		r.Errors.Fitted.N, report.Percent(r.Errors.Fitted.Median), report.Percent(r.Errors.Fitted.Worst),
		r.Errors.HeldOut.N, report.Percent(r.Errors.HeldOut.Median), report.Percent(r.Errors.HeldOut.Worst)), r.observations())
	for _, tenants := range r.tenants() {
		show(fmt.Sprintf("Predicted tasks/s, contended without work, %d tenants, by processors", tenants), r.predictions(tenants))
	}
}

// right aligns the columns from one on.
func right(t table.Writer, from, to int) {
	var configs []table.ColumnConfig
	for i := from; i <= to; i++ {
		configs = append(configs, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
}

// signed writes a part of one, as too much or too little.
func signed(part float64) string {
	percent := math.Round(100 * part)
	if percent == 0 {
		return "0%"
	}
	return fmt.Sprintf("%+.0f%%", percent)
}

func nanoseconds(ns float64) string { return report.Duration(time.Duration(math.Round(ns))) }

func (r *Report) parameters() table.Writer {
	t := report.NewTable()
	right(t, 2, 2)
	t.AppendHeader(table.Row{"parameter", "value", "from"})
	for _, a := range r.known() {
		t.AppendRow(table.Row{"local work of " + a.Name + ", per task", nanoseconds(r.Local[a.Name]), r.From})
	}
	for _, k := range knobs {
		t.AppendRow(table.Row{k.name, nanoseconds(*k.of(&r.Machine)), "contended and one_to_one, no work, 2 processors"})
	}
	return t
}

func (r *Report) observations() table.Writer {
	t := report.NewTable()
	var names []string
	head := table.Row{"scenario", "", "processors", "used for"}
	for _, a := range r.known() {
		names, head = append(names, a.Name), append(head, a.Name)
	}
	right(t, 5, 4+len(names))
	t.AppendHeader(head)
	type place struct {
		scenario, variant string
		processors        int
		use               Use
	}
	var order []place
	cells := map[place]map[string]string{}
	for i := range r.Observations {
		o := &r.Observations[i]
		p := place{o.Scenario, o.Variant, o.Processors, o.Use}
		if cells[p] == nil {
			cells[p], order = map[string]string{}, append(order, p)
		}
		cells[p][o.Contestant] = report.Count(o.Measured) + " " + signed(o.Off())
	}
	for _, p := range order {
		row := table.Row{p.scenario, p.variant, p.processors, string(p.use)}
		for _, name := range names {
			cell := cells[p][name]
			if cell == "" {
				cell = "-"
			}
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	return t
}

func (r *Report) tenants() (ns []int) {
	for _, p := range r.Predictions {
		if !slices.Contains(ns, p.Tenants) {
			ns = append(ns, p.Tenants)
		}
	}
	return ns
}

// predictions has a row for each contestant and cost of a transfer, then the ratios.
func (r *Report) predictions(tenants int) table.Writer {
	type row struct {
		contestant string
		transfer   float64
	}
	var rows []row
	var processors []int
	rates := map[row]map[int]float64{}
	for _, p := range r.Predictions {
		if p.Tenants != tenants {
			continue
		}
		k := row{p.Contestant, p.Transfer}
		if rates[k] == nil {
			rates[k], rows = map[int]float64{}, append(rows, k)
		}
		if rates[k][p.Processors] = p.TasksPerSec; !slices.Contains(processors, p.Processors) {
			processors = append(processors, p.Processors)
		}
	}
	t := report.NewTable()
	right(t, 2, 2+len(processors))
	head := table.Row{"", "transfer"}
	for _, p := range processors {
		head = append(head, fmt.Sprint(p))
	}
	t.AppendHeader(head)
	for _, k := range rows {
		line := table.Row{k.contestant, nanoseconds(k.transfer)}
		for _, p := range processors {
			line = append(line, report.Count(rates[k][p]))
		}
		t.AppendRow(line)
	}
	for _, k := range rows {
		ours := rates[row{contest.Lockfree, k.transfer}]
		if k.contestant == contest.Lockfree || ours == nil {
			continue
		}
		line := table.Row{contest.Lockfree + " / " + k.contestant, nanoseconds(k.transfer)}
		for _, p := range processors {
			line = append(line, fmt.Sprintf("%.2f", ours[p]/rates[k][p]))
		}
		t.AppendRow(line)
	}
	return t
}

// Package matrix puts the results of several machines side by side: what one cannot say
// after looking at one of them is how much of it is the machine.
package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Matrix is what all hosts have measured. Files of one kind of machine are one host.
type Matrix struct {
	Metric string   `json:"metric"`
	Hosts  []string `json:"hosts"`
	Rows   []Row    `json:"rows"`
	Costs  []Cost   `json:"costs,omitempty"` // AddCosts

	lower bool // less is better
}

// Row is a ratio of the metric in one scenario, by host.
type Row struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"`
	Over     string `json:"over"`
	// Ratios are by host, in the order of Matrix.Hosts; nil: the host has none. Of one
	// file it is the interval over the rounds; of several the median of the files, with
	// what the intervals of all of them cover; from six files on the interval of their medians.
	Ratios []*stats.Interval `json:"ratios"`
}

// Of makes the matrix of files, with the ratios of a metric of subject to that of each of over.
func Of(files []*report.File, of metric.Metric, subject string, over []string) Matrix {
	m := Matrix{Metric: of.Name, Hosts: []string{}, Rows: []Row{}, lower: of.Better == metric.Lower}
	byHost := map[string][]*report.File{}
	counts := of.Name == "instructions/task"
	for _, f := range files {
		if counts != (f.Instructions != nil) {
			continue // a count is no host of anything else
		}
		h := Host(f)
		if byHost[h] == nil {
			m.Hosts = append(m.Hosts, h)
		}
		byHost[h] = append(byHost[h], f)
	}
	cells := map[string][]*suite.Cell{} // by host and row
	var order []string
	for _, h := range m.Hosts {
		for _, f := range byHost[h] {
			var some []suite.Cell
			if f.Run != nil {
				some = f.Run.Cells
			} else if f.Instructions != nil {
				some = f.Instructions.Cells
			}
			for i := range some {
				c := &some[i]
				row := c.Scenario.Name + "\n" + c.Label()
				if !slices.Contains(order, row) {
					order = append(order, row)
				}
				cells[h+"\n"+row] = append(cells[h+"\n"+row], c)
			}
		}
	}
	for _, row := range order {
		name, label, _ := strings.Cut(row, "\n")
		for _, other := range over {
			r, some := Row{Scenario: name, Variant: label, Over: other}, false
			for _, h := range m.Hosts {
				i := suite.RatioOver(cells[h+"\n"+row], subject, other, of.Of)
				if i.N == 0 {
					r.Ratios = append(r.Ratios, nil)
					continue
				}
				some = true
				r.Ratios = append(r.Ratios, &i)
			}
			if some {
				m.Rows = append(m.Rows, r)
			}
		}
	}
	return m
}

// Host names the machine that a file is of, by what makes a difference.
func Host(f *report.File) string {
	e := &f.Env
	cpu := strings.Join(strings.Fields(strings.NewReplacer("(R)", "", "(TM)", "", "(tm)", "", "Processor", "", "CPU", "").Replace(e.CPU)), " ")
	host := fmt.Sprintf("%s, %d x, %s/%s, %s", cpu, e.Cores, e.OS, e.Arch, e.GoVersion)
	if n := len(e.Pinned); n > 0 {
		host += fmt.Sprintf(", pinned to %d", n)
	}
	if e.Quota > 0 {
		host += fmt.Sprintf(", at most %d %% of one processor's time", e.Quota)
	}
	if f.Instructions != nil {
		host += ", one thread, " + f.Instructions.Tool
	}
	return host
}

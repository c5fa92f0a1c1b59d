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
	"github.com/firq-go/firq/cmd/firqbench/internal/usl"
)

// Matrix is what all hosts have measured. Files of one kind of machine are one host.
type Matrix struct {
	Metric string   `json:"metric"`
	Hosts  []string `json:"hosts"`
	Rows   []Row    `json:"rows"`
	Scale  []Scale  `json:"scale"`
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

// Scale is how a contestant scales on one host: the law that fits a sweep over processors.
type Scale struct {
	Host       string `json:"host"`
	Scenario   string `json:"scenario"`
	Variant    string `json:"variant"`
	Contestant string `json:"contestant"`
	Most       int    `json:"measured_to"` // processors

	usl.Law
	LambdaIn usl.Range `json:"lambda_in"` // 95 %, as the next two
	AlphaIn  usl.Range `json:"alpha_in"`
	BetaIn   usl.Range `json:"beta_in"`

	Peak     *float64 `json:"peak"`      // processors; nil: more are always better
	WorstFit float64  `json:"worst_fit"` // largest distance of a median from the law, as a part of it
}

// Of makes the matrix of files, with the ratios of a metric of subject to that of each of over.
func Of(files []*report.File, of metric.Metric, subject string, over []string) Matrix {
	m := Matrix{Metric: of.Name, Hosts: []string{}, Rows: []Row{}, Scale: []Scale{}, lower: of.Better == metric.Lower}
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
	for _, h := range m.Hosts {
		m.Scale = append(m.Scale, scale(h, byHost[h])...)
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

// scale fits a law to each contestant of the sweeps of a host, where nothing but the
// number of processors, and what follows from it, differs.
func scale(host string, files []*report.File) (all []Scale) {
	type line struct {
		scenario, variant, contestant string
		shards                        int
		perCore                       bool // the number of shards follows from that of processors
		tenants                       int
	}
	points := map[line]map[int][]float64{}
	var order []line
	for _, f := range files {
		if f.Sweep == nil {
			continue
		}
		for i := range f.Sweep.Cells {
			c := &f.Sweep.Cells[i]
			if c.Variant.Rate > 0 {
				continue
			}
			n := c.Point.GOMAXPROCS
			if p := len(c.Point.Pinned); p > 0 {
				n = min(n, p)
			}
			for k := range c.Runs {
				r := &c.Runs[k]
				l := line{scenario: c.Scenario.Name, variant: c.Label(), contestant: r.Contestant, shards: c.Scenario.Shards, tenants: c.Scenario.Tenants}
				if l.shards > 1 && l.shards == 2*n {
					l.shards, l.perCore = 0, true
				}
				if points[l] == nil {
					points[l] = map[int][]float64{}
					order = append(order, l)
				}
				points[l][n] = append(points[l][n], r.TasksPerSec)
			}
		}
	}
	for _, l := range order {
		var ps []usl.Point
		most := 0
		for n, xs := range points[l] {
			ps, most = append(ps, usl.Point{N: n, Xs: xs}), max(most, n)
		}
		slices.SortFunc(ps, func(a, b usl.Point) int { return a.N - b.N })
		law, err := usl.Fit(ps)
		if err != nil {
			continue // too few numbers of processors
		}
		shards := "default shards"
		if l.perCore {
			shards = "2x shards"
		} else if l.shards > 0 {
			shards = fmt.Sprintf("%d shards", l.shards)
		}
		s := Scale{Host: host, Scenario: l.scenario, Variant: fmt.Sprintf("%s, %d tenants, %s", l.variant, l.tenants, shards), Contestant: l.contestant, Most: most, Law: law}
		s.LambdaIn, s.AlphaIn, s.BetaIn = usl.Bootstrap(ps)
		if law.Beta > 0 {
			peak := law.Peak()
			s.Peak = &peak
		}
		for _, p := range ps {
			s.WorstFit = max(s.WorstFit, abs(stats.Median(p.Xs)/law.At(float64(p.N))-1))
		}
		all = append(all, s)
	}
	return all
}

func abs(x float64) float64 { return max(x, -x) }

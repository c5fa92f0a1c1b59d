package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/jobs"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// markdown writes the tables of what was measured.
func markdown(w io.Writer, f *file) {
	if len(f.Runs) == 0 {
		return
	}
	jobsTable(w, f)
	goalsTable(w, f)
	var versions []string
	for _, p := range f.contestants() {
		if p.Module != "" {
			versions = append(versions, p.Name+" "+f.Modules[p.Module])
		}
	}
	report.Printf(w, "%s; %v; %d rounds of %v, %v\n`%s`\n", strings.Join(versions, ", "), &f.Env, f.Rounds, f.Size.Duration, f.Size.Long, f.Env.Command)
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Error != "" {
			report.Printf(w, "\nFAILED: %s, %s, round %d: %s\n", r.Job, r.Contestant, r.Round+1, r.Error)
		}
	}
}

// contestants are those that were run, in the order of peers.All.
func (f *file) contestants() (chosen []peers.Peer) {
	for _, p := range peers.All() {
		if slices.ContainsFunc(f.Runs, func(r result) bool { return r.Contestant == p.Name }) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// jobsTable has a line for each figure of each job.
func jobsTable(w io.Writer, f *file) {
	chosen := f.contestants()
	head := []string{"job", "median (interval) in"}
	for _, p := range chosen {
		head = append(head, p.Name)
	}
	report.Heading(w, append(head, "ours / best peer", "ours / channel")...)
	for _, j := range jobs.All() {
		if !slices.ContainsFunc(f.Runs, func(r result) bool { return r.Job == j.Name }) {
			continue
		}
		for _, m := range j.Metrics {
			cells := []string{j.Name, m.Name + ", " + m.Unit}
			for _, p := range chosen {
				cells = append(cells, f.cell(j.Name, p.Name, m.Name))
			}
			own := f.figures(j.Name, peers.Own, m.Name)
			best, _ := f.best(j.Name, m)
			for _, other := range []string{best, peers.Channel} {
				text := "-"
				if !m.Count {
					text = ratio(own, f.figures(j.Name, other, m.Name)).String()
				}
				cells = append(cells, text)
			}
			report.Row(w, cells...)
		}
	}
	report.Printf(w, "\nThe interval has the median of endless rounds in it with %.0f %% confidence; below six rounds it goes from\n"+
		"the least to the most. A ratio is the median of the ratios of single rounds. The best peer is the library with\n"+
		"the best median, without the channel.\n\n", 100*stats.Confidence)
}

// cell is what a contestant has.
func (f *file) cell(job, contestant, metric string) string {
	text := intervalOf(values(f.figures(job, contestant, metric))).String()
	if slices.ContainsFunc(f.Runs, func(r result) bool { return r.Job == job && r.Contestant == contestant && r.Error != "" }) {
		text = "FAILED " + strings.TrimPrefix(text, "-")
	}
	return strings.TrimSpace(text)
}

// best returns the actor library, other than ours, with the best median of a figure, "" if there is none.
func (f *file) best(job string, m jobs.Metric) (name string, median float64) {
	median = math.NaN()
	for _, p := range f.contestants() {
		if p.Own || p.Plain {
			continue
		}
		x := intervalOf(values(f.figures(job, p.Name, m.Name))).Median
		if !math.IsNaN(x) && (name == "" || m.More == (x > median) && x != median) {
			name, median = p.Name, x
		}
	}
	return name, median
}

// metricOf finds a figure of a job.
func metricOf(job, metric string) jobs.Metric {
	for _, j := range jobs.All() {
		for _, m := range j.Metrics {
			if j.Name == job && m.Name == metric {
				return m
			}
		}
	}
	panic(fmt.Sprintf("no figure %s of a job %s", metric, job))
}

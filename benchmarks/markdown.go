package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/firq-go/firq/benchmarks/internal/peers"
	"github.com/firq-go/firq/internal/bench/contest"
	"github.com/firq-go/firq/internal/bench/report"
	"github.com/firq-go/firq/internal/bench/stats"
	"github.com/firq-go/firq/internal/bench/suite"
)

// markdown writes the table: a line per contestant, a column per cell.
func markdown(w io.Writer, f *file, chosen []peers.Peer) {
	if len(f.Run.Cells) == 0 {
		return
	}
	head := []string{"", "version"}
	rule := []string{"---", "---"}
	for i := range f.Run.Cells {
		head, rule = append(head, title(f, &f.Run.Cells[i])), append(rule, "---")
	}
	line(w, head)
	line(w, rule)
	var notes []string
	for i := range chosen {
		p := &chosen[i]
		row := []string{"`" + p.Name + "`" + footnote(p.Note, &notes), version(f, p)}
		for c := range f.Run.Cells {
			row = append(row, value(f, &f.Run.Cells[c], p))
		}
		line(w, row)
	}
	row := []string{"`lockfree` / fastest fair peer", ""}
	for c := range f.Run.Cells {
		row = append(row, lead(&f.Run.Cells[c], chosen))
	}
	line(w, row)
	report.Printf(w, "\ntasks/s · allocations per task · fairness gap: the largest difference of tasks served to two\n"+
		"backlogged equal tenants over any interval. Medians of %d rounds of %v; \"n/a\": no tenants.\n", f.Run.Rounds, f.Run.Measure)
	for i, note := range notes {
		report.Printf(w, "%d. %s\n", i+1, note)
	}
	e := &f.Env
	report.Printf(w, "\n%s, %s/%s, %s, %d cores, GOMAXPROCS %d, load %s, commit %.12s%s\n`%s`\n", e.GoVersion, e.OS, e.Arch, e.CPU,
		e.Cores, e.GOMAXPROCS, e.Load, e.Commit, map[bool]string{true: " (modified)"}[e.Modified], e.Command)
	failed(w, f)
}

func line(w io.Writer, cells []string) { report.Printf(w, "| %s |\n", strings.Join(cells, " | ")) }

// title names a cell; the work only where there is more than one.
func title(f *file, c *suite.Cell) string {
	if slices.ContainsFunc(f.Run.Cells, func(o suite.Cell) bool { return o.Variant != c.Variant }) {
		return c.Scenario.Name + ", " + c.Label()
	}
	return c.Scenario.Name
}

// footnote returns the mark of a note, and adds it to those that were made.
func footnote(note string, notes *[]string) string {
	if note == "" {
		return ""
	}
	i := slices.Index(*notes, note)
	if i < 0 {
		*notes = append(*notes, note)
		i = len(*notes) - 1
	}
	return fmt.Sprintf(" (%d)", i+1)
}

func version(f *file, p *peers.Peer) string {
	switch {
	case p.Own():
		return "this one"
	case p.Module == "":
		return f.Env.GoVersion
	}
	if v := f.Modules[p.Module]; v != "" {
		return v
	}
	return "unknown"
}

// value is tasks/s, allocations and gap of a contestant in a cell.
func value(f *file, c *suite.Cell, p *peers.Peer) string {
	for _, s := range c.Summarize(contest.OneLock) {
		if s.Contestant != p.Name {
			continue
		}
		text := fmt.Sprintf("%s ±%.0f %% · %s", report.Count(s.Rate), 100*s.Spread, report.PerTask(s.Allocs))
		gap, tasks := f.gapOf(c.Scenario.Name, p.Name)
		switch {
		case !p.Fair:
			return text + " · n/a"
		case tasks == 0:
			return text + " · -"
		case int(gap) >= tasks-1: // it can be no larger
			return fmt.Sprintf("%s · all %d", text, tasks)
		}
		return fmt.Sprintf("%s · %d", text, gap)
	}
	return "-"
}

// lead is how many times as fast as the fastest fair peer the low-contention core
// is: the median of the ratios round by round.
func lead(c *suite.Cell, chosen []peers.Peer) string {
	rates := make(map[string][]float64)
	for i := range c.Runs {
		r := &c.Runs[i]
		if rates[r.Contestant] == nil {
			rates[r.Contestant] = []float64{}
		}
		rates[r.Contestant] = append(rates[r.Contestant], r.TasksPerSec)
	}
	fastest, best := "", 0.0
	for i := range chosen {
		p := &chosen[i]
		if m := stats.Median(rates[p.Name]); p.Fair && !p.Own() && m > best {
			fastest, best = p.Name, m
		}
	}
	ratio := stats.Ratio(rates[contest.Lockfree], rates[fastest])
	if fastest == "" || math.IsNaN(ratio) {
		return "-"
	}
	return fmt.Sprintf("**%.1f** (%s)", ratio, fastest)
}

// failed tells of the runs that have no result.
func failed(w io.Writer, f *file) {
	for i := range f.Run.Cells {
		for _, e := range f.Run.Cells[i].Errors {
			report.Printf(w, "FAILED, %s: %s\n", title(f, &f.Run.Cells[i]), e)
		}
	}
	for i := range f.Gaps {
		if g := &f.Gaps[i]; g.Error != "" {
			report.Printf(w, "FAILED, gap, %s: %s\n", g.Scenario, g.Error)
		}
	}
}

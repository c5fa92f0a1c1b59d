package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/peers"
)

// markdown writes the table: a line per contestant, a column per cell.
func markdown(w io.Writer, f *file, chosen []peers.Peer) {
	if len(f.Run.Cells) == 0 {
		return
	}
	head := []string{"", "version"}
	for i := range f.Run.Cells {
		head = append(head, title(f, &f.Run.Cells[i]))
	}
	report.Heading(w, head...)
	var notes []string
	for i := range chosen {
		p := &chosen[i]
		row := []string{"`" + p.Name + "`" + footnote(p.Note, &notes), version(f, p)}
		for c := range f.Run.Cells {
			row = append(row, value(f, &f.Run.Cells[c], p))
		}
		report.Row(w, row...)
	}
	for _, own := range []string{contest.OneLock, contest.Simple} {
		if !slices.ContainsFunc(chosen, func(p peers.Peer) bool { return p.Name == own }) {
			continue
		}
		row := []string{"`lockfree` / `" + own + "`", ""}
		for c := range f.Run.Cells {
			row = append(row, lead(&f.Run.Cells[c], own))
		}
		report.Row(w, row...)
	}
	row := []string{"`lockfree` / fastest fair peer", ""}
	for c := range f.Run.Cells {
		fastest := fastestPeer(&f.Run.Cells[c], chosen)
		text := lead(&f.Run.Cells[c], fastest)
		if text != "-" {
			text += " (" + fastest + ")"
		}
		row = append(row, text)
	}
	report.Row(w, row...)
	report.Printf(w, "\ntasks/s · processor time of the whole process per task · allocations per task · fairness gap: the\n"+
		"largest difference of tasks served to two backlogged equal tenants over any interval (skewed and open loop:\n"+
		"queue time of all tenants but the first at the 99th percentile instead). Medians of %d\n"+
		"rounds of %v; \"n/a\": no tenants. Ratios are medians of the ratios of single rounds, with the range that\n"+
		"holds the true median with a confidence of %s.\n", f.Run.Rounds, f.Run.Measure,
		report.Percent(stats.IntervalOf(make([]float64, f.Run.Rounds)).Confidence))
	for i, note := range notes {
		report.Printf(w, "%d. %s\n", i+1, note)
	}
	report.Printf(w, "\n%v\n`%s`\n", &f.Env, f.Env.Command)
	failed(w, f)
}

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
		text := fmt.Sprintf("%s · %s · %s", report.Count(s.Rate), report.Duration(time.Duration(s.CPU)), report.PerTask(s.Allocs))
		if s.Focus != nil {
			return text + " · " + report.Duration(s.Focus.P99)
		}
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

// fastestPeer returns the fair peer with the best median rate, "" for none.
func fastestPeer(c *suite.Cell, chosen []peers.Peer) (fastest string) {
	best := 0.0
	for i := range chosen {
		p := &chosen[i]
		if m := stats.Median(rates(c, p.Name)); p.Fair && !p.Own() && m > best {
			fastest, best = p.Name, m
		}
	}
	return fastest
}

// lead is how many times as fast as another one the low-contention core is, round by
// round.
func lead(c *suite.Cell, other string) string {
	ratio := stats.IntervalOf(stats.Ratios(rates(c, contest.Lockfree), rates(c, other)))
	if ratio.N == 0 || c.Scenario.Overload > 0 { // all are sent the same
		return "-"
	}
	return fmt.Sprintf("**%.2f** [%.2f, %.2f]", ratio.Median, ratio.Low, ratio.High)
}

// rates returns those of a contestant by round, NaN where it has none.
func rates(c *suite.Cell, name string) (xs []float64) {
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Contestant != name {
			continue
		}
		for len(xs) < r.Round {
			xs = append(xs, math.NaN())
		}
		xs = append(xs, r.TasksPerSec)
	}
	return xs
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

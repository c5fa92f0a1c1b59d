// Package goals compares a contestant's figures with those of another one, round by round: what disturbs a
// round disturbs both. M is what one run has measured.
package goals

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// Run of a contestant, as it stands in a file of results.
type Run[M any] struct {
	Contestant string `json:"contestant"`
	Round      int    `json:"round"` // from 0
	Metrics    M      `json:"metrics"`
	Error      string `json:"error,omitempty"`
}

func (r Run[M]) String() string {
	if r.Error != "" {
		return "FAILED: " + r.Error
	}
	return fmt.Sprint(r.Metrics)
}

// Runs of all contestants.
type Runs[M any] []Run[M]

// Figures of a contestant by round, of the runs without an error.
func (rs Runs[M]) Figures(name string, of func(M) float64) map[int]float64 {
	all := map[int]float64{}
	for _, r := range rs {
		if r.Contestant == name && r.Error == "" {
			all[r.Round] = of(r.Metrics)
		}
	}
	return all
}

// Median of the Figures.
func (rs Runs[M]) Median(name string, of func(M) float64) float64 {
	return stats.Median(slices.Collect(maps.Values(rs.Figures(name, of))))
}

// Goal is a limit of the ratio of a figure of ours to one of theirs.
type Goal[M any] struct {
	What          string
	Ours, Theirs  string // contestants
	Of            func(M) float64
	Least, AtMost float64 // 0: no such limit
}

// Ratios of ours to theirs, of the rounds that have both.
func (g *Goal[M]) Ratios(rs Runs[M]) (list []float64) {
	theirs := rs.Figures(g.Theirs, g.Of)
	for round, x := range rs.Figures(g.Ours, g.Of) {
		if y := theirs[round]; y > 0 {
			list = append(list, x/y)
		}
	}
	return list
}

func (g *Goal[M]) String() string {
	if g.Least > 0 {
		return fmt.Sprintf("at least %v x %s", g.Least, g.Theirs)
	}
	return fmt.Sprintf("at most %v x %s", g.AtMost, g.Theirs)
}

// Reached says in Markdown whether a value is within the limits.
func (g *Goal[M]) Reached(value float64) string {
	if value >= g.Least && (g.AtMost == 0 || value <= g.AtMost) {
		return "yes"
	}
	return "**no**"
}

// Table prints in Markdown the goals of which there are ratios.
func Table[M any](w io.Writer, goals []Goal[M], rs Runs[M]) {
	report.Heading(w, "what", "goal", "ratio (interval)", "reached")
	for _, g := range goals {
		if list := g.Ratios(rs); len(list) > 0 {
			i := stats.IntervalOf(list)
			report.Row(w, g.Ours+": "+g.What, g.String(), fmt.Sprintf("%.2f (%.2f to %.2f)", i.Median, i.Low, i.High), g.Reached(i.Median))
		}
	}
}

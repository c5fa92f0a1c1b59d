package page

import (
	"fmt"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// facts is what is said of a file: what it was measured on, and how.
type facts struct {
	ID, Name string
	Rows     [][2]string
	Notes    []string // what is wrong or missing
}

func (b *builder) facts() (all []facts) {
	for i, f := range b.files {
		e := f.Env
		commit := e.Commit
		if e.Modified {
			commit += " (modified)"
		}
		place, quota, others := "", "", ""
		if p := b.places[b.placeOf[i]]; p.ran && len(b.places) > 1 {
			place = p.name
		}
		if e.Quota > 0 {
			quota = fmt.Sprintf("%d%% of one processor's time", e.Quota)
		}
		if o := f.Others(); o > 0 {
			others = report.Percent(o) + " of the machine's processor time during the runs"
		}
		pinned := ""
		if len(e.Pinned) > 0 {
			pinned = fmt.Sprintf("pinned to %v", e.Pinned)
		}
		fs := facts{ID: b.id("file", b.names[i]), Name: b.names[i]}
		for _, row := range [][2]string{
			{"holds", f.holds()}, {"command", e.Command}, {"started", e.Start.UTC().Format("2006-01-02 15:04:05 UTC")},
			{"commit", commit}, {"go", fmt.Sprintf("%s %s/%s", e.GoVersion, e.OS, e.Arch)},
			{"cpu", fmt.Sprintf("%s, %d cores, GOMAXPROCS %d", e.CPU, e.Cores, e.GOMAXPROCS)}, {"processors", pinned}, {"quota", quota}, {"place", place},
			{"kernel", e.Kernel}, {"clock", e.Clock}, {"governor", e.Governor}, {"GOGC", e.GOGC}, {"load before", e.Load}, {"other programs", others},
		} {
			if row[1] != "" {
				fs.Rows = append(fs.Rows, row)
			}
		}
		if f.Interrupted {
			fs.Notes = append(fs.Notes, "Interrupted: there are fewer runs than planned.")
		}
		for _, cell := range f.Cells() {
			for _, e := range cell.Errors {
				fs.Notes = append(fs.Notes, fmt.Sprintf("Failed: %s, %s, %s.", cell.Scenario.Name, cell.Label(), e))
			}
		}
		all = append(all, fs)
	}
	return all
}

// busy is what is said of a file for which Others is at least usage.Busy.
const busy = "other programs used more than a tenth of the machine's processor time (see the environment); contestants suffer from that differently."

// holds says what is in a file.
func (f File) holds() string {
	var parts []string
	if r := f.Run; r != nil {
		parts = append(parts, fmt.Sprintf("%d rounds of %s, after %s of warm-up, of %s", r.Rounds, report.Duration(r.Measure), report.Duration(r.Warmup), strings.Join(r.Contestants, ", ")))
	}
	if s := f.Sweep; s != nil {
		parts = append(parts, fmt.Sprintf("a sweep, %d of %d steps done, %d rounds of %s each", s.Done, s.Steps, s.Plan.Rounds, report.Duration(s.Plan.Duration)))
	}
	if r := f.Replay; r != nil {
		parts = append(parts, fmt.Sprintf("a replay of %s: %d requests of %d tenants, %d workers", r.Trace.Name, r.Trace.Requests, r.Trace.Tenants, r.Plan.Workers))
	}
	if len(parts) == 0 {
		return "nothing that this page shows"
	}
	return strings.Join(parts, "; ")
}

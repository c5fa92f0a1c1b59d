package main

import (
	"fmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/gap"
)

// schema names the format of file. It changes when a field changes its meaning.
const schema = "firq-peers/1"

// file is a result file. Durations are in nanoseconds.
type file struct {
	Schema      string            `json:"schema"`
	Env         machine.Env       `json:"env"`
	Modules     map[string]string `json:"modules"` // versions of all that is compiled in
	Interrupted bool              `json:"interrupted"`
	Run         report.RunSection `json:"run"`
	Gaps        []gapRun          `json:"gaps"`
}

// gapRun is one measurement of a fairness gap.
type gapRun struct {
	Scenario   string `json:"scenario"`
	Contestant string `json:"contestant"`
	Round      int    `json:"round"` // from 0
	gap.Result
	Error string `json:"error,omitempty"`
}

func newFile(p *plan, env machine.Env) *file {
	f := &file{Schema: schema, Env: env, Modules: command.Modules(), Run: report.RunSection{
		Rounds: p.Rounds, Warmup: p.Warmup, Measure: p.Measure, SampleEvery: load.SampleEvery,
	}}
	for i := range p.peers {
		f.Run.Contestants = append(f.Run.Contestants, p.peers[i].Name)
	}
	return f
}

// failures returns an error if some runs have no result.
func (f *file) failures() error {
	n := 0
	for i := range f.Run.Cells {
		n += len(f.Run.Cells[i].Errors)
	}
	for i := range f.Gaps {
		if f.Gaps[i].Error != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d runs failed, see FAILED above", n)
}

// gapOf returns the largest gap of a contestant in a scenario, and the number of
// tasks that each tenant had; 0 tasks where it was not measured.
func (f *file) gapOf(scenario, contestant string) (most int64, tasks int) {
	for i := range f.Gaps {
		if g := &f.Gaps[i]; g.Scenario == scenario && g.Contestant == contestant && g.Error == "" {
			most, tasks = max(most, g.Gap), g.Tasks
		}
	}
	return most, tasks
}

package main

import (
	"fmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/jobs"
)

// schema names the format of file. It changes when a field changes its meaning.
const schema = "firq-actors/1"

// file is a result file. Durations are in nanoseconds.
type file struct {
	Schema      string            `json:"schema"`
	Env         machine.Env       `json:"env"`
	Modules     map[string]string `json:"modules"` // versions of all that is compiled in
	Interrupted bool              `json:"interrupted"`
	Rounds      int               `json:"rounds"`
	Size        jobs.Size         `json:"size"`
	Runs        []result          `json:"runs"`
}

// result is a run of a job.
type result struct {
	Job        string       `json:"job"`
	Contestant string       `json:"contestant"`
	Round      int          `json:"round"` // from 0
	Metrics    jobs.Metrics `json:"metrics,omitempty"`
	Error      string       `json:"error,omitempty"`
}

// brief is the first figure of a run, for a person who watches.
func (r *result) brief(j *jobs.Job) string {
	if r.Metrics == nil {
		return "FAILED"
	}
	return figure(r.Metrics[j.Metrics[0].Name])
}

// figures are those of a contestant by round; rounds without one are left out.
func (f *file) figures(job, contestant, metric string) map[int]float64 {
	all := make(map[int]float64)
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Job == job && r.Contestant == contestant && r.Error == "" {
			if v, ok := r.Metrics[metric]; ok {
				all[r.Round] = v
			}
		}
	}
	return all
}

// failures returns an error if some runs have no result.
func (f *file) failures() error {
	n := 0
	for i := range f.Runs {
		if f.Runs[i].Error != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d runs failed, see FAILED above", n, len(f.Runs))
}

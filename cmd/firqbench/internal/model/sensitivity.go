package model

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Sensitivity is how far predictions move when something that is not known well changes.
type Sensitivity struct {
	Changed string             `json:"changed"`
	Most    map[string]float64 `json:"most"` // by contestant: the largest change of tasks/s, as a part
}

// change is one way to change a job.
type change func(*job)

// moved moves a part of the local work between outside of the lock and under it, on the way in and on the
// way out, as far as there is so much.
func moved(part float64) change {
	return func(j *job) {
		a := &j.anatomy
		put := min(max(part, -a.PutIn), a.PutOut)
		if a.Lockfree { // an enqueue has no lock
			put = 0
		}
		take := min(max(part, -a.TakeIn), a.TakeOut)
		a.PutOut, a.PutIn = a.PutOut-put, a.PutIn+put
		a.TakeOut, a.TakeIn = a.TakeOut-take, a.TakeIn+take
	}
}

// sensitivities are the changes, each in several ways.
func (c *Calibration) sensitivities() (names []string, ways [][]change) {
	wake := func(factor float64) change { return func(j *job) { j.machine.Wake *= factor } }
	seed := func(n uint64) change { return func(j *job) { j.load.seed = n } }
	return []string{
			fmt.Sprintf("wake-up %s or %s instead of %s", nanoseconds(c.Machine.Wake/3), nanoseconds(c.Machine.Wake*3), nanoseconds(c.Machine.Wake)),
			"other random numbers, four times",
			"0.1 of the local work moved under the lock, or out of it",
		}, [][]change{
			{wake(1.0 / 3), wake(3)}, {seed(1), seed(2), seed(3), seed(4)}, {moved(0.1), moved(-0.1)},
		}
}

// Sensitivity simulates contended without work on each number of processors, with each change and without.
func (c *Calibration) Sensitivity(ctx context.Context, processors []int, transfer float64, tenants int) ([]Sensitivity, error) {
	names, ways := c.sensitivities()
	var jobs []*job
	add := func(a Anatomy, p int, how change) *job {
		j := &job{machine: c.Machine, anatomy: a, perTask: c.Local[a.Name], load: Contended(p, tenants)}
		j.machine.Transfer = transfer
		if how != nil {
			how(j)
		}
		jobs = append(jobs, j)
		return j
	}
	type pair struct {
		at          int
		name        string
		plain, with *job
	}
	var pairs []pair
	for _, a := range c.known() {
		for _, p := range processors {
			plain := add(a, p, nil)
			for at := range ways {
				for _, how := range ways[at] {
					pairs = append(pairs, pair{at, a.Name, plain, add(a, p, how)})
				}
			}
		}
	}
	if err := runAll(ctx, jobs); err != nil {
		return nil, err
	}
	all := make([]Sensitivity, len(names))
	for at := range names {
		all[at] = Sensitivity{names[at], map[string]float64{}}
	}
	for _, p := range pairs {
		off := math.Abs(p.with.rate/p.plain.rate - 1)
		all[p.at].Most[p.name] = max(all[p.at].Most[p.name], off)
	}
	return all, nil
}

// WriteSensitivity prints it, as Markdown or as text.
func (c *Calibration) WriteSensitivity(w io.Writer, all []Sensitivity, markdown bool) {
	t := report.NewTable()
	head := table.Row{"changed"}
	for _, a := range c.known() {
		head = append(head, a.Name)
	}
	right(t, 2, len(head))
	t.AppendHeader(head)
	for _, s := range all {
		row := table.Row{s.Changed}
		for _, a := range c.known() {
			row = append(row, report.Percent(s.Most[a.Name]))
		}
		t.AppendRow(row)
	}
	if markdown {
		report.Print(w, t.RenderMarkdown()+"\n")
		return
	}
	report.Print(w, t.Render()+"\n")
}

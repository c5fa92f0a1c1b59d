// Package resume keeps the result file of a sweep, so that one that was
// interrupted can go on.
package resume

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// ErrConflict is in the error of Open if the file is of something else.
var ErrConflict = errors.New("cannot go on with this file")

// Open returns the file of a sweep: what is at path, if that is of the same plan,
// program (see machine.Program) and machine; a new one if nothing is there, or
// with restart. An empty path stands for no file. Nothing is written yet.
func Open(path string, plan sweep.Plan, env machine.Env, program string, restart bool) (*report.File, error) {
	fresh := &report.File{
		Schema: report.Schema, Env: env, Interrupted: true, Sweep: &sweep.Report{Plan: plan, Program: program},
	}
	if path == "" || restart {
		return fresh, nil
	}
	f, err := report.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err == nil {
		err = conflict(f, fresh)
	}
	if err != nil {
		return nil, fmt.Errorf("--output: %w: %s: %w; choose another one, or throw it away with --restart", ErrConflict, path, err)
	}
	f.Sweep.Resumed = append(f.Sweep.Resumed, env.Start)
	return f, nil
}

// conflict says what is not the same.
func conflict(f, now *report.File) error {
	if f.Sweep == nil {
		return errors.New("it is not of a sweep")
	}
	if err := f.Sweep.Conflict(&now.Sweep.Plan); err != nil {
		return fmt.Errorf("a different command wrote it: %w", err)
	}
	for _, d := range f.Env.Differences(&now.Env) {
		return fmt.Errorf("it was begun elsewhere: %s was %s, is %s", d.Name, d.Old, d.New)
	}
	if f.Env.Commit != now.Env.Commit || f.Sweep.Program != now.Sweep.Program {
		return fmt.Errorf("it was begun with another program: commit %s, is %s", commit(&f.Env), commit(&now.Env))
	}
	return nil
}

func commit(e *machine.Env) string {
	if e.Modified {
		return e.Commit + " (modified)"
	}
	return e.Commit
}

// Save returns what sweep.Report.Run wants: it writes f to path, whole or not at
// all. Until all steps are done the file is one of an interrupted run.
func Save(f *report.File, path string) func(*sweep.Report) error {
	return func(r *sweep.Report) error {
		f.Interrupted = r.Done < r.Steps
		if path == "" {
			return nil
		}
		return f.Write(path)
	}
}

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/firq-go/firq/internal/bench/machine"
	"github.com/firq-go/firq/internal/bench/replay"
	"github.com/firq-go/firq/internal/bench/suite"
	"github.com/firq-go/firq/internal/bench/sweep"
)

// Schema names the format of File. It changes when a field changes its meaning.
const Schema = "firqbench/1"

// File is a result file: what was measured, on what, by which command. Durations
// are in nanoseconds.
type File struct {
	Schema      string         `json:"schema"`
	Env         machine.Env    `json:"env"`
	Interrupted bool           `json:"interrupted"` // there are fewer runs than planned
	Run         *RunSection    `json:"run,omitempty"`
	Replay      *replay.Report `json:"replay,omitempty"`
	Sweep       *sweep.Report  `json:"sweep,omitempty"`
}

// RunSection is what "firqbench run" measured.
type RunSection struct {
	Rounds      int           `json:"rounds"`
	Warmup      time.Duration `json:"warmup_ns"`
	Measure     time.Duration `json:"measure_ns"`
	SampleEvery int           `json:"enqueue_sample_every"`
	Contestants []string      `json:"contestants"`
	Cells       []suite.Cell  `json:"cells"`
}

// Cells returns the cells of all that was run; none of a replay.
func (f *File) Cells() []suite.Cell {
	switch {
	case f.Run != nil:
		return f.Run.Cells
	case f.Sweep != nil:
		return f.Sweep.Cells
	}
	return nil
}

// Destination returns the file that a path given by the user stands for: a
// directory, or a path that ends in a slash, gets a file named after the command
// and the time. Missing directories are made.
func Destination(path, command string, at time.Time) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir(), os.IsPathSeparator(path[len(path)-1]):
		path = filepath.Join(path, fmt.Sprintf("%s-%s.json", command, at.Format("20060102-150405")))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return path, os.MkdirAll(filepath.Dir(path), 0o755)
}

// Write writes f to path, whole or not at all.
func (f *File) Write(path string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".firqbench-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // gone already when all went well
	_, err = tmp.Write(append(text, '\n'))
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// ReadFile reads a result file.
func ReadFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Schema != Schema {
		return nil, fmt.Errorf("%s: schema is %q, this program reads %q", path, f.Schema, Schema)
	}
	return &f, nil
}

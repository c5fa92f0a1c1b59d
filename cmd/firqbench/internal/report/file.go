package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/instructions"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
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

	Instructions *instructions.Section `json:"instructions,omitempty"`
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

// Lists of numbers go on one line: a line for each would be most of the file.
var (
	numbers = regexp.MustCompile(`\[\n[-+.eE\d,\s]*\]`) // no string has a line break in it
	space   = regexp.MustCompile(`\s+`)
)

// Write writes f to path, whole or not at all.
func (f *File) Write(path string) error { return WriteJSON(path, f) }

// WriteJSON writes v to path as JSON, whole or not at all.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = numbers.ReplaceAllFunc(text, func(list []byte) []byte { return space.ReplaceAll(list, nil) })
	return WriteWhole(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// WriteWhole writes to path what write writes, whole or not at all.
func WriteWhole(path string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".firqbench-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // gone already when all went well
	err = write(tmp)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// ReadFile reads a result file. Its errors name the file.
func ReadFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s: is not a result file: %w", path, err)
	}
	if err := checkSchema(head.Schema); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &f, nil
}

// checkSchema is asked before the rest is looked at: what a newer schema means
// by a field is unknown here.
func checkSchema(schema string) error {
	if schema == Schema {
		return nil
	}
	name, ours, _ := strings.Cut(Schema, "/")
	number, isOurs := strings.CutPrefix(schema, name+"/")
	theirs, err := strconv.Atoi(number)
	reads, _ := strconv.Atoi(ours)
	switch {
	case schema == "":
		return fmt.Errorf("is not a result file of firqbench: it has no schema, this program reads %q", Schema)
	case isOurs && err == nil && theirs > reads:
		return fmt.Errorf("schema is %q, newer than %q, which this program reads: use a newer firqbench", schema, Schema)
	}
	return fmt.Errorf("schema is %q, this program reads %q", schema, Schema)
}

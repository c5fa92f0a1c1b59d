// Package hdrlog writes the histograms of runs as HdrHistogram interval logs,
// which HdrHistogram's log processors, analyzers and plotters read.
package hdrlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/hist"
)

// The tags of the lines. Queue times, the subject, have none: log processors show
// lines without a tag unless an option says otherwise.
const (
	TagEnqueue = "enqueue"
	TagLag     = "generator-late"
)

// Dir is a directory of logs: a file for each cell and contestant, in it an
// interval per round for the queue time and one, tagged, for the enqueue call. In
// open loops both count from the intended start, and there is a third one for
// how late the load generator was. A Dir is for one goroutine.
type Dir struct {
	path  string
	begun map[string]bool // by file name
}

// Make makes the directory, if it is not there.
func Make(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return &Dir{path: path, begun: make(map[string]bool)}, nil
}

// Name returns the name of the file of a cell and a contestant.
func Name(c *suite.Cell, contestant string) string {
	clean := func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '_', r == 'µ':
			return r
		}
		return '-'
	}
	label := strings.ReplaceAll(c.Label(), ", ", "_")
	return fmt.Sprintf("%s_%s_%s.hlog", c.Scenario.Name, strings.Map(clean, label), contestant)
}

// Record appends the intervals of a run. The first run of a cell replaces what an
// earlier program left in its file. It is what suite.Plan.Recorded wants.
func (d *Dir) Record(c *suite.Cell, r *suite.Run) (err error) {
	name := Name(c, r.Contestant)
	mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if !d.begun[name] {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(filepath.Join(d.path, name), mode, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	h := r.Histograms
	if !d.begun[name] {
		d.begun[name] = true
		if err := hist.WriteLogHeader(file, h.Began); err != nil {
			return err
		}
	}
	for _, line := range []struct {
		tag string
		s   *hist.Snapshot
	}{{"", h.Queue}, {TagEnqueue, h.Enqueue}, {TagLag, h.Lag}} {
		if line.s == nil {
			continue
		}
		if err := line.s.WriteLog(file, line.tag, h.Began, r.Elapsed); err != nil {
			return err
		}
	}
	return nil
}

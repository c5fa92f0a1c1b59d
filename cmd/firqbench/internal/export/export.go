// Package export writes the runs of a result file for other programs: as JSON,
// as CSV, and in the Go benchmark format, which benchstat reads
// (https://golang.org/design/14313-benchmark-format).
package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Formats of the output. Table is for people and not of this package.
const (
	Table    = "table"
	JSON     = "json"
	CSV      = "csv"
	Benchfmt = "benchfmt"
)

// Check returns an error unless there is such a format.
func Check(format string) error {
	switch format {
	case Table, JSON, CSV, Benchfmt:
		return nil
	}
	return fmt.Errorf("%q, must be %s, %s, %s or %s", format, Table, JSON, CSV, Benchfmt)
}

// Write writes the runs of f in a format that is not Table. JSON has its own
// escapes; in the others, which have none, names are made printable.
func Write(w io.Writer, format string, f *report.File) error {
	switch format {
	case CSV:
		return writeCSV(w, f)
	case Benchfmt:
		return NewBenchmarks(w).Write(f, "")
	}
	return WriteJSON(w, f)
}

// WriteJSON writes any value as result files are written.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// setting is something that a cell was run with.
type setting struct{ key, value string }

// settings name a cell. What is not set is left out, so that names stay short
// and do not change when a setting is added.
func settings(c *suite.Cell, env int) (all []setting) {
	s := &c.Scenario
	add := func(key string, value any, wanted bool) {
		if wanted {
			all = append(all, setting{key, report.Printable(fmt.Sprint(value))})
		}
	}
	add("producers", s.Producers, true)
	add("consumers", s.Consumers, true)
	add("tenants", s.Tenants, true)
	add("shards", s.Shards, s.Shards > 0)
	add("batch", s.Batch, s.Batch > 1)
	add("work", c.Variant.Work, c.Variant.Rate > 0 || c.Variant.Idle == 0)
	add("idle", c.Variant.Idle, c.Variant.Idle > 0)
	add("rate", strconv.FormatFloat(c.Variant.Rate, 'f', -1, 64), c.Variant.Rate > 0)
	add("arrivals", c.Variant.Arrivals, c.Variant.Rate > 0)
	add("gomaxprocs", procs(c, env), true)
	return all
}

// procs is how many processors Go used in a cell: those of a sweep have their own.
func procs(c *suite.Cell, env int) int {
	if c.Point != nil {
		return c.Point.GOMAXPROCS
	}
	return env
}

// csvSettings are the columns of settings.
var csvSettings = []string{"producers", "consumers", "tenants", "shards", "batch", "work", "idle", "rate", "arrivals", "gomaxprocs"}

// writeCSV writes a line per run: what was run, then a column per metric, with
// the unit of the Go benchmark format in its name; durations are in ns. A value
// that a run does not have is empty.
func writeCSV(w io.Writer, f *report.File) error {
	metrics := metric.All()
	head := append([]string{"scenario", "contestant", "round"}, csvSettings...)
	for _, m := range metrics {
		head = append(head, m.Unit)
	}
	out := csv.NewWriter(w)
	if err := out.Write(head); err != nil {
		return err
	}
	cells := f.Cells()
	for i := range cells {
		c := &cells[i]
		set := make(map[string]string)
		for _, s := range settings(c, f.Env.GOMAXPROCS) {
			set[s.key] = s.value
		}
		for j := range c.Runs {
			r := &c.Runs[j]
			line := []string{report.Printable(c.Scenario.Name), report.Printable(r.Contestant), strconv.Itoa(r.Round)}
			for _, key := range csvSettings {
				line = append(line, set[key])
			}
			for _, m := range metrics {
				text := ""
				if v, ok := m.Of(c, r); ok {
					text = strconv.FormatFloat(v, 'g', -1, 64)
				}
				line = append(line, text)
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// Benchmarks writes one or more result files in the Go benchmark format: a line
// per run, so that benchstat sees as many samples as there were rounds. The name
// has what was run, such as
//
//	BenchmarkFirqbench/scenario=zipf/impl=lockfree/producers=8/consumers=8/tenants=64/work=0s-2
//
// and benchstat -col /impl puts the contestants next to each other.
type Benchmarks struct {
	w       *benchfmt.Writer
	started bool
}

// NewBenchmarks returns a writer to w.
func NewBenchmarks(w io.Writer) *Benchmarks { return &Benchmarks{w: benchfmt.NewWriter(w)} }

// Write writes the runs of f. A side, if it is not empty, is what benchstat -col
// side tells several files by.
func (b *Benchmarks) Write(f *report.File, side string) error {
	if err := b.units(); err != nil {
		return err
	}
	config := configuration(f, side)
	cells := f.Cells()
	for i := range cells {
		c := &cells[i]
		for j := range c.Runs {
			r := &c.Runs[j]
			res := &benchfmt.Result{Config: config, Name: benchfmt.Name(name(c, r, f.Env.GOMAXPROCS)), Iters: max(1, int(r.Delivered))}
			for _, m := range metric.All() {
				if v, ok := m.Of(c, r); ok {
					res.Values = append(res.Values, benchfmt.Value{Value: v, Unit: m.Unit})
				}
			}
			if err := b.w.Write(res); err != nil {
				return err
			}
		}
	}
	return nil
}

// units tells benchstat which values are better, once.
func (b *Benchmarks) units() error {
	if b.started {
		return nil
	}
	b.started = true
	for _, m := range metric.All() {
		better := map[metric.Direction]string{metric.Higher: "higher", metric.Lower: "lower"}[m.Better]
		if better == "" {
			continue
		}
		u := &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: m.Unit, Key: "better"}, OrigUnit: m.Unit, Value: better}
		if err := b.w.Write(u); err != nil {
			return err
		}
	}
	return nil
}

func name(c *suite.Cell, r *suite.Run, env int) string {
	parts := []string{"Firqbench", "scenario=" + report.Printable(c.Scenario.Name), "impl=" + report.Printable(r.Contestant)}
	for _, s := range settings(c, env) {
		if s.key != "gomaxprocs" {
			parts = append(parts, s.key+"="+s.value)
		}
	}
	return fmt.Sprintf("%s-%d", strings.Join(parts, "/"), procs(c, env))
}

func configuration(f *report.File, side string) (config []benchfmt.Config) {
	commit := f.Env.Commit
	if f.Env.Modified {
		commit += "-modified"
	}
	for _, s := range []setting{
		{"goos", f.Env.OS}, {"goarch", f.Env.Arch}, {"cpu", f.Env.CPU}, {"go", f.Env.GoVersion}, {"commit", commit}, {"side", side},
	} {
		if s.value != "" {
			config = append(config, benchfmt.Config{Key: s.key, Value: []byte(report.Printable(s.value)), File: true})
		}
	}
	return config
}

package hdrlog

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/hist"
)

func snapshot(ds ...time.Duration) *hist.Snapshot {
	l, s := hist.NewLocal(), hist.NewSnapshot()
	for _, d := range ds {
		l.Record(d)
	}
	l.AddTo(s)
	return s
}

// HdrHistogram's own reader gets out what went in.
func TestReadBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	cell := &suite.Cell{Scenario: scenario.Scenario{Name: "contended"}, Variant: suite.Variant{Rate: 50_000, Arrivals: "poisson", Work: 100}}
	const name = "contended_50k-s-poisson_consumers-work-100ns_channel.hlog"
	began := time.UnixMilli(1_700_000_000_000)
	for range 2 { // the second Dir replaces what the first one left
		d, err := Make(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r := &suite.Run{Contestant: "channel", Result: load.Result{Elapsed: time.Second, Histograms: load.Histograms{
				Began: began.Add(time.Duration(i) * time.Minute), Queue: snapshot(time.Millisecond, time.Second),
				Enqueue: snapshot(100, 100, 100), Lag: snapshot(7),
			}}}
			if i == 2 {
				r.Histograms.Lag = nil // a closed loop
			}
			if err := d.Record(cell, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(text))
	counts := map[string]int64{}
	lines := map[string]int{}
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		counts[h.Tag()] += h.TotalCount()
		lines[h.Tag()]++
		if from := began.UnixMilli() + int64(lines[h.Tag()]-1)*60_000; h.StartTimeMs() != from || h.EndTimeMs() != from+1000 {
			t.Errorf("tag %q: interval from %d to %d, want it from %d", h.Tag(), h.StartTimeMs(), h.EndTimeMs(), from)
		}
		if h.Tag() == "" && (h.Max() < int64(999*time.Millisecond) || h.ValueAtQuantile(50) > 1_001_000) {
			t.Errorf("queue times to %d, median %d", h.Max(), h.ValueAtQuantile(50))
		}
	}
	if lines[""] != 3 || counts[""] != 6 || counts[TagEnqueue] != 9 || counts[TagLag] != 2 {
		t.Errorf("lines %v, samples %v", lines, counts)
	}
}

func TestErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(file); err == nil {
		t.Error("a file is no directory")
	}
	d := &Dir{path: file, begun: map[string]bool{}}
	if err := d.Record(&suite.Cell{}, &suite.Run{}); err == nil {
		t.Error("Record into a file as if it were a directory")
	}
}

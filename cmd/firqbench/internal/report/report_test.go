package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0"}, {Duration(7), "7ns"}, {Duration(999), "999ns"}, {Duration(1000), "1.00µs"},
		{Duration(9_996), "10.0µs"}, {Duration(99_960), "100µs"}, {Duration(999_499), "999µs"}, {Duration(999_500), "1.00ms"},
		{Duration(1234567), "1.23ms"}, {Duration(12 * time.Second), "12.0s"}, {Duration(time.Hour), "3600s"},
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1.00k"}, {Count(12_345_678), "12.3M"}, {Count(2e9), "2.00G"}, {Count(math.NaN()), "-"},
		{Percent(0), "0"}, {Percent(0.0001), "<0.1%"}, {Percent(0.012), "1.2%"}, {Percent(0.25), "25%"}, {Percent(1), "100%"},
		{PerTask(0.004), "0"}, {PerTask(1), "1.00"}, {PerTask(73.47), "73.5"}, {PerTask(1200), "1.20k"},
		{factor(0.5), "0.5"}, {factor(29886), "29886"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// result has the widest values that are to be expected.
func result(rate float64, s scenario.Scenario) load.Result {
	l := load.Latency{Samples: 1000, Mean: 12345, P50: 123 * time.Microsecond, P95: 12340 * time.Microsecond, P99: 12340 * time.Microsecond, P999: 123 * time.Millisecond, Max: time.Second}
	r := load.Result{
		Elapsed: time.Second, Delivered: uint64(rate), TasksPerSec: rate, CPUPerTask: 1234, MeanBacklog: 3456, Offered: uint64(2 * rate), Rejected: uint64(rate),
		Expired: uint64(rate / 3), Enqueue: l, Queue: l, AllocsPerTask: 1.23, BytesPerTask: 123, Jain: 0.997, JainTenants: 64,
	}
	if s.Focus != "" {
		r.Focus = &l
	}
	if s.Life > 0 {
		r.Goodput = &rate
	}
	if s.Reject {
		r.Refusal = &l
	}
	return r
}

func cells(s scenario.Scenario) []suite.Cell {
	var cells []suite.Cell
	for _, v := range []suite.Variant{{}, {Work: 100, Idle: time.Millisecond}} {
		c := suite.Cell{Scenario: s, Variant: v}
		for round := range 3 {
			for i, name := range []string{contest.Channel, contest.Sharded, contest.OneLock, contest.Lockfree} {
				c.Runs = append(c.Runs, suite.Run{Contestant: name, Round: round, Result: result(1e6*float64((i+1)*(10+round)), s)})
			}
		}
		cells = append(cells, c)
	}
	return cells
}

func TestScenarioTable(t *testing.T) {
	for _, s := range scenario.All() {
		var b bytes.Buffer
		Scenario(&b, cells(s), []string{contest.Lockfree, contest.OneLock, contest.Sharded, contest.Channel})
		text := b.String()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 120 {
				t.Errorf("%s: %d columns: %s", s.Name, n, line)
			}
		}
		at := -1
		for _, want := range []string{s.Name + ": ", "tasks/s", "lockfree", "44.0M", "1.33 1.33-1.33", "baseline-1 ", "baseline-sharded", "channel", "0.997"} {
			i := strings.Index(text, want)
			if i < 0 || strings.HasPrefix(want, "baseline") && i < at {
				t.Errorf("%s: %q is missing or out of order in\n%s", s.Name, want, text)
			}
			at = i
		}
		if strings.Contains(text, "\x1b") {
			t.Errorf("%s: escape sequences in plain output", s.Name)
		}
	}
	failed := cells(scenario.All()[0])[:1]
	failed[0].Errors = []string{"round 2: it broke"}
	var b bytes.Buffer
	Scenario(&b, failed, nil)
	if !strings.Contains(b.String(), "FAILED, no work: round 2: it broke") {
		t.Errorf("no failure in\n%s", &b)
	}
}

func replayed() *replay.Report {
	l := load.Latency{Samples: 10, P50: time.Millisecond, P95: time.Millisecond, P99: 2 * time.Millisecond, Max: 3 * time.Millisecond}
	group := func(name string, n int) replay.GroupTime {
		return replay.GroupTime{Group: replay.Group{Name: name, Tenants: n, Requests: 10, Cost: 50}, Queue: l}
	}
	res := replay.Result{Contestant: "fifo", Elapsed: time.Second, Delivered: 10, CPU: 25 * time.Microsecond, Switches: 4, Lag: l,
		Groups: []replay.GroupTime{group(replay.GroupAll, 4), group(replay.GroupQuiet, 2), group("t1", 1)}}
	other := res
	other.Contestant = "lockfree"
	return &replay.Report{
		Trace:   replay.TraceFacts{Name: "x.csv", Requests: 10, Tenants: 4, Span: time.Minute, Cost: 100},
		Plan:    replay.Plan{Speed: 60, ServiceNs: 1500, Load: 0.95, Span: time.Second, Workers: 8, Quantum: 5, InFlight: 2},
		Results: []replay.Result{res, other},
	}
}

func TestReplayTable(t *testing.T) {
	var b bytes.Buffer
	r := replayed()
	ReplayPlan(&b, r.Trace, r.Plan)
	Replay(&b, r)
	for _, want := range []string{
		"x.csv: 10 requests of 4 tenants over 1m0s, cost 100", "replayed 60 times as fast, in 1.00s; 8 workers, each busy for 1.50µs",
		"load 0.95", "at most 2 requests of a tenant", "quiet tenants (2): 10 requests, 50% of the work", "tenant t1: 10 requests", "  lockfree", "2.00ms",
		"10 delivered, 0 expired, 0 rejected in 1.00s", "2.50µs of processor time and 0.40 context switches per request",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
	r = replayed()
	res := &r.Results[0]
	res.Rounds, res.Groups[0].Queue.Samples, res.Groups[0].P99s = 2, 200, []time.Duration{3 * time.Millisecond, time.Millisecond}
	b.Reset()
	Replay(&b, r)
	for _, want := range []string{"p99 of the passes", "1.00ms to 3.00ms", "10 delivered, 0 expired, 0 rejected in 1.00s; arrivals late by 2.00ms (p99), 3.00ms (max); 2.50µs of processor time and 0.40 context switches per request; not finished"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
	b.Reset()
	r.Results[1].Lag.Max = 51 * time.Millisecond
	r.Results[1].Others = 0.4
	Replay(&b, r)
	for _, want := range []string{"  lockfree (late)", "lockfree is struck", "other programs used 40% of this machine's processor time"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "(late)") && strings.Contains(line, "ms") && strings.Contains(line, "lockfree") {
			t.Errorf("a struck line has figures: %s", line)
		}
	}
	b.Reset()
	r.Plan.Speed = 0
	ReplayPlan(&b, r.Trace, r.Plan)
	Replay(&b, &replay.Report{}) // interrupted before the first
	if !strings.Contains(b.String(), "all of them arrive at once") {
		t.Errorf("got\n%s", &b)
	}
}

// What is written can be read, and is the same.
func TestFile(t *testing.T) {
	file := File{Schema: Schema, Env: machine.Read(), Interrupted: true, Replay: replayed(), Run: &RunSection{
		Rounds: 3, Measure: time.Second, Contestants: []string{"a"}, Cells: cells(scenario.All()[1]),
	}}
	path, err := Destination(filepath.Join(t.TempDir(), "new")+"/", "run", time.Unix(0, 0).UTC())
	if err != nil || filepath.Base(path) != "run-19700101-000000.json" {
		t.Fatal(path, err)
	}
	if err := file.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(file)
	b, _ := json.Marshal(got)
	if !bytes.Equal(a, b) || !reflect.DeepEqual(got.Run, file.Run) {
		t.Errorf("wrote %s\nread %s", a, b)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
	for _, bad := range []string{`{"schema":"other/1"}`, `{`, ``} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := file.Write(filepath.Join(t.TempDir(), "no", "such")); err == nil {
		t.Error("no error for a missing directory")
	}
}

func TestDestination(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for path, want := range map[string]string{
		dir: "run-20260102-030405.json", filepath.Join(dir, "x.json"): "x.json", filepath.Join(dir, "a", "b.json"): "a/b.json",
	} {
		got, err := Destination(path, "run", at)
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("Destination(%q) = %q, %v", path, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
}

func TestProgressPlain(t *testing.T) {
	var out, w bytes.Buffer
	p := NewProgress(&out, &w, nil)
	cs := cells(scenario.All()[0])
	for i := range 8 {
		p.Before(i, 8, &cs[i/4], "a", i)
	}
	p.Scenario(cs)
	p.Clear()
	if got := strings.Count(w.String(), "\n"); got != 2 || !strings.HasPrefix(w.String(), "[  0%] contended, no work\n[ 50%] contended, work 100ns/task, ") {
		t.Errorf("got\n%s", &w)
	}
	if !strings.Contains(out.String(), "tasks/s") {
		t.Errorf("no table in\n%s", &out)
	}
}

func TestList(t *testing.T) {
	var b bytes.Buffer
	if err := List(&b, scenario.All(), contest.ForRun(), contest.ForReplay()); err != nil {
		t.Fatal(err)
	}
	for _, want := range append(scenario.Names(), contest.Lockfree, contest.FIFO, contest.Channel) {
		if !strings.Contains(b.String(), "  "+want) {
			t.Errorf("%s is missing in\n%s", want, &b)
		}
	}
}

// A percentile needs as many samples as it takes to have one beyond it.
func TestQuantile(t *testing.T) {
	l := load.Latency{P50: time.Millisecond, P95: 2 * time.Millisecond, P99: 3 * time.Millisecond}
	for _, c := range []struct {
		samples uint64
		want    string
	}{
		{0, "- - -"}, {1, "- - -"}, {2, "1.00ms - -"}, {19, "1.00ms - -"}, {20, "1.00ms 2.00ms -"},
		{99, "1.00ms 2.00ms -"}, {100, "1.00ms 2.00ms 3.00ms"},
	} {
		l.Samples = c.samples
		if got := quantile(&l, 0.5) + " " + quantile(&l, 0.95) + " " + quantile(&l, 0.99); got != c.want {
			t.Errorf("%d samples: %s, want %s", c.samples, got, c.want)
		}
	}
}

// Tasks that are shorter than a worker's sleep are said to be.
func TestReplayGrain(t *testing.T) {
	r := replayed()
	for _, c := range []struct {
		median time.Duration
		short  float64
		want   bool
	}{{2 * time.Millisecond, 0.1, false}, {500 * time.Microsecond, 0.7, true}} {
		var b bytes.Buffer
		r.Plan.MedianTask, r.Plan.ShortTasks = c.median, c.short
		ReplayPlan(&b, r.Trace, r.Plan)
		if text := b.String(); strings.Contains(text, "NOTE") != c.want || !strings.Contains(text, Percent(c.short)+" of the tasks take less than 1ms") {
			t.Errorf("%v: %s", c.median, text)
		}
	}
}

// With one round, or figures that are all short, columns are narrower than the name of
// their group. The library divided by zero there, in a part of all runs.
func TestNarrowTable(t *testing.T) {
	for _, s := range scenario.All() {
		c := suite.Cell{Scenario: s}
		for _, name := range []string{contest.Lockfree, contest.OneLock, contest.Simple} {
			c.Runs = append(c.Runs, suite.Run{Contestant: name, Result: load.Result{TasksPerSec: 1,
				Enqueue: load.Latency{Samples: 1, P50: 118, P99: 529}, Focus: &load.Latency{}, Refusal: &load.Latency{}}})
		}
		for range 20 { // it depends on the order of a map
			Scenario(io.Discard, []suite.Cell{c}, nil)
		}
	}
}

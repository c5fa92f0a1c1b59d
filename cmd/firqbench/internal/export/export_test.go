package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// file has a closed loop with two contestants, an open one, and a paced one.
func file() *report.File {
	s := scenario.All()[0]
	run := func(name string, round int, rate float64) suite.Run {
		return suite.Run{Contestant: name, Round: round, Result: load.Result{
			TasksPerSec: rate, Delivered: 90, Offered: 100, Rejected: 25,
			Enqueue: load.Latency{Samples: 1, P50: 61, P99: 250, P999: 1200}, Queue: load.Latency{Samples: 90, P50: time.Millisecond},
			AllocsPerTask: 0.5,
		}}
	}
	open := run("lockfree", 0, 7)
	open.Open = &load.Open{Offered: 10, Sent: 9, Queue: load.Latency{Samples: 9, P99: time.Second}}
	swept := suite.Cell{Scenario: s, Point: &suite.Point{GOMAXPROCS: 16}, Runs: []suite.Run{run("lockfree", 0, 3)}}
	swept.Scenario.Shards, swept.Scenario.Batch = 32, 4
	return &report.File{
		Schema: report.Schema, Env: machine.Env{OS: "linux", Arch: "amd64", CPU: "a cpu", GoVersion: "go1.26", Commit: "abc", Modified: true, GOMAXPROCS: 2},
		Run: &report.RunSection{Cells: []suite.Cell{
			{Scenario: s, Variant: suite.Variant{Work: 100}, Runs: []suite.Run{run("lockfree", 0, 1e6), run("channel", 0, 2e6), run("channel", 1, 2.5e6)}},
			{Scenario: s, Variant: suite.Variant{Rate: 50_000, Arrivals: arrivals.Poisson}, Runs: []suite.Run{open}},
			swept,
			{Scenario: s, Variant: suite.Variant{Idle: time.Millisecond}, Runs: []suite.Run{run("lockfree", 0, 3)}},
		}},
	}
}

// benchstat's reader gets out what went in: names, settings, values and what is
// better.
func TestBenchmarks(t *testing.T) {
	var b bytes.Buffer
	w := NewBenchmarks(&b)
	for _, side := range []string{"old", "new"} {
		if err := w.Write(file(), side); err != nil {
			t.Fatal(err)
		}
	}
	r := benchfmt.NewReader(&b, "x")
	var names []string
	for r.Scan() {
		res, ok := r.Result().(*benchfmt.Result)
		if !ok {
			if e, bad := r.Result().(*benchfmt.SyntaxError); bad {
				t.Fatal(e)
			}
			continue
		}
		names = append(names, res.Name.String())
		if res.Iters != 90 || res.GetConfig("cpu") != "a cpu" || res.GetConfig("commit") != "abc-modified" {
			t.Errorf("%+v", res)
		}
		side := "old"
		if len(names) > 6 {
			side = "new"
		}
		if got := res.GetConfig("side"); got != side {
			t.Errorf("result %d is of side %q", len(names), got)
		}
		if len(names) != 2 {
			continue
		}
		for unit, want := range map[string]float64{"tasks/s": 2e6, "enqueue-p99-sec": 250e-9, "queue-p50-sec": 1e-3, "allocs/task": 0.5, "rejected-part": 0.25} {
			if got, ok := res.Value(unit); !ok || got < want*0.999 || got > want*1.001 {
				t.Errorf("%s: %v, %v, want %v", unit, got, ok, want)
			}
		}
		if _, ok := res.Value("goodput/s"); ok {
			t.Error("a goodput where there is none")
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	want := []string{
		"Firqbench/scenario=contended/impl=lockfree/producers=8/consumers=8/tenants=64/work=100ns-2",
		"Firqbench/scenario=contended/impl=channel/producers=8/consumers=8/tenants=64/work=100ns-2",
		"Firqbench/scenario=contended/impl=channel/producers=8/consumers=8/tenants=64/work=100ns-2",
		"Firqbench/scenario=contended/impl=lockfree/producers=8/consumers=8/tenants=64/work=0s/rate=50000/arrivals=poisson-2",
		"Firqbench/scenario=contended/impl=lockfree/producers=8/consumers=8/tenants=64/shards=32/batch=4/work=0s-16",
		"Firqbench/scenario=contended/impl=lockfree/producers=8/consumers=8/tenants=64/idle=1ms-2",
	}
	if !reflect.DeepEqual(names[:6], want) || len(names) != 12 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	for unit, better := range map[string]int{"tasks/s": 1, "queue-p99-sec": -1, "jain-index": 1} {
		if got := r.Units().GetBetter(unit); got != better {
			t.Errorf("%s: better is %d, want %d", unit, got, better)
		}
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, CSV, file()); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll() // as many fields in each
	if err != nil || len(lines) != 7 {
		t.Fatal(len(lines), err)
	}
	at := func(line int, column string) string {
		for i, head := range lines[0] {
			if head == column {
				return lines[line][i]
			}
		}
		t.Fatalf("no column %s in %v", column, lines[0])
		return ""
	}
	for _, c := range []struct {
		line         int
		column, want string
	}{
		{2, "contestant", "channel"}, {3, "round", "1"}, {3, "tasks/s", "2.5e+06"}, {1, "work", "100ns"}, {1, "rate", ""}, {1, "gomaxprocs", "2"},
		{1, "enqueue-p99-ns", "250"}, {4, "rate", "50000"}, {4, "queue-p99-ns", "1e+09"}, {4, "sent/s", "9"}, {4, "enqueue-p99-ns", ""},
		{5, "gomaxprocs", "16"}, {5, "shards", "32"}, {6, "idle", "1ms"}, {6, "tasks/s", ""}, {6, "jain-index", ""},
	} {
		if got := at(c.line, c.column); got != c.want {
			t.Errorf("line %d, %s: %q, want %q", c.line, c.column, got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, JSON, file()); err != nil {
		t.Fatal(err)
	}
	var got report.File
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || !reflect.DeepEqual(&got, file()) {
		t.Errorf("%v, %+v", err, got)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrors(t *testing.T) {
	for _, format := range []string{JSON, CSV, Benchfmt} {
		if err := Write(full{}, format, file()); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", format, err)
		}
		if err := Check(format); err != nil {
			t.Error(err)
		}
	}
	if err := Check("xml"); err == nil || !strings.Contains(err.Error(), "table, json, csv or benchfmt") {
		t.Errorf("xml: %v", err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/gap"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/peers"
)

// call runs the command and returns its exit code and what it wrote.
func call(ctx context.Context, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = command.Execute(ctx, app, append([]string{"peers"}, args...), &o, &e)
	return code, o.String(), e.String()
}

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	chosen := []string{contest.Lockfree, peers.Temporal, peers.Ants, contest.Channel}
	code, out, errOut := call(t.Context(), "--tenants", "4,8", "--consumers", "2", "--rounds", "2", "--duration", "10ms", "--warmup", "1ms",
		"--window", "64", "--work", "0s,1us", "--peers", strings.Join(chosen, ","), "-o", path)
	if code != command.OK {
		t.Fatalf("exit code %d\n%s", code, errOut)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	if f.Schema != schema || f.Interrupted || f.Env.GoVersion == "" || len(f.Run.Contestants) != 4 {
		t.Errorf("%+v", f)
	}
	if len(f.Run.Cells) != 2*2+2+1 || len(f.Run.Cells[0].Runs) != 2*4 { // no work and 1 µs, but of the open loop
		t.Errorf("%d cells: %+v", len(f.Run.Cells), f.Run.Cells)
	}
	if len(f.Gaps) != 2*2 { // two cells without regard to work, two fair contestants
		t.Errorf("gaps: %+v", f.Gaps)
	}
	if v := f.Modules["go.temporal.io/server"]; !strings.HasPrefix(v, "v1.") || !strings.Contains(out, v) {
		t.Errorf("version of Temporal: %q in\n%s", v, out)
	}
	for _, want := range append(chosen, "4 tenants, 2 x 2, no work", "8 tenants, 2 x 2, work 1µs/task", "skewed, 4 tenants, 2 x 2, no work", "open loop, 4 tenants, 2 x 2", "n/a", "(temporal-iwrr)") {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tenants", "a"}, `--tenants: "a"`},
		{[]string{"--tenants", ","}, "--tenants: is empty"},
		{[]string{"--tenants", "0"}, "--tenants: 0"},
		{[]string{"--consumers", "0"}, "--consumers: 0"},
		{[]string{"--consumers", ""}, "--consumers: is empty"},
		{[]string{"--producers", "0"}, "--producers: 0"},
		{[]string{"--window", "0"}, "--window: 0"},
		{[]string{"--rounds", "0"}, "--rounds: 0"},
		{[]string{"--gap-rounds", "-1"}, "--gap-rounds: -1"},
		{[]string{"--duration", "0s"}, "--duration: 0s"},
		{[]string{"--work", "fast"}, `--work: "fast"`},
		{[]string{"--work", ","}, "--work: is empty"},
		{[]string{"--loads", "odd"}, `--loads: "odd", must be even, skewed or open`},
		{[]string{"--loads", ""}, "--loads: is empty"},
		{[]string{"--peers", "loki"}, `--peers: unknown contestant "loki"`},
		{[]string{"--tenant", "4"}, "-tenant"},
		{[]string{"temporal"}, `unknown argument "temporal"`},
	} {
		code, _, errOut := call(t.Context(), c.args...)
		if code != command.Usage || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.args, code, errOut, command.Usage, c.want)
		}
	}
	code, out, _ := call(t.Context(), "--help")
	for _, p := range peers.All() {
		if code != command.OK || !strings.Contains(out, p.Name) {
			t.Errorf("--help: exit code %d, nothing of %s", code, p.Name)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "peers.json")
	code, _, _ := call(ctx, "--peers", contest.Lockfree, "-o", path)
	if code != command.Interrupted {
		t.Errorf("exit code %d", code)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"interrupted": true`) {
		t.Errorf("%s, %v", text, err)
	}
}

// The table says what the file says.
func TestMarkdown(t *testing.T) {
	chosen, err := peers.Select([]string{contest.Lockfree, contest.OneLock, peers.Temporal, peers.Kubernetes, peers.Pond})
	if err != nil {
		t.Fatal(err)
	}
	cell := suite.Cell{Scenario: scenario.Scenario{Name: "64 tenants, 2 x 2"}, Errors: []string{"round 2: lost"}}
	for name, rates := range map[string][]float64{
		contest.Lockfree: {6e6, 9e6}, contest.OneLock: {8e6, 8e6}, peers.Temporal: {2e6, 1.5e6}, peers.Kubernetes: {6e4, 6e4}, peers.Pond: {7e6, 7e6},
	} {
		for round, rate := range rates {
			cell.Runs = append(cell.Runs, suite.Run{Contestant: name, Round: round, Result: load.Result{TasksPerSec: rate, AllocsPerTask: 3, CPUPerTask: 250}})
		}
	}
	f := newFile(&plan{peers: chosen}, machine.Env{GoVersion: "go1.26", Command: "peers -o x"})
	f.Modules = map[string]string{"go.temporal.io/server": "v1.2.3"}
	f.Run.Cells = []suite.Cell{cell}
	for _, g := range []gapRun{
		{Contestant: contest.Lockfree, Result: gap.Result{Gap: 3, Tasks: 256}}, // the largest counts
		{Contestant: contest.Lockfree, Result: gap.Result{Gap: 2, Tasks: 256}},
		{Contestant: peers.Temporal, Error: "gone"},
		{Contestant: peers.Kubernetes, Result: gap.Result{Gap: 15, Tasks: 16}},
	} {
		g.Scenario = cell.Scenario.Name
		f.Gaps = append(f.Gaps, g)
	}
	var out bytes.Buffer
	markdown(&out, f, chosen)
	for _, want := range []string{
		"| `lockfree` | this one | 7.50M · 250ns · 3.00 · 3 |",
		"| `temporal-iwrr` (1) | v1.2.3 | 1.75M · 250ns · 3.00 · - |",
		"| `k8s-fairqueuing` (2) | unknown | 60.0k · 250ns · 3.00 · all 16 |",
		"| `pond` (3) | unknown | 7.00M · 250ns · 3.00 · n/a |",
		"| `lockfree` / `baseline-1` |  | **0.94** [0.75, 1.12] |",
		"**4.50** [3.00, 6.00] (temporal-iwrr)", // the median of 3 and 6: pond is not fair, baseline-1 no peer
		"1. Round robin by task",
		"FAILED, 64 tenants, 2 x 2: round 2: lost",
		"FAILED, gap, 64 tenants, 2 x 2: gone",
		"`peers -o x`",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := f.failures(); err == nil || !strings.Contains(err.Error(), "2 runs") {
		t.Errorf("failures: %v", err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

// The tests start their own binary where the program starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == oneCommand || os.Args[1] == serveCommand) {
		os.Exit(command.Execute(context.Background(), app, os.Args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// call runs the command and returns its exit code and what it wrote.
func call(ctx context.Context, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = command.Execute(ctx, app, append([]string{"cluster"}, args...), &o, &e)
	return code, o.String(), e.String()
}

// Each contestant adds, and all goals are in the tables.
func TestRun(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("processor times of other processes are read from /proc")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "cluster.json")
	code, out, errOut := call(ctx, "--rounds", "1", "--seconds", "0.1", "--calls", "20", "-o", path)
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
	if len(f.Runs) != len(contestants()) || f.Env.GoVersion == "" {
		t.Errorf("%+v", f)
	}
	for _, r := range f.Runs {
		if r.Error != "" || r.Metrics.P50 <= 0 || r.Metrics.Rate <= 0 || len(r.Metrics.Split) < 2 {
			t.Errorf("%+v", r)
		}
	}
	for _, g := range wanted {
		if !strings.Contains(out, g.String()) {
			t.Errorf("no %q in\n%s", g.String(), out)
		}
	}
}

// Ratios are of the same round, and a goal is reached by their median.
func TestGoals(t *testing.T) {
	f := &file{Rounds: 3}
	for round, x := range []float64{10, 20, 40} {
		f.Runs = append(f.Runs, result{Contestant: "nats", Round: round, Metrics: metrics{P50: x, Rate: x, Processor: x}})
		if round < 2 {
			f.Runs = append(f.Runs, result{Contestant: "firqnats", Round: round, Metrics: metrics{P50: 2 * x, Rate: x, Processor: x}})
		}
	}
	f.Runs = append(f.Runs, result{Contestant: "firqnats", Round: 2, Error: "failed"})
	var out strings.Builder
	markdown(&out, f)
	for _, want := range []string{
		"| firqnats: one caller, p50 | at most 1.5 x nats | 2.00 (2.00 to 2.00) | **no** |",
		"| firqnats: 64 callers, processor time per call | at most 1.2 x nats | 1.00 (1.00 to 1.00) | yes |",
		"| firqnats: 64 callers, calls/s | at least 0.8 x nats | 1.00 (1.00 to 1.00) | yes |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--rounds", "0"}, {"--seconds", "NaN"}, {"--contestants", "nats,akka"}, {"--calls", "x"}, {"more"}} {
		if code, _, errOut := call(t.Context(), args...); code != command.Usage || errOut == "" {
			t.Errorf("%q: exit code %d, %s", args, code, errOut)
		}
	}
}

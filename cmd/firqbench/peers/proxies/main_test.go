package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

// The tests start their own binary where the program starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveCommand {
		os.Exit(command.Execute(context.Background(), app, os.Args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// call runs the command and returns its exit code and what it wrote.
func call(ctx context.Context, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = command.Execute(ctx, app, append([]string{"proxies"}, args...), &o, &e)
	return code, o.String(), e.String()
}

// A contestant of each kind, if its program is there, serves both loads.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("processor times of other processes are read from /proc")
	}
	if _, err := exec.LookPath("wrk"); err != nil {
		t.Skip("wrk is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "proxies.json")
	names := "firqproxy-fleet,nginx-conn,haproxy-priority"
	code, out, errOut := call(ctx, "--rounds", "1", "--seconds", "0.5", "--contestants", names, "-o", path)
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
	if len(f.Runs)+len(f.Skipped) != 3 || f.Env.GoVersion == "" {
		t.Errorf("%+v", f)
	}
	for _, r := range f.Runs {
		if m := r.Metrics; r.Error != "" || m.Rate <= 0 || m.Processor <= 0 || m.P50 <= 0 || m.QuietP99 <= 0 || m.Served <= 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, name := range strings.Split(names, ",") {
		if !strings.Contains(out, "| "+name+" | ") {
			t.Errorf("no %s in\n%s", name, out)
		}
	}
}

// Contestants without their program are skipped, and say so; nothing goes without wrk.
func TestSkips(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if code, _, errOut := call(t.Context()); code != command.Failed || !strings.Contains(errOut, "apt-get install wrk") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if err := os.WriteFile(filepath.Join(dir, "wrk"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	code, out, errOut := call(t.Context(), "--contestants", "haproxy,nginx")
	if code != command.OK || !strings.Contains(errOut, "skipped: haproxy: haproxy is not installed") || !strings.Contains(out, "| nginx | skipped: nginx is not installed |") {
		t.Errorf("exit code %d, %s%s", code, out, errOut)
	}
}

func TestParseWrk(t *testing.T) {
	l, err := parseWrk("  Latency Distribution\n     50%  166.00us\n     75%    1.16ms\n  3021 requests in 1.50m, 0.43MB read\n  Non-2xx or 3xx responses: 21\n")
	if want := (load{requests: 3021, refused: 21, took: 90 * time.Second, p50: 166 * time.Microsecond}); err != nil || l != want {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := parseWrk("unable to connect"); err == nil {
		t.Error("no error")
	}
}

// Ratios are of the same round, and a goal is reached by their median.
func TestGoals(t *testing.T) {
	f := &file{Rounds: 3}
	for round, x := range []float64{10, 20, 40} {
		f.Runs = append(f.Runs, result{Contestant: "reverseproxy", Round: round, Metrics: metrics{P50: x, Rate: x, QuietP99: x}})
		if round < 2 {
			f.Runs = append(f.Runs, result{Contestant: "firqproxy", Round: round, Metrics: metrics{P50: 4 * x, Rate: x / 2, QuietP99: x / 10}})
		}
	}
	f.Runs = append(f.Runs, result{Contestant: "firqproxy", Round: 2, Error: "failed"})
	var out strings.Builder
	markdown(&out, f)
	for _, want := range []string{
		"| firqproxy: requests/s, 32 connections | at least 0.9 x reverseproxy | 0.50 (0.50 to 0.50) | **no** |",
		"| firqproxy: quiet tenants beside a flood, p99 | at most 0.3 x reverseproxy | 0.10 (0.10 to 0.10) | yes |",
		"| firqproxy: one connection, p50 | at most 50 µs more than reverseproxy | 40 µs more | yes |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--rounds", "0"}, {"--seconds", "NaN"}, {"--contestants", "nginx,envoy"}, {"more"}} {
		if code, _, errOut := call(t.Context(), args...); code != command.Usage || errOut == "" {
			t.Errorf("%q: exit code %d, %s", args, code, errOut)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/conflict"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/jobs"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// The tests start their own binary where the program starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		os.Exit(command.Execute(context.Background(), app, os.Args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// call runs the command and returns its exit code and what it wrote.
func call(ctx context.Context, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = command.Execute(ctx, app, append([]string{"actors"}, args...), &o, &e)
	return code, o.String(), e.String()
}

func read(t *testing.T, path string) (f file) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// Two rounds of two jobs: the contestants take turns in being first, and every run is in the file and in the tables.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	path := filepath.Join(t.TempDir(), "actors.json")
	code, out, errOut := call(ctx, "--jobs", "call,memory-many", "--rounds", "2", "--seconds", "0.01", "--many", "500", "-o", path)
	if code != command.OK {
		t.Fatalf("exit code %d\n%s", code, errOut)
	}
	f := read(t, path)
	if f.Schema != schema || f.Interrupted || f.Rounds != 2 || f.Env.GoVersion == "" {
		t.Errorf("%+v", f)
	}
	var order []string
	for _, r := range f.Runs {
		order = append(order, r.Job+" "+r.Contestant)
		if r.Error != "" || len(r.Metrics) == 0 {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"call firq", "call hollywood", "call protoactor", "call channel", "memory-many firq",
		"call hollywood", "call firq", "call channel", "call protoactor", "memory-many firq",
	}
	if !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	for _, want := range []string{"| call | p50, µs |", "| memory-many | bytes, B without its state |", "| call of an idle actor, p50 | at most 0.2 x |"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Each contestant is first in some round, and comes after each other one.
func TestOrder(t *testing.T) {
	all := peers.All()
	p := &plan{peers: all}
	first, after := map[string]bool{}, map[[2]string]bool{}
	for round := range 2 * len(all) {
		order := p.order(round)
		if len(order) != len(all) {
			t.Fatalf("%d contestants", len(order))
		}
		first[order[0].Name] = true
		for i := range order[1:] {
			after[[2]string{order[i].Name, order[i+1].Name}] = true
		}
	}
	if len(first) != len(all) {
		t.Errorf("first are only %v", first)
	}
	if len(after) < 2*len(all) {
		t.Errorf("followed are only %v", after)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"what"}, `unknown argument "what"`}, {[]string{"--jobs", "tell"}, `--jobs: unknown job "tell"`},
		{[]string{"--contestants", "akka"}, `--contestants: unknown contestant "akka"`}, {[]string{"--rounds", "0"}, "--rounds: 0, must be 1 to 1000"},
		{[]string{"--seconds", "0"}, "--seconds: 0, must be"}, {[]string{"--seconds", "NaN"}, "--seconds: NaN"},
		{[]string{"--actors", "-1"}, "--actors: -1"}, {[]string{"--many", "0"}, "--many: 0"}, {[]string{"--spawn", "0"}, "--spawn: 0"},
		{[]string{"--what"}, "what"}, {[]string{childCommand, "{"}, childCommand},
	} {
		code, _, errOut := call(t.Context(), c.args...)
		if code != command.Usage || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, %q, want %q", c.args, code, errOut, c.want)
		}
	}
	code, out, _ := call(t.Context(), "--help")
	for _, want := range []string{"quiet-flooded", "protoactor", "--contestants", "Exit codes"} {
		if code != command.OK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, out)
		}
	}
	if strings.Contains(out, "\n   "+childCommand) {
		t.Errorf("the help shows what is not for people:\n%s", out)
	}
}

// Ctrl-C in the middle: exit code 130, and the file says so.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := filepath.Join(t.TempDir(), "actors.json")
	done := make(chan int, 1)
	go func() {
		done <- command.Execute(ctx, app, []string{"actors", "--jobs", "call", "--rounds", "900", "--seconds", "0.01", "-o", path}, &bytes.Buffer{}, &watched{"round 2", cancel})
	}()
	select {
	case code := <-done:
		if code != command.Interrupted {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
	if f := read(t, path); !f.Interrupted || len(f.Runs) < 2*len(peers.All()) {
		t.Errorf("%+v", f)
	}
}

// watched calls seen when it was written what is wanted.
type watched struct {
	want string
	seen func()
}

func (w *watched) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.want) {
		w.seen()
	}
	return len(p), nil
}

// A child that fails, and one that takes too long, are errors that say so.
func TestChild(t *testing.T) {
	good := request{Job: "call", Contestant: peers.Channel, Size: jobs.Size{Duration: time.Millisecond}}
	if m, err := good.start(t.Context(), 10*time.Second); err != nil || m["p50"] <= 0 {
		t.Errorf("%v, %v", m, err)
	}
	bad := request{Job: "call", Contestant: "akka"}
	if m, err := bad.start(t.Context(), 10*time.Second); err == nil || !strings.Contains(err.Error(), `unknown contestant "akka"`) {
		t.Errorf("%v, %v", m, err)
	}
	endless := good
	endless.Size.Duration = time.Hour
	if m, err := endless.start(t.Context(), 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "has not ended after 100ms") {
		t.Errorf("%v, %v", m, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := good.start(ctx, 10*time.Second); err == nil {
		t.Errorf("%v", m)
	}
}

// Both libraries that register the same file are in this binary, which has started; its children have the variable.
func TestConflict(t *testing.T) {
	if os.Getenv(conflict.Variable) == "" {
		t.Errorf("%s is not set", conflict.Variable)
	}
}

func TestTail(t *testing.T) {
	if got := tail(" abc\n"); got != "abc" {
		t.Errorf("%q", got)
	}
	if got := tail("panic" + strings.Repeat("x", 5000) + "end"); len(got) > 1000 || !strings.HasPrefix(got, "panic") || !strings.HasSuffix(got, "end") {
		t.Errorf("%q", got)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// call runs the command line and returns the exit code and both outputs.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return callWith(t.Context(), args...)
}

func callWith(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = command.Execute(ctx, app, keepBetween(append([]string{"firqbench"}, args...)), &out, &err)
	return code, out.String(), err.String()
}

// tiny makes a run short.
var tiny = []string{"--rounds", "1", "--duration", "5ms", "--warmup", "1ms", "--work", "0s"}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const smallTrace = "at_ms,tenant,cost\n0,a,3\n1,b,1\n2,a,5\n9,c,2\n"

func TestHelp(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "firqbench run zipf"}, {[]string{"--help"}, "130 interrupted"}, {[]string{"run", "--help"}, "firqbench run --skip"},
		{[]string{"replay", "-h"}, "firqbench replay trace.csv"}, {[]string{"list", "--help"}, "firqbench list"},
		{[]string{"env", "--help"}, "firqbench env --json"}, {[]string{"--version"}, "firqbench version "},
		{[]string{"sweep", "--help"}, "firqbench sweep zipf"}, {[]string{"compare", "--help"}, "firqbench compare old.json new.json"},
		{[]string{"completion", "--help"}, "firqbench completion fish"}, {nil, "completion    print a script"},
		{[]string{"run", "--help"}, "--mutexprofile FILE"}, {[]string{"replay", "--help"}, "--trace FILE"},
		{[]string{"live", "--help"}, "the Host header is not checked"}, {[]string{"run", "--help"}, "the Host header is not checked"},
	} {
		if code, out, errOut := call(t, c.args...); code != command.OK || !strings.Contains(out, c.want) || errOut != "" {
			t.Errorf("%v: exit code %d, %q is missing in\n%s\n%s", c.args, code, c.want, out, errOut)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	good := write(t, "t.csv", smallTrace)
	for _, c := range []struct{ args, want string }{
		{"rum", `unknown command "rum"; there are run, sweep, replay, compare, matrix, instructions, report, live, list, env, completion`},
		{"model", "model is gone"},
		{"--nope", "-nope"},
		{"list zipf", `unknown argument "zipf"`},
		{"env now", `unknown argument "now"`},
		{"completion tcsh", `completion: "tcsh", must be one of bash, fish, pwsh, zsh`},
		{"completion", `completion: "", must be one of bash`},
		{"run --nope", "-nope"},
		{"run --rounds x", `--rounds: "x", must be a whole number`},
		{"run --producers 2,4", `--producers: "2,4", must be one value, a whole number, not a list`},
		{"run --duration 5", `--duration: "5", must be a duration such as 500ms`},
		{"run --skew much", `--skew: "much", must be a number`},
		{"run --rounds 0", "--rounds: 0"},
		{"run --duration 0s", "--duration: 0s"},
		{"run --producers 0", "--producers: 0, must be 1 to"},
		{"run --work fast", `--work: "fast"`},
		{"run --work -1ns", `--work: "-1ns"`},
		{"run --work ,", "--work: is empty"},
		{"run --gomaxprocs 0", "--gomaxprocs: 0"},
		{"run --cpus 100000", "--cpus: "},
		{"run --cpus 0", "--cpus: "},
		{"run zip", `unknown scenario "zip"; there are ` + strings.Join(scenario.Names(), ", ")},
		{"run --only zip", `unknown scenario "zip"`},
		{"run zipf --skip zipf", "no scenario is left"},
		{"run --contestants channel,nobody", `unknown contestant "nobody"; there are lockfree, baseline-1`},
		{"run --rate fast", `--rate: "fast"`},
		{"run --rate ,", "--rate: is empty"},
		{"run --rate 5 --arrivals often", `--arrivals: "often", must be one of constant, poisson`},
		{"run --arrivals poisson", "--arrivals: needs --rate"},
		{"run uncontended --rate 5", "--rate: uncontended is a closed loop"},
		{"run --format xml", `--format: "xml", must be table`},
		{"sweep --cores 0", `--cores: "0", must be 1 to 1024`},
		{"sweep --cores 1000", "(or --no-pin)"},
		{"sweep --tenants many", `--tenants: "many", must be a number, one such as 2x`},
		{"sweep zipf --tenants 1", "--tenants: 1, zipf needs 2"},
		{"sweep --rounds 0", "--rounds: 0"},
		{"sweep --work ,", "--work: is empty"},
		{"sweep uncontended --rate 5", "--rate: uncontended is a closed loop"},
		{"sweep --contestants nobody", `unknown contestant "nobody"`},
		{"sweep -o .", "--output: . is a directory"},
		{"compare", "compare needs one or two files, or OLD... -- NEW..., there are 0"},
		{"compare a -- -x", "-x: options come before the --"},
		{"compare a --", "compare needs files on both sides of --, there are 1 and 0"},
		{"compare -- a", "compare needs files on both sides of --, there are 0 and 1"},
		{"compare a b c", "there are 3"},
		{"compare a", "--contestants REFERENCE,OTHER"},
		{"compare a b --threshold much", `--threshold: "much", must be a part such as 5% or 0.05`},
		{"compare a b --threshold -1", `--threshold: "-1"`},
		{"compare a b --alpha 0", "--alpha: 0, must be between 0 and 1"},
		{"compare a b --metrics speed", `--metrics: unknown metric "speed"; there are tasks/s`},
		{"compare a b --format xml", `--format: "xml"`},
		{"replay", "replay needs one FILE, there are 0"},
		{"replay a b", "replay needs one FILE, there are 2"},
		{"replay --speed fast " + good, `--speed: "fast"`},
		{"replay --speed -1 " + good, `--speed: "-1"`},
		{"replay --workers 0 " + good, "--workers: 0, must be positive"},
		{"replay --workers 8,x " + good, `--workers: "x", must be a whole number, or a list such as 8,32`},
		{"replay --workers 8,8 " + good, "--workers: 8 is there twice"},
		{"replay --workers , " + good, "--workers: is empty"},
		{"replay --workers 1,2 -o x.json " + good, "--output: x.json: 2 numbers of workers give as many files; name a directory"},
		{"replay --rounds 0 " + good, "--rounds: 0, must be positive"},
		{"replay --load 0 " + good, "--load: must be positive"},
		{"replay --speed 1 --duration 1s " + good, "--speed and --duration"},
		{"replay --contestants channel " + good, `unknown contestant "channel"; there are fifo`},
		{"replay --service 500h " + good, "choose a higher --speed"},
	} {
		code, out, errOut := call(t, strings.Fields(c.args)...)
		if code != command.Usage || !strings.Contains(errOut, c.want) || out != "" {
			t.Errorf("%s: exit code %d, want %d and %q\n%s\n%s", c.args, code, command.Usage, c.want, out, errOut)
		}
		if strings.Contains(errOut, "See") != strings.Contains(errOut, "--help") {
			t.Errorf("%s: no way to the help in %s", c.args, errOut)
		}
	}
}

func TestFailures(t *testing.T) {
	bad := write(t, "bad.csv", smallTrace+"10,a,much\n")
	missing := filepath.Join(t.TempDir(), "no", "such")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"replay", missing}, missing},
		{[]string{"replay", bad}, bad + `:6: cost: "much" is not a whole number`},
		{append([]string{"run", "uncontended", "--cpuprofile", missing}, tiny...), missing},
		{append([]string{"run", "uncontended", "-o", bad + "/x.json"}, tiny...), bad},
	} {
		if code, _, errOut := call(t, c.args...); code != command.Failed || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", c.args, code, command.Failed, c.want, errOut)
		}
	}
}

func TestListAndEnv(t *testing.T) {
	code, out, _ := call(t, "list")
	for _, name := range scenario.Names() {
		if code != command.OK || !strings.Contains(out, name) {
			t.Errorf("list: exit code %d, %s is missing in\n%s", code, name, out)
		}
	}
	if code, out, _ := call(t, "env"); code != command.OK || !strings.Contains(out, "GOMAXPROCS") || !strings.Contains(out, "kernel") {
		t.Errorf("env: exit code %d\n%s", code, out)
	}
	var env machine.Env
	if code, out, _ := call(t, "env", "--json"); code != command.OK || json.Unmarshal([]byte(out), &env) != nil || env.Cores < 1 || env.CPU == "" {
		t.Errorf("env --json: exit code %d\n%s", code, out)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{
		"run", "uncontended", "ping_pong", "--contestants", "baseline,channel", "-o", dir + "/results/",
		"--memprofile", dir + "/mem", "--mutexprofile", dir + "/mutex", "--blockprofile", dir + "/block",
		"--cpuprofile", dir + "/cpu", "--trace", dir + "/trace",
	}, tiny...)
	code, out, errOut := call(t, args...)
	if code != command.OK {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	for _, want := range []string{"uncontended: ", "ping_pong: ", "baseline-1", "channel", "How to read"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for _, name := range []string{"mem", "mutex", "block", "cpu", "trace"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	files, _ := filepath.Glob(dir + "/results/run-*.json")
	if len(files) != 1 || !strings.Contains(errOut, "wrote "+files[0]) {
		t.Fatalf("results %v\n%s", files, errOut)
	}
	f, err := report.ReadFile(files[0])
	if err != nil || f.Interrupted || len(f.Run.Cells) != 3 || len(f.Run.Cells[0].Runs) != 2 || f.Env.GoVersion == "" ||
		f.Run.Cells[0].Runs[0].Delivered == 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// --cpus is in the result, Go uses as many, and it ends with the run.
func TestPinned(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("pinning needs Linux") // elsewhere TestUsageErrors sees it refused
	}
	before := runtime.GOMAXPROCS(0)
	for _, c := range []struct {
		extra []string
		procs int
	}{{nil, 1}, {[]string{"--gomaxprocs", "2"}, 2}} {
		path := filepath.Join(t.TempDir(), "r.json")
		args := append(append([]string{"run", "uncontended", "--contestants", "channel", "--cpus", "1", "-o", path}, tiny...), c.extra...)
		code, out, errOut := call(t, args...)
		if n := runtime.GOMAXPROCS(before); c.extra == nil && n != before { // --gomaxprocs stays
			t.Errorf("GOMAXPROCS is %d afterwards, was %d", n, before)
		}
		if code != command.OK || !strings.Contains(out, ", pinned to [") {
			t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
		}
		f, err := report.ReadFile(path)
		if err != nil || len(f.Env.Pinned) != 1 || f.Env.GOMAXPROCS != c.procs {
			t.Errorf("%v: %+v, %v", c.extra, f, err)
		}
	}
	want := fmt.Sprintf("--cpus: 100000, must be 1 to %d,", runtime.NumCPU())
	if _, _, errOut := call(t, "run", "--cpus", "100000"); !strings.Contains(errOut, want) {
		t.Errorf("still pinned: got %s, want %s", errOut, want)
	}
}

func TestReplay(t *testing.T) {
	path := write(t, "t.csv", smallTrace)
	for _, extra := range [][]string{
		{"--duration", "20ms"}, {"--speed", "max", "--service", "1us"}, {"--speed", "1x", "--workers", "2", "--busiest", "0", "--in-flight", "1"},
	} {
		result := filepath.Join(t.TempDir(), "r.json")
		code, out, errOut := call(t, append([]string{"replay", path, "-o", result}, extra...)...)
		if code != command.OK || !strings.Contains(out, "quiet tenants") || !strings.Contains(out, "lockfree") {
			t.Fatalf("%v: exit code %d\n%s\n%s", extra, code, out, errOut)
		}
		f, err := report.ReadFile(result)
		if err != nil || len(f.Replay.Results) != 4 || f.Replay.Results[0].Delivered != 4 {
			t.Errorf("%v: %+v, %v", extra, f, err)
		}
	}
}

// A list of workers gives a table and a file for each, which the report can draw together.
func TestReplayWorkers(t *testing.T) {
	path, dir := write(t, "t.csv", smallTrace), t.TempDir()
	code, out, errOut := call(t, "replay", path, "--workers", "1,2", "--duration", "20ms", "--contestants", "fifo", "-o", dir+"/")
	if code != command.OK || !strings.Contains(out, "; 1 workers, ") || !strings.Contains(out, "; 2 workers, ") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	files, err := filepath.Glob(filepath.Join(dir, "replay-*w-*.json"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		f, err := report.ReadFile(file)
		if err != nil || f.Replay.Plan.Workers != i+1 || f.Replay.Results[0].Delivered != 4 {
			t.Errorf("%s: %+v, %v", file, f, err)
		}
	}
}

func TestReplayRounds(t *testing.T) {
	path := write(t, "t.csv", smallTrace)
	result := filepath.Join(t.TempDir(), "r.json")
	code, out, errOut := call(t, "replay", path, "-o", result, "--speed", "max", "--service", "1us", "--rounds", "3", "--contestants", "fifo,lockfree")
	if code != command.OK || !strings.Contains(out, "p99 of the passes") || strings.Contains(out, "not finished") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	want := []string{"fifo", "lockfree", "lockfree", "fifo", "fifo", "lockfree"}
	var order []string
	for line := range strings.Lines(errOut) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "replaying with "); found {
			order = append(order, name)
		}
	}
	if want = slices.Compact(want); !slices.Equal(order, want) { // it is said when another one begins
		t.Errorf("order %q, want %q", order, want)
	}
	f, err := report.ReadFile(result)
	if err != nil || len(f.Replay.Results) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	for i, res := range f.Replay.Results {
		all := res.Groups[0]
		if res.Contestant != want[i] || res.Rounds != 3 || res.Delivered != 12 || all.Queue.Samples != 12 || all.Requests != 4 || len(all.P99s) != 3 ||
			all.Queue.Max < slices.Max(all.P99s) || res.Lag.Samples != 12 {
			t.Errorf("%+v", res)
		}
	}
}

// interrupted cancels its context when the marker has been written.
type interrupted struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	marker string
	cancel context.CancelFunc
}

func (w *interrupted) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.marker) {
		w.cancel()
	}
	return len(p), nil
}

func TestInterrupt(t *testing.T) {
	path := write(t, "t.csv", smallTrace)
	for _, c := range []struct {
		args         []string
		marker, want string
	}{
		{append([]string{"run", "uncontended", "contended"}, tiny...), "] contended, no work", "uncontended: "},
		{[]string{"replay", path, "--duration", "1h"}, "replaying with", "requests of"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		result := filepath.Join(t.TempDir(), "r.json")
		var out bytes.Buffer
		errOut := interrupted{marker: c.marker, cancel: cancel}
		code := command.Execute(ctx, app, append([]string{"firqbench"}, append(c.args, "-o", result)...), &out, &errOut)
		if code != command.Interrupted || !strings.Contains(out.String(), c.want) || !strings.Contains(errOut.buf.String(), "interrupted") {
			t.Errorf("%v: exit code %d\n%s\n%s", c.args, code, &out, &errOut.buf)
		}
		if f, err := report.ReadFile(result); err != nil || !f.Interrupted {
			t.Errorf("%v: %+v, %v", c.args, f, err)
		}
		cancel()
	}
}

func TestParseSpeed(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "max": math.Inf(1), "MAX": math.Inf(1), "0": math.Inf(1), "2.5": 2.5, "10x": 10} {
		if got, err := parseSpeed(text); err != nil || got != want {
			t.Errorf("parseSpeed(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"x", "-1", "NaN", "1y"} {
		if got, err := parseSpeed(bad); err == nil {
			t.Errorf("parseSpeed(%q) = %v", bad, got)
		}
	}
}

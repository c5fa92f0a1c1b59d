package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
)

// call runs the command and returns its exit code and what it wrote.
func call(ctx context.Context, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = command.Execute(ctx, app, append([]string{"queues"}, args...), &o, &e)
	return code, o.String(), e.String()
}

// needServer skips where there is no server, which CI must have.
func needServer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestRun(t *testing.T) {
	needServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	path := filepath.Join(t.TempDir(), "queues.json")
	code, out, errOut := call(ctx, "--tasks", "300", "--rounds", "2", "--workers", "4,8", "--tenants", "5", "--crowd", "100", "--noisy", "500",
		"--samples", "16", "--least-pause", "1ms", "--most-pause", "9ms", "-o", path)
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
	if f.Schema != schema || f.Interrupted || f.Env.GoVersion == "" || f.Server == "" || f.Modules["github.com/hibiken/asynq"] == "" {
		t.Errorf("%+v", f)
	}
	for name, n := range map[string][2]int{
		"throughput": {len(f.Throughput), 2 * 2 * 3}, "single": {len(f.Single), 2 * 2}, "latency": {len(f.Latency), 4},
		"memory": {len(f.Memory), 4}, "batches": {len(f.Batches), 2 * 4}, "crowd": {len(f.Crowd), 2 * 2}, "fairness": {len(f.Fairness), 4}, "bound": {len(f.Bound), 2 * 4}, "spread": {len(f.Spread), 2},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d results, want %d", name, n[0], n[1])
		}
	}
	if f.Throughput[0].System != firqName || f.Throughput[3].System != asynqName {
		t.Errorf("rounds do not alternate: %+v", f.Throughput)
	}
	for _, r := range f.Throughput {
		for _, p := range []phase{r.Enqueue, r.Process, r.Both} {
			if p.Tasks != 300 || p.Seconds <= 0 || p.ServerUs <= 0 || p.ClientUs <= 0 || p.Scripts <= 0 {
				t.Errorf("%s: %+v", r.System, p)
			}
		}
	}
	for _, l := range f.Latency {
		if len(l.Times) != 16 || l.Times[0] <= 0 || l.Least != time.Millisecond || l.Most != 9*time.Millisecond { // the same for all
			t.Errorf("%+v", l)
		}
	}
	for _, m := range f.Memory {
		if m.Bytes < payloadBytes {
			t.Errorf("%+v: less than the payload", m)
		}
	}
	for _, r := range f.Fairness {
		if r.System == firqName && r.Last > 202 || r.System == asynqName && r.Last < 600 {
			t.Errorf("%+v", r)
		}
	}
	for _, b := range f.Bound { // theorem 7
		if b.Share <= 0 || b.Share > 1 || b.Deliveries < 200 {
			t.Errorf("%+v", b)
		}
	}
	for _, want := range []string{"| 8 | ratio |", "| 8 | ratio to that |", "| asynq, TaskCheckInterval 1 ms | 16 |", "| firqredis | 64 | 500 | 100 |", "| goal |"} {
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
		{[]string{"--workers", "a"}, `--workers: "a"`},
		{[]string{"--workers", "0"}, `--workers: "0"`},
		{[]string{"--workers", ","}, "--workers: is empty"},
		{[]string{"--parts", "loki"}, `--parts: unknown part "loki"`},
		{[]string{"--parts", ","}, "--parts: is empty"},
		{[]string{"--appendfsync", "sometimes"}, `--appendfsync: "sometimes"`},
		{[]string{"--tasks", "0"}, "--tasks: 0"},
		{[]string{"--rounds", "-1"}, "--rounds: -1"},
		{[]string{"--crowd", "0"}, "--crowd: 0"},
		{[]string{"--worker", "4"}, "-worker"},
		{[]string{"--least-pause", "0s"}, "--least-pause"},
		{[]string{"--least-pause", "7s"}, "--most-pause"},
		{[]string{"asynq"}, `unknown argument "asynq"`},
	} {
		code, _, errOut := call(t.Context(), c.args...)
		if code != command.Usage || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.args, code, errOut, command.Usage, c.want)
		}
	}
	code, out, _ := call(t.Context(), "--help")
	for _, p := range parts {
		if code != command.OK || !strings.Contains(out, p.Name) {
			t.Errorf("--help: exit code %d, nothing of %s", code, p.Name)
		}
	}
}

func TestNoServer(t *testing.T) {
	code, _, errOut := call(t.Context(), "--server", "no-such-server")
	if code != command.OK || !strings.Contains(errOut, "skipped: there is no redis-server in PATH") || !strings.Contains(errOut, "no-such-server") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	// One that ends immediately: an error within its time, with what it said.
	code, _, errOut = call(t.Context(), "--server", "false")
	if code != command.Failed || !strings.Contains(errOut, "false: has ended") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}

// The server keeps what its options say, and the file says so.
func TestAppendfsync(t *testing.T) {
	needServer(t)
	for appendfsync, want := range map[string]string{"off": "no", "everysec": "everysec", "always": "always"} {
		s, err := startServer(t.Context(), "redis-server", appendfsync)
		if err != nil {
			t.Fatal(err)
		}
		got := s.admin.ConfigGet(t.Context(), "append*").Val()
		if kept := got["appendonly"] == "yes"; kept != (appendfsync != "off") || kept && got["appendfsync"] != want {
			t.Errorf("%s: %v", appendfsync, got)
		}
		if strings.Contains(s.version, "appendfsync "+want) != (appendfsync != "off") {
			t.Errorf("%s: %q", appendfsync, s.version)
		}
		s.stop()
	}
}

// Ctrl-C in the middle: exit code 130, and the file says so.
func TestInterrupted(t *testing.T) {
	needServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := filepath.Join(t.TempDir(), "queues.json")
	done := make(chan int, 1)
	errOut := &watched{want: "throughput", seen: cancel}
	go func() {
		done <- command.Execute(ctx, app, []string{"queues", "--tasks", "200", "--workers", "4", "--rounds", "500", "-o", path}, &bytes.Buffer{}, errOut)
	}()
	select {
	case code := <-done:
		if code != command.Interrupted {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"interrupted": true`) {
		t.Errorf("%s, %v", text, err)
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

// The tables say what the file says, and "no" where a goal is not reached.
func TestMarkdown(t *testing.T) {
	f := &file{Schema: schema, Env: machine.Env{Command: "queues -o x"}, Server: "Redis 7", Rounds: 2, Tasks: 100}
	for round, us := range []float64{10, 20} {
		for _, system := range systems(round) {
			p := phase{Tasks: 100, Seconds: 0.01, ServerUs: us, ClientUs: 7, Scripts: 3}
			if system == asynqName {
				p.ServerUs, p.Seconds = 2*us, 0.03
			}
			f.Throughput = append(f.Throughput, throughput{System: system, Workers: 16, Round: round, Enqueue: p, Process: p, Both: p})
			if system == firqName {
				q := phase{Tasks: 100, Seconds: 0.05, ServerUs: us / 3, ClientUs: 7, Scripts: 3}
				f.Throughput = append(f.Throughput, throughput{System: asynqQueues, Workers: 16, Round: round, Enqueue: q, Process: q, Both: q})
			}
			p.ServerUs = map[string]float64{firqName: 30, asynqName: 10}[system]
			f.Single = append(f.Single, single{System: system, Round: round, phase: p})
		}
		for _, n := range []int{64, 10_000} {
			p := phase{Tasks: 1, Seconds: 1, ServerUs: math.Sqrt(float64(n))}
			f.Crowd = append(f.Crowd, crowd{Tenants: n, Round: round, Enqueue: p, Process: p})
		}
	}
	f.Latency = []latency{{
		System: firqName, Workers: 64, Times: []time.Duration{500 * time.Microsecond, 2 * time.Millisecond, 6 * time.Millisecond}, Scripts: 3, Idle: 0.5, IdleCPU: 1e4,
		Least: 500 * time.Millisecond, Most: 6 * time.Second,
	}}
	f.Memory = []memory{{firqName, 64, 100, 350}, {asynqName, 1, 100, 700}}
	f.Bound = []bound{{Batch: 4, Deliveries: 10, Gap: 2, Share: 0.5}, {Batch: 4, Deliveries: 10, Gap: 1, Share: 1.5}}
	f.Spread = []spread{{Deliveries: 1300, Least: 460, Most: 465}, {Deliveries: 1300, Least: 470, Most: 475}}
	f.Batches = []batch{{Size: 10, Enqueue: phase{ServerUs: 10}, Dequeue: phase{ServerUs: 20}, Ack: phase{ServerUs: 10}}}
	f.Fairness = []fairness{{firqName, 64, 1000, 100, 2, 203}}
	var b bytes.Buffer
	markdown(&b, f)
	out := b.String()
	for _, want := range []string{
		"| 16 | ratio | **3.00** (**0.50**) | **3.00** (**0.50**) | **3.00** (**0.50**) | **3.00** (**0.50**) | 1.00 | 1.00 |",
		"| 16 | firqredis | 10.0k ±0 % (15.0) | 10.0k ±0 % (15.0) | 5.00k ±0 % (30.0) |",
		"| ratio | 3.00 | **3.00** |",
		"| 64 idle workers, pauses of 500ms to 6s |", "| firqredis | 3 | 2ms | 6ms | 6ms | 33 % | 3.00 | 0.5 | 1.00 % |",
		"| 16 | asynq, a queue per tenant | 2.00k ±0 % (5.0) |", "| 16 | ratio to that | **5.00** (**3.00**) |",
		"| 10000 | 100.0 | 100.0 | 200.0 |", "| ratio | **12.50** | **12.50** | **12.50** |",
		"| 1, 1 | 1 to 4 | 20 | 2.00 | **1.50** |", "| the worst difference, of its bound | at most 1.00 | 1.50 | **no** |",
		"| the extremes of all rounds | 1300 | **460** | **475** | 100 |",
		"| across partitions, least served | at least 459 | 460 | yes |", "| across partitions, most served | at most 468 | 475 | **no** |",
		"| 10 | 10.0 | 20.0 | 10.0 | 40.0 | 25.0k/s |",
		"| firqredis | 64 | 1000 | 100 | 2 | **203** |",
		"| tasks/s, 16 workers, both at once | at least 2.00 x | 3.00 x | yes |",
		"| server CPU, 16 workers, both at once | at most 0.80 x | 0.50 x | yes |",
		"| server CPU of a single Enqueue, one connection | at most 2.00 x | 3.00 x | **no** |",
		"| idle latency, p50, ms | at most 1.00 | 2.00 | **no** |", "| idle latency, p99, ms | at most 5.00 | 6.00 | **no** |",
		"| bytes per queued task, 64 tenants | at most 400 | 350 | yes |", "| the same against asynq, 64 tenants | at most 0.60 x | 0.50 x | yes |",
		"| the last of 100, 64 workers | at most 202 | 203 | **no** |",
		"`queues -o x`",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Nothing that was not measured is in the tables, and no goal is said to be missed by it.
func TestMarkdownOfNothing(t *testing.T) {
	var b bytes.Buffer
	markdown(&b, &file{})
	if out := b.String(); strings.Contains(out, "NaN") || strings.Contains(out, "**no**") || strings.Contains(out, "| ratio |") || strings.Contains(out, "goal") {
		t.Error(out)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"
	"go.uber.org/goleak"

	"github.com/firq-go/firq/contrib/firqredis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a server and what command lines meet.
type bed struct {
	*testing.T
	server *miniredis.Miniredis
	env    map[string]string
}

// nowhere is an address where nobody answers.
const nowhere = "127.0.0.1:1"

func newBed(t *testing.T) *bed {
	t.Helper()
	s := miniredis.RunT(t)
	return &bed{t, s, map[string]string{"FIRQ_REDIS_ADDR": s.Addr()}}
}

// patience is how long a command line has.
const patience = 30 * time.Second

// run runs a command line, and returns its exit code and both outputs.
func (b *bed) run(args ...string) (code int, stdout, stderr string) {
	return b.runWith("", args...)
}

func (b *bed) runWith(input string, args ...string) (code int, stdout, stderr string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	var out, errOut bytes.Buffer
	p := program{strings.NewReader(input), &out, &errOut, b.env}
	code = p.execute(ctx, args)
	if ctx.Err() != nil {
		b.Fatalf("%q has not ended within %v\n%s\n%s", args, patience, out.String(), errOut.String())
	}
	return code, out.String(), errOut.String()
}

// want runs a command line and returns its output; it has to end with the code, and to write the texts to
// either output.
func (b *bed) want(code int, line string, texts ...string) string {
	b.Helper()
	return b.wants(code, strings.Fields(line), texts...)
}

func (b *bed) wants(code int, args []string, texts ...string) string {
	b.Helper()
	got, out, errOut := b.run(args...)
	if got != code {
		b.Errorf("firqd %q: exit code %d, want %d\n%s%s", args, got, code, out, errOut)
	}
	if (errOut != "") != (code != exitOK) {
		b.Errorf("firqd %q: exit code %d and errors %q", args, got, errOut)
	}
	for _, text := range texts {
		if !strings.Contains(out+errOut, text) {
			b.Errorf("firqd %q: %q is missing in\n%s%s", args, text, out, errOut)
		}
	}
	return out
}

// read runs a command line with --json, and reads what it prints.
func read[V any](b *bed, code int, args ...string) (v V) {
	b.Helper()
	out := b.wants(code, append(args, "--json"))
	d := json.NewDecoder(strings.NewReader(out))
	if err := d.Decode(&v); err != nil {
		b.Fatalf("firqd %q --json: %v in\n%s", args, err, out)
	}
	return v
}

// queue returns a client of the queue.
func (b *bed) queue() *firqredis.Queue[payload] {
	b.Helper()
	client := redis.NewClient(&redis.Options{Addr: b.server.Addr()})
	q, err := firqredis.New(b.Context(), firqredis.Config[payload]{Client: client, Codec: codec{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := q.Close(); err != nil {
			b.Error(err)
		}
		_ = client.Close()
	})
	return q
}

// dead makes dead letters, of the tenant "t", with their ids as reasons.
func (b *bed) dead(q *firqredis.Queue[payload], ids ...string) {
	b.Helper()
	for _, id := range ids {
		body, _ := json.Marshal(map[string]string{"of": id}) // a map of strings cannot fail
		if _, err := q.Enqueue(b.Context(), firqredis.Task[payload]{ID: id, Tenant: "t", Payload: body, Headers: map[string]string{"k": "v"}}); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(b.Context(), patience)
		it, err := q.From([]string{"t"}, nil).Dequeue(ctx)
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		if err := q.Nack(b.Context(), it, firqredis.Retry{Reason: "no " + id, Dead: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// interrupted runs a command line until its output has the marker so many times, and then sends Ctrl-C.
func (b *bed) interrupted(in io.Reader, marker string, times int, args ...string) (code int, stdout, stderr string) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	out := &watcher{marker: marker, left: times, then: cancel}
	var errOut bytes.Buffer
	ended := make(chan int, 1)
	go func() { p := program{in, out, &errOut, b.env}; ended <- p.execute(ctx, args) }()
	select {
	case code = <-ended:
	case <-time.After(patience):
		b.Fatalf("firqd %q has not ended", args)
	}
	return code, out.text(), errOut.String()
}

// watcher calls a function when it has seen a marker so many times, and each time after that.
type watcher struct {
	mu     sync.Mutex
	all    bytes.Buffer
	marker string
	left   int
	then   func()
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Count(w.all.String(), w.marker)
	w.all.Write(p)
	n := strings.Count(w.all.String(), w.marker) - before
	if w.left -= n; n > 0 && w.left <= 0 {
		w.then()
	}
	return len(p), nil
}

func (w *watcher) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// Every command has a help with examples.
func TestHelp(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_REDIS_ADDR": nowhere}}
	n := 0
	var visit func(cmd *cli.Command, args []string)
	visit = func(cmd *cli.Command, args []string) {
		n++
		texts := []string{cmd.Usage}
		if len(cmd.Commands) == 0 {
			texts = append(texts, "Example", "firqd "+strings.Join(args, " "))
		}
		b.wants(exitOK, append(args, "--help"), texts...)
		for _, c := range cmd.Commands {
			visit(c, append(args[:len(args):len(args)], c.Name))
		}
	}
	visit((&program{}).app(), nil)
	if n != 26 {
		t.Errorf("%d commands", n)
	}
	b.want(exitOK, "", "firqd serve", "4 doctor found a problem")
	b.want(exitOK, "dlq", "requeue")
	b.want(exitOK, "--version", "firqd version ")
}

// What is wrong is said, and nobody is asked: there is no server here.
func TestUsageErrors(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_REDIS_ADDR": nowhere}}
	for _, c := range []struct{ args, want string }{
		{"rum", `unknown command "rum"; there are serve, enqueue,`},
		{"dlq rum", `unknown command "rum"; there are list, show`},
		{"--nope", "-nope"},
		{"stats --nope", "-nope"},
		{"stats more", `takes no arguments: "more"`},
		{"stats --partitions x", "partitions"},
		{"stats --partitions -1", "queue.partitions: -1"},
		{"stats --addr here", `redis.addr: "here", must be host:port`},
		{"stats --queue a{b", "queue.name"},
		{"stats --config /no/such/file", "/no/such/file"},
		{"top --by size", `--by: "size", must be queued, in-flight or oldest`},
		{"top -n 0", "-n: 0"},
		{"enqueue", "needs a PAYLOAD"},
		{"enqueue text", `PAYLOAD 1: "text" is not valid JSON`},
		{"enqueue 1 {", `PAYLOAD 2: "{" is not valid JSON`},
		{"enqueue --id x 1 2", "--id: is for one PAYLOAD"},
		{"enqueue --priority 7 1", `--priority: "7", must be 1 to 6`},
		{"enqueue --at tomorrow 1", `--at: "tomorrow", must be a time`},
		{"enqueue --deadline 5m 1", `--deadline: "5m"`},
		{"enqueue --header novalue 1", `--header: "novalue", must be KEY=VALUE`},
		{"enqueue --delay soon 1", "delay"},
		{"cancel", "needs at least one ID"},
		{"tenants set", "set needs one TENANT, there are 0"},
		{"tenants set a", "set needs --weight"},
		{"tenants set a --forget --weight 1", "set needs --weight"},
		{"tenants pause", "at least one TENANT, or else --all"},
		{"tenants resume a --all", "at least one TENANT, or else --all"},
		{"dlq list x", "takes no arguments"},
		{"dlq list --after yesterday", `--after: "yesterday"`},
		{"dlq list --limit -1", "--limit: -1"},
		{"dlq show", "needs at least one ID"},
		{"dlq purge", "or else --all"},
		{"dlq purge x --all", "or else --all"},
		{"dlq requeue --tenant a x", "or else --all"},
		{"schedule put x", "an ID and a PAYLOAD"},
		{"schedule put x 1", "--cron: is missing"},
		{"schedule put x text --cron @daily", "not valid JSON"},
		{"schedule put x 1 --cron daily", "daily"},
		{"schedule put x 1 --cron @daily --zone Mars/Base", "Mars/Base"},
		{"schedule rm", "needs at least one ID"},
		{"schedule next", "next needs one ID, or else --cron"},
		{"schedule next a --cron @daily", "next needs one ID, or else --cron"},
		{"schedule next --cron @daily -n 0", "-n: 0"},
		{"schedule next --cron @never", "@never"},
		{"bench -n 0", "-n: 0, must be 1 to"},
		{"bench --payload 1", "--payload: 1"},
		{"serve x", "takes no arguments"},
		{"serve --listen x", `serve.listen: "x"`},
		{"doctor x", "takes no arguments"},
		{"demo x", "takes no arguments"},
		{"config check x", "takes no arguments"},
	} {
		code, out, errOut := b.run(strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(errOut, c.want) || out != "" {
			t.Errorf("%s: exit code %d, want %d and %q\n%s\n%s", c.args, code, exitUsage, c.want, out, errOut)
		}
	}
	code, _, errOut := b.run("tenants", "pause", "")
	if code != exitUsage || !strings.Contains(errOut, "TENANT: is empty") {
		t.Errorf("an empty name pauses the queue: %d, %s", code, errOut)
	}
	if _, _, errOut := b.run("dlq", "list", "--limit", "-1"); !strings.Contains(errOut, `See "firqd dlq list --help".`) {
		t.Errorf("no way to the help: %s", errOut)
	}
}

// A server that is away is a failure, but for those who look for problems.
func TestNoServer(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_REDIS_ADDR": nowhere}}
	for _, args := range []string{
		"stats", "top", "enqueue 1", "enqueue -", "cancel x", "tenants show", "tenants set a --weight 1", "tenants pause a", "dlq list", "dlq show a",
		"dlq purge --all", "dlq requeue --all", "schedule list", "schedule rm a", "schedule next a", "bench", "serve --listen :0", "stats --watch",
		"schedule put a 1 --cron @daily",
	} {
		b.want(exitFailed, args, nowhere)
	}
	b.want(exitProblem, "doctor", "problem", nowhere)
	if r := read[report](b, exitProblem, "doctor"); r.OK || len(r.Problems) != 1 || r.Checks[0].Name != "server" {
		t.Errorf("%+v", r)
	}
}

func TestStats(t *testing.T) {
	b := newBed(t)
	out := b.want(exitOK, "enqueue --tenant alice 1 2 3")
	if n := len(strings.Fields(out)); n != 3 {
		t.Errorf("%d ids in %q", n, out)
	}
	b.want(exitOK, "enqueue --delay 1h --tenant bob 4")
	b.want(exitOK, "stats", "queue default", "queued        3", "delayed       1", "enqueued   4")
	s := read[firqredis.Stats](b, exitOK, "stats")
	if s.Enqueued != 4 || s.Queued != 3 || s.Delayed != 1 || s.Tenants != 2 || s.Oldest <= 0 {
		t.Errorf("%+v", s)
	}
	b.want(exitOK, "top", "TENANT", "alice", "bob")
	top := read[[]firqredis.TenantStats](b, exitOK, "top", "-n", "1", "--by", "oldest")
	if len(top) != 1 || top[0].Tenant != "alice" || top[0].Queued != 3 || top[0].Weight != 1 {
		t.Errorf("%+v", top)
	}
	if top := read[[]firqredis.TenantStats](b, exitOK, "top", "--queue", "other"); top == nil || len(top) != 0 {
		t.Errorf("no list: %v", top)
	}
	b.want(exitOK, "top --queue other", "no tenant has tasks")
	code, out, errOut := b.interrupted(nil, "queue default", 3, "stats", "--watch", "--every", "100ms")
	if code != exitOK || errOut != "" || strings.Contains(out, "\x1b") {
		t.Errorf("--watch: %d\n%s%s", code, out, errOut)
	}
	code, out, errOut = b.interrupted(nil, "Tenant", 2, "top", "--watch", "--every", "100ms", "--json")
	if code != exitOK || errOut != "" {
		t.Errorf("--watch --json: %d\n%s%s", code, out, errOut)
	}
	b.want(exitUsage, "stats --watch --every 1ms", "--every: 1ms")
}

// While it watches, a server that goes away is said, and tried again.
func TestWatchGoesOn(t *testing.T) {
	b := newBed(t)
	n := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errOut watcher
	errOut.marker, errOut.left = "trying again", 1
	errOut.then = func() { b.server.SetError("") }
	out := &watcher{marker: "queue default", left: 1}
	out.then = func() {
		if n++; n == 1 {
			b.server.SetError("LOADING it is away")
		} else {
			cancel()
		}
	}
	ended := make(chan int, 1)
	go func() {
		p := program{nil, out, &errOut, b.env}
		ended <- p.execute(ctx, []string{"stats", "--watch", "--every", "100ms"})
	}()
	select {
	case code := <-ended:
		if code != exitOK || !strings.Contains(errOut.text(), "it is away; trying again") {
			t.Errorf("%d, %s", code, errOut.text())
		}
	case <-time.After(patience):
		t.Fatal("it does not go on")
	}
}

func TestEnqueue(t *testing.T) {
	b := newBed(t)
	q := b.queue()
	r := read[outcome](b, exitOK, "enqueue", "--id", "one", "--tenant", "alice", "--priority", "very-high", "--cost", "7", "--max-attempts", "3",
		"--header", "a=b,c=d", "--header", "e=", "--unique-key", "u", "--deadline", "2199-01-01T00:00:00Z", ` { "n" : 12345678901234567890 } `)
	if r != (outcome{ID: "one"}) {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	it, err := q.Dequeue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if it.ID != "one" || it.Tenant != "alice" || it.Priority != 5 || it.Cost != 7 || it.MaxAttempts != 3 || it.UniqueKey != "u" || it.Deadline.Year() != 2199 ||
		string(it.Payload) != ` { "n" : 12345678901234567890 } ` || len(it.Headers) != 2 || it.Headers["a"] != "b,c=d" || it.Headers["e"] != "" {
		t.Errorf("%+v %s", it, it.Payload)
	}
	// The other one with the key fails, and says whose it is.
	code, out, errOut := b.run("enqueue", "--tenant", "alice", "--unique-key", "u", "1", "--json")
	if code != exitFailed || !strings.Contains(out, `"one"`) || !strings.Contains(errOut, "UniqueKey") {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
	b.want(exitUsage, "enqueue --delay 1s --at 2199-01-01T00:00:00Z 1", "Delay and At")
	b.want(exitUsage, "enqueue --cost -1 1", "Cost")
	b.want(exitUsage, "enqueue --tenant {} 1", "Tenant")
	b.want(exitOK, "enqueue --at 2199-01-01T00:00:00Z -- -1")
	b.env["FIRQ_QUEUE_MAX_PAYLOAD"] = "4"
	b.want(exitFailed, "enqueue 123456", "too large")
	b.want(exitUsage, "stats --partitions 2", "partitions")
}

// Tasks are read from the input until one cannot be: those before it are queued.
func TestEnqueueInput(t *testing.T) {
	b := newBed(t)
	many := strings.Repeat("{\"a\":\n1} 2\n", 2*atOnce)
	code, out, errOut := b.runWith(many, "enqueue", "-")
	if n := strings.Count(out, "\n"); code != exitOK || n != 4*atOnce || errOut != "" {
		t.Errorf("%d, %d ids, %s", code, n, errOut)
	}
	code, out, errOut = b.runWith("1 [2] x 3", "enqueue", "--json", "-")
	if code != exitUsage || strings.Count(out, `"ID"`) != 2 || !strings.Contains(errOut, "PAYLOAD 3 of the input") {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
	if s := read[firqredis.Stats](b, exitOK, "stats"); s.Enqueued != 4*atOnce+2 {
		t.Errorf("%d are queued", s.Enqueued)
	}
	// Ctrl-C ends a command that waits for input which does not come.
	in, typist := io.Pipe()
	defer typist.Close()
	go fmt.Fprint(typist, strings.Repeat("1\n", atOnce))
	code, _, errOut = b.interrupted(in, "\n", atOnce, "enqueue", "-")
	if code != exitFailed || !strings.Contains(errOut, "interrupted") {
		t.Errorf("%d, %s", code, errOut)
	}
	if s := read[firqredis.Stats](b, exitOK, "stats"); s.Enqueued != 5*atOnce+2 {
		t.Errorf("%d are queued", s.Enqueued)
	}
}

func TestTenants(t *testing.T) {
	b := newBed(t)
	b.want(exitOK, "enqueue --tenant alice 1")
	b.want(exitNotFound, "tenants show nobody", "nobody")
	b.want(exitNotFound, "tenants show alice nobody", "alice   1", "nobody")
	b.want(exitOK, "tenants show", "alice")
	b.want(exitOK, "tenants set alice --weight 2.5 --max-in-flight 3", "2.5", "3")
	b.want(exitOK, "tenants set alice --max-queued -1", "none")
	all := read[[]firqredis.TenantStats](b, exitOK, "tenants", "show", "alice")
	want := firqredis.TenantSettings{Weight: 2.5, MaxQueued: -1, MaxInFlight: 3}
	if len(all) != 1 || all[0].Settings != want || all[0].Weight != 2.5 {
		t.Errorf("%+v", all)
	}
	all = read[[]firqredis.TenantStats](b, exitOK, "tenants", "set", "alice", "--forget")
	if len(all) != 1 || all[0].Settings != (firqredis.TenantSettings{}) {
		t.Errorf("%+v", all)
	}
	b.want(exitUsage, "tenants set alice --weight -1", "Weight")
	b.want(exitUsage, "tenants show {}", "tenant")
	b.want(exitOK, "tenants pause alice bob", "paused alice\npaused bob")
	b.want(exitOK, "tenants show alice", "paused")
	b.want(exitOK, "tenants resume alice", "resumed alice")
	p := read[pausing](b, exitOK, "tenants", "pause", "--all")
	if !p.All || !p.Paused || !read[firqredis.Stats](b, exitOK, "stats").Paused {
		t.Errorf("%+v", p)
	}
	b.want(exitOK, "stats", "(paused)")
	b.want(exitOK, "tenants resume --all", "resumed the queue")
	if all := read[[]firqredis.TenantStats](b, exitOK, "tenants", "show", "alice"); all[0].Paused || read[firqredis.Stats](b, exitOK, "stats").Paused {
		t.Error("still paused")
	}
}

func TestCancel(t *testing.T) {
	b := newBed(t)
	b.want(exitOK, "enqueue --id a 1")
	b.want(exitOK, "enqueue --id b 1")
	b.want(exitNotFound, "cancel a x", "cancelled a", `task "x"`)
	b.want(exitNotFound, "cancel a", `task "a"`)
	if got := read[map[string][]string](b, exitOK, "cancel", "b"); len(got["Cancelled"]) != 1 {
		t.Error(got)
	}
	if s := read[firqredis.Stats](b, exitOK, "stats"); s.Cancelled != 2 || s.Queued != 0 {
		t.Errorf("%+v", s)
	}
}

func TestDeadLetters(t *testing.T) {
	b := newBed(t)
	q := b.queue()
	b.want(exitOK, "dlq list", "no dead letters")
	b.dead(q, "a", "b", "c\x1b[2J", "d", "e", "f")
	out := b.want(exitOK, "dlq list --limit 3", "TENANT", "no a", "no b", "there may be more")
	if strings.Contains(out, "\x1b") || strings.Contains(out, "no d") {
		t.Errorf("%q", out)
	}
	b.want(exitOK, "dlq list --after 1h --tenant t --reason b", "no b")
	b.want(exitOK, "dlq list --before 1h", "no dead letters")
	b.want(exitNotFound, "dlq show a x", `{"of":"a"}`, "no a", "k=v", `dead letter "x"`)
	all := read[[]firqredis.DeadLetter[payload]](b, exitOK, "dlq", "show", "a")
	if len(all) != 1 || all[0].ID != "a" || all[0].Attempts != 1 || string(all[0].Payload) != "{\n      \"of\": \"a\"\n    }" || string(all[0].Raw) != `{"of":"a"}` {
		t.Errorf("%+v %s", all, all[0].Payload)
	}
	b.want(exitOK, "dlq requeue a", "requeued 1")
	b.want(exitNotFound, "dlq requeue b a b", "requeued 1", `"a"`)
	b.want(exitOK, "dlq purge --reason d", "purged 1")
	b.want(exitNotFound, "dlq purge d", "purged 0", `dead letter "d"`)
	b.want(exitOK, "dlq purge e", "purged 1")
	if got := read[map[string]int](b, exitOK, "dlq", "requeue", "--tenant", "t", "--limit", "1"); got["Requeued"] != 1 {
		t.Error(got)
	}
	if got := read[map[string]int](b, exitOK, "dlq", "purge", "--all"); got["Purged"] != 1 {
		t.Error(got)
	}
	if s := read[firqredis.Stats](b, exitOK, "stats"); s.DeadLetters != 0 || s.Requeued != 3 || s.Purged != 3 || s.Queued != 3 {
		t.Errorf("%+v", s)
	}
}

// What is not JSON is a dead letter that can be shown.
func TestForeignPayload(t *testing.T) {
	b := newBed(t)
	client := redis.NewClient(&redis.Options{Addr: b.server.Addr()})
	defer client.Close()
	other, err := firqredis.New(t.Context(), firqredis.Config[[]byte]{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Enqueue(t.Context(), firqredis.Task[[]byte]{ID: "raw", Payload: []byte("\xffnot json")}); err != nil {
		t.Fatal(err)
	}
	it, err := other.Dequeue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Nack(t.Context(), it, firqredis.Retry{Dead: true}); err != nil {
		t.Fatal(err)
	}
	b.want(exitOK, "dlq show raw", "not json")
	all := read[[]firqredis.DeadLetter[payload]](b, exitOK, "dlq", "list")
	if len(all) != 1 || string(all[0].Payload) != "null" || string(all[0].Raw) != "\xffnot json" {
		t.Errorf("%+v", all)
	}
}

func TestSchedules(t *testing.T) {
	b := newBed(t)
	b.want(exitOK, "schedule list", "no schedules")
	b.wants(exitOK, []string{"schedule", "put", "daily", `{"a":1}`, "--cron", "30 2 * * *", "--zone", "America/New_York", "--tenant", "alice", "--jitter", "1m", "--catch-up", "-1"}, "put daily, next due 20")
	b.wants(exitOK, []string{"schedule", "put", "off", "1", "--cron", "@hourly", "--paused"})
	b.want(exitOK, "schedule list", "30 2 * * *", "America/New_York", "alice", "never", "paused")
	all := read[[]firqredis.ScheduleInfo[payload]](b, exitOK, "schedule", "list")
	if len(all) != 2 || all[0].ID != "daily" || all[0].Task.Tenant != "alice" || all[0].CatchUp != -1 || all[0].Jitter != time.Minute || !all[1].Paused || all[0].NextDue.IsZero() {
		t.Errorf("%+v", all)
	}
	const gap = "Sat 2026-03-07 02:30:00 -05:00 EST\nSun 2026-03-08 03:00:00 -04:00 EDT\nMon 2026-03-09 02:30:00 -04:00 EDT\n"
	if out := b.want(exitOK, "schedule next daily -n 3 --from 2026-03-07T00:00:00Z"); out != gap {
		t.Errorf("%s", out)
	}
	b.want(exitNotFound, "schedule next nope", "nope")
	if times := read[[]time.Time](b, exitOK, "schedule", "next", "off"); len(times) != 10 {
		t.Error(times)
	}
	b.want(exitNotFound, "schedule rm daily nope", "removed 1", "nope")
	b.want(exitOK, "schedule rm off", "removed 1")
	if all := read[[]firqredis.ScheduleInfo[payload]](b, exitOK, "schedule", "list"); all == nil || len(all) != 0 {
		t.Error(all)
	}
	b.want(exitUsage, "schedule put a 1 --cron @daily --cost -1", "Cost")
	b.env["FIRQ_REDIS_ADDR"] = nowhere // it needs no server
	b.wants(exitOK, []string{"schedule", "next", "--cron", "0 0 29 2 *", "-n", "1", "--from", "2026-01-01T00:00:00Z"}, "Tue 2028-02-29 00:00:00 +00:00 UTC")
}

func TestDoctor(t *testing.T) {
	b := newBed(t)
	b.want(exitOK, "enqueue 1")
	b.want(exitOK, "doctor", "ok", "eviction", "persistence", "replicas", "clock", "scripts", "keys")
	r := read[report](b, exitOK, "doctor")
	if !r.OK || r.Problems == nil || len(r.Checks) != 7 || r.Server == "" {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		what   string
		key    string
		break_ func()
	}{
		{"keys without a hash tag", "fq:default:0:d", nil},
		{"keys without a hash tag", "fq:{default:x}:d", nil},
		{"of partitions above 0", "fq:{default:1}:d", nil},
		{"newer version", "", func() { b.server.HSet("fq:{default:0}:m", "ver", "99") }},
	} {
		if c.key != "" {
			_ = b.server.Set(c.key, "x")
		} else {
			c.break_()
		}
		b.want(exitProblem, "doctor", "problem", c.what)
		if r := read[report](b, exitProblem, "doctor"); r.OK || len(r.Problems) != 1 {
			t.Errorf("%s: %+v", c.what, r)
		}
		b.server.Del(c.key)
	}
	b.server.HSet("fq:{default:0}:m", "ver", "1")
	_ = b.server.Set("fq:{other:7}:d", "x") // of somebody else
	b.want(exitOK, "doctor")
	b.env["FIRQ_QUEUE_WAIT_REPLICAS"] = "1"
	b.want(exitProblem, "doctor", "queue.wait_replicas is 1")
	delete(b.env, "FIRQ_QUEUE_WAIT_REPLICAS")
	b.want(exitProblem, "doctor --partitions 3", "partitions")
}

func TestBench(t *testing.T) {
	b := newBed(t)
	b.want(exitOK, "bench -n 200 --workers 4 --callers 4", "tasks/s", "enqueue", "process")
	r := read[benched](b, exitOK, "bench", "-n", "50", "--tenants", "3", "--workers", "2", "--callers", "90")
	if r.Tasks != 50 || r.Tenants != 3 || r.EnqueuedPerSec <= 0 || r.ProcessedPerSec <= 0 {
		t.Errorf("%+v", r)
	}
	if keys := b.server.Keys(); len(keys) != 0 {
		t.Errorf("it leaves %q", keys)
	}
	// Also if it is interrupted.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() {
		p := program{nil, io.Discard, io.Discard, b.env}
		ended <- p.execute(ctx, []string{"bench", "-n", "1000000"})
	}()
	for len(b.server.Keys()) == 0 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond) // until it has begun
	}
	cancel()
	select {
	case code := <-ended:
		if code != exitFailed {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(patience):
		t.Fatal("Ctrl-C does not end it")
	}
	if keys := b.server.Keys(); len(keys) != 0 {
		t.Errorf("it leaves %q", keys)
	}
}

// Without fairness the quiet tenants' tasks come last; with it they come within their rounds.
func TestDemo(t *testing.T) {
	b := &bed{T: t}
	code, out, errOut := b.interrupted(nil, "delivery 320 of 320", 1, "demo")
	if code != exitOK || errOut != "" {
		t.Fatalf("%d\n%s%s", code, out, errOut)
	}
	for _, text := range []string{"P50", "P99", "without fairness  quiet    20 ", "with fairness     quiet    20 ", "noisy    300"} {
		if !strings.Contains(out, text) {
			t.Errorf("%q is missing in\n%s", text, out)
		}
	}
	code, _, errOut = b.interrupted(nil, "noisy", 1, "demo")
	if code != exitFailed || !strings.Contains(errOut, "interrupted") {
		t.Errorf("interrupted: %d, %s", code, errOut)
	}
}

func TestConfigCheck(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_REDIS_PASSWORD": "hunter2hunter2", "FIRQ_QUEUE_LEASE": "7s", "FIRQ_REDIS_ADDR": "a:1"}}
	path := filepath.Join(t.TempDir(), "firq.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("redis:\n  addr: b:2\nqueue:\n  name: mail\n  lease: 1m\nserve:\n  token: 0123456789abcdef\n")
	b.env["FIRQ_CONFIG"] = path
	out := b.want(exitOK, "config check --queue post", "addr: a:1", "name: post", "lease: 7s", "password: (set)", "token: (set)", "max_attempts: 25")
	if strings.Contains(out, "hunter2") || strings.Contains(out, "0123456789abcdef") {
		t.Errorf("it shows a secret:\n%s", out)
	}
	out = b.want(exitOK, "config check --json", `"Name": "mail"`)
	if strings.Contains(out, "hunter2") {
		t.Errorf("it shows a secret:\n%s", out)
	}
	write("redis:\n  adr: b:2\n")
	b.want(exitUsage, "config check", path, "adr")
	b.want(exitUsage, "stats", "adr")
	delete(b.env, "FIRQ_CONFIG")
	b.want(exitUsage, "config check --config "+path, "adr")
	b.env["FIRQ_QUEUE_LEASE"] = "soon"
	b.want(exitUsage, "config check", `FIRQ_QUEUE_LEASE: "soon"`)
}

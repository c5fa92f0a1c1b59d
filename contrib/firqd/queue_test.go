package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/queue"
)

func TestStats(t *testing.T) {
	b := newBed(t)
	out := b.want(exitOK, "enqueue --tenant alice 1 2 3")
	if n := len(strings.Fields(out)); n != 3 {
		t.Errorf("%d ids in %q", n, out)
	}
	b.want(exitOK, "enqueue --delay 1h --tenant bob 4")
	b.want(exitOK, "stats", "queue default", "queued        3", "delayed       1", "enqueued   4")
	s := read[queue.Stats](b, exitOK, "stats")
	if s.Enqueued != 4 || s.Queued != 3 || s.Delayed != 1 || s.Tenants != 2 || s.Oldest <= 0 {
		t.Errorf("%+v", s)
	}
	b.want(exitOK, "top", "TENANT", "alice", "bob")
	top := read[[]queue.TenantStats](b, exitOK, "top", "-n", "1", "--by", "oldest")
	if len(top) != 1 || top[0].Tenant != "alice" || top[0].Queued != 3 || top[0].Weight != 1 {
		t.Errorf("%+v", top)
	}
	b.want(exitOK, "tenants pause --all --queue other")
	if top := read[[]queue.TenantStats](b, exitOK, "top", "--queue", "other"); top == nil || len(top) != 0 {
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
	b.queue()
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
	if s := read[queue.Stats](b, exitOK, "stats"); s.Enqueued != 4*atOnce+2 {
		t.Errorf("%d are queued", s.Enqueued)
	}
	// Ctrl-C ends a command that waits for input which does not come.
	in, typist := io.Pipe()
	defer typist.Close()
	go func() { _, _ = io.WriteString(typist, strings.Repeat("1\n", atOnce)) }() // fails when the command has ended
	code, _, errOut = b.interrupted(in, "\n", atOnce, "enqueue", "-")
	if code != exitFailed || !strings.Contains(errOut, "interrupted") {
		t.Errorf("%d, %s", code, errOut)
	}
	if s := read[queue.Stats](b, exitOK, "stats"); s.Enqueued != 5*atOnce+2 {
		t.Errorf("%d are queued", s.Enqueued)
	}
}

// A queue that there is not is not found, and not made: its name is perhaps mistyped.
func TestNoSuchQueue(t *testing.T) {
	b := newBed(t)
	b.queue()
	for _, line := range []string{
		"stats", "stats --watch", "top", "tenants show", "in-flight", "dlq list", "dlq show x", "dlq requeue x", "dlq purge --all", "schedule list",
		"schedule next x", "settings show", "settings set --max-queued 1",
	} {
		code, out, errOut := b.run(append([]string{"--queue", "nosuch"}, strings.Fields(line)...)...)
		if code != exitNotFound || out != "" || !strings.Contains(errOut, `queue "nosuch"`) {
			t.Errorf("%s: %d, %s%s", line, code, out, errOut)
		}
	}
	for _, key := range b.server.Keys() {
		if strings.Contains(key, "nosuch") {
			t.Errorf("there is %s", key)
		}
	}
}

// firqd goes by the settings that live with the queue, whatever its own configuration says; doctor compares them.
func TestSettings(t *testing.T) {
	b := newBed(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: b.server.Addr()})
	defer func() { _ = client.Close() }()
	q, err := firqredis.New(ctx, firqredis.Config[payload]{Client: client, Codec: codec{}, PriorityAging: 10 * time.Millisecond, MaxQueued: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	b.env["FIRQ_QUEUE_PRIORITY_AGING"], b.env["FIRQ_QUEUE_MAX_QUEUED"] = "1h", "9"
	b.want(exitOK, "settings show", "max queued", "3", "priority aging", "10ms")
	b.want(exitOK, "enqueue --id low --priority 1 1")
	time.Sleep(60 * time.Millisecond) // five levels, and a bit
	b.want(exitOK, "enqueue --id high --priority 5 1")
	b.want(exitOK, "enqueue 1")
	b.want(exitFailed, "enqueue 1", "full")
	if it, err := q.Dequeue(ctx); err != nil || it.ID != "low" {
		t.Errorf("%+v, %v", it, err)
	}
	r := read[report](b, exitProblem, "doctor")
	if problems := strings.Join(r.Problems, "\n"); !strings.Contains(problems, "queue.priority_aging is 1h0m0s here and 10ms in the queue") || !strings.Contains(problems, "queue.max_queued is 9 here and 3") {
		t.Errorf("%q", r.Problems)
	}
	s := read[queue.Settings](b, exitOK, "settings", "set", "--max-queued", "9", "--priority-aging", "1h", "--dead-letters-for", "-1s")
	if s.MaxQueued != 9 || s.PriorityAging != time.Hour || s.DeadLetters.For >= 0 || s.DeadLetters.PerTenant != queue.DefaultDeadLettersPerTenant {
		t.Errorf("%+v", s)
	}
	if r := read[report](b, exitOK, "doctor", "--json"); strings.Contains(strings.Join(r.Problems, "\n"), "queue.") {
		t.Errorf("%q", r.Problems)
	}
	b.want(exitUsage, "settings set --max-queued -1", "MaxQueued")
}

// A variable that nothing reads is reported, and the command goes on.
func TestUnknownVariables(t *testing.T) {
	b := newBed(t)
	b.env["FIRQ_REDIS_ADRR"] = "x"
	code, out, errOut := b.run("enqueue", "1")
	if code != exitOK || out == "" || !strings.Contains(errOut, "FIRQ_REDIS_ADRR: there is no such setting") {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
}

// tasks checks the commands about tasks, on a queue that has a dead letter "dies" of tenant t and nothing delayed.
func (b *bed) tasks() {
	b.Helper()
	b.want(exitOK, "enqueue --id t1 --tenant t --delay 1h --header k=v 1")
	b.want(exitOK, "enqueue --id t2 --tenant u --delay 2h 2")
	b.want(exitOK, "tasks list --state delayed --tenant t", "t1", "DUE")
	page := read[tasksPage](b, exitOK, "tasks", "list", "--state", "delayed", "--limit", "1")
	if len(page.Tasks) != 1 || page.Tasks[0].ID != "t1" || page.Tasks[0].State != queue.StateDelayed || page.Cursor == "" {
		b.Errorf("%+v", page)
	}
	if page = read[tasksPage](b, exitOK, "tasks", "list", "--state", "delayed", "--cursor", page.Cursor); len(page.Tasks) != 1 || page.Tasks[0].ID != "t2" || page.Cursor != "" {
		b.Errorf("%+v", page)
	}
	b.want(exitOK, "tasks list --state in-flight --tenant none", "no tasks")
	b.want(exitOK, "tasks show t1", "delayed", "0 of 25", "header    k=v")
	b.want(exitOK, "tasks show dies", "dead", "no dies")
	b.want(exitNotFound, "tasks show t1 never", "t1", `task "never"`)
	b.want(exitUsage, "tasks list --cursor x", "Cursor")
	q, ctx := b.queue(), b.Context()
	b.dead(q, "goes")
	b.want(exitOK, "enqueue --id kept --keep-result 1h --ttl 1h 17", "kept")
	it, err := q.Dequeue(ctx)
	if err != nil || it.Deadline.IsZero() {
		b.Fatal(it, err)
	}
	if err := errors.Join(it.SetResult([]byte("the answer")), q.Ack(ctx, it)); err != nil {
		b.Fatal(err)
	}
	b.want(exitOK, "tasks list --state completed", "kept", "KEPT UNTIL")
	b.want(exitOK, "tasks show kept", "completed", "the answer", "17")
	b.want(exitOK, "tasks delete t1 t2 goes kept", "deleted 4")
	b.want(exitNotFound, "tasks show kept", "not found")
	b.want(exitNotFound, "tasks delete t1", "deleted 0", "not found")
}

func TestTasks(t *testing.T) {
	b := newBed(t)
	b.dead(b.queue(), "dies")
	b.tasks()
}

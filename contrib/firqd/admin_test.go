package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

func TestTenants(t *testing.T) {
	b := newBed(t)
	b.want(exitOK, "enqueue --tenant alice 1")
	b.want(exitNotFound, "tenants show nobody", "nobody")
	b.want(exitNotFound, "tenants show alice nobody", "alice   1", "nobody")
	b.want(exitOK, "tenants show", "alice")
	b.want(exitOK, "tenants set alice --weight 2.5 --max-in-flight 3", "2.5", "3")
	b.want(exitOK, "tenants set alice --max-queued -1", "none")
	b.want(exitOK, "tenants set alice --rate 0.25 --burst 7", "0.25/s, burst 7")
	b.want(exitUsage, "tenants set alice --rate 1 --burst -7", "Rate.Burst: -7")
	all := read[[]queue.TenantStats](b, exitOK, "tenants", "show", "alice")
	want := queue.TenantSettings{Weight: 2.5, MaxQueued: -1, MaxInFlight: 3, Rate: rate.Limit{PerSecond: 0.25, Burst: 7}}
	if len(all) != 1 || all[0].Settings != want || all[0].Weight != 2.5 {
		t.Errorf("%+v", all)
	}
	all = read[[]queue.TenantStats](b, exitOK, "tenants", "set", "alice", "--forget")
	if len(all) != 1 || all[0].Settings != (queue.TenantSettings{}) {
		t.Errorf("%+v", all)
	}
	b.want(exitUsage, "tenants set alice --weight -1", "Weight")
	b.want(exitUsage, "tenants show {}", "tenant")
	b.want(exitOK, "tenants pause alice bob", "paused alice\npaused bob")
	b.want(exitOK, "tenants show alice", "paused")
	b.want(exitOK, "tenants resume alice", "resumed alice")
	p := read[pausing](b, exitOK, "tenants", "pause", "--all")
	if !p.All || !p.Paused || !read[queue.Stats](b, exitOK, "stats").Paused {
		t.Errorf("%+v", p)
	}
	b.want(exitOK, "stats", "(paused)")
	b.want(exitOK, "tenants resume --all", "resumed the queue")
	if all := read[[]queue.TenantStats](b, exitOK, "tenants", "show", "alice"); all[0].Paused || read[queue.Stats](b, exitOK, "stats").Paused {
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
	if s := read[queue.Stats](b, exitOK, "stats"); s.Cancelled != 2 || s.Queued != 0 {
		t.Errorf("%+v", s)
	}
}

func TestInFlight(t *testing.T) {
	b := newBed(t)
	q := b.queue()
	b.want(exitOK, "in-flight", "nothing is in flight")
	for _, id := range []string{"a", "b", "c"} {
		b.want(exitOK, "enqueue --id "+id+" --tenant of-"+id+" 1")
	}
	its, err := q.DequeueBatch(b.Context(), 3)
	if err != nil || len(its) != 3 {
		t.Fatal(its, err)
	}
	b.want(exitOK, "in-flight", "ID", "of-a", "of-b", "of-c", fmt.Sprint(its[0].Token), its[0].LeaseUntil.Local().Format(time.DateTime))
	b.want(exitOK, "in-flight --limit 2", "there may be more")
	all := read[[]queue.Item[payload]](b, exitOK, "in-flight", "--tenant", "of-b")
	if len(all) != 1 || all[0].ID != "b" || all[0].Attempt != 1 || !all[0].LeaseUntil.Equal(its[0].LeaseUntil) {
		t.Errorf("%+v", all)
	}
	b.want(exitUsage, "in-flight --limit -1", "--limit")
	b.want(exitUsage, "in-flight --tenant {}", "tenant")
	b.want(exitUsage, "in-flight x")
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
	all := read[[]queue.DeadLetter[payload]](b, exitOK, "dlq", "show", "a")
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
	if s := read[queue.Stats](b, exitOK, "stats"); s.DeadLetters != 0 || s.Requeued != 3 || s.Purged != 3 || s.Queued != 3 {
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
	if _, err := other.Enqueue(t.Context(), queue.Task[[]byte]{ID: "raw", Payload: []byte("\xffnot json")}); err != nil {
		t.Fatal(err)
	}
	it, err := other.Dequeue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Nack(t.Context(), it, queue.Retry{Dead: true}); err != nil {
		t.Fatal(err)
	}
	b.want(exitOK, "dlq show raw", "not json")
	all := read[[]queue.DeadLetter[payload]](b, exitOK, "dlq", "list")
	if len(all) != 1 || string(all[0].Payload) != "null" || string(all[0].Raw) != "\xffnot json" {
		t.Errorf("%+v", all)
	}
}

func TestSchedules(t *testing.T) {
	b := newBed(t)
	b.queue()
	b.want(exitOK, "schedule list", "no schedules")
	b.wants(exitOK, []string{"schedule", "put", "daily", `{"a":1}`, "--cron", "30 2 * * *", "--zone", "America/New_York", "--tenant", "alice", "--jitter", "1m", "--catch-up", "-1"}, "put daily, next due 20")
	b.wants(exitOK, []string{"schedule", "put", "off", "1", "--cron", "@hourly", "--paused"})
	b.want(exitOK, "schedule list", "30 2 * * *", "America/New_York", "alice", "never", "paused")
	all := read[[]queue.ScheduleInfo[payload]](b, exitOK, "schedule", "list")
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
	if all := read[[]queue.ScheduleInfo[payload]](b, exitOK, "schedule", "list"); all == nil || len(all) != 0 {
		t.Error(all)
	}
	b.want(exitUsage, "schedule put a 1 --cron @daily --cost -1", "Cost")
	b.env["FIRQ_REDIS_ADDR"] = nowhere // it needs no server
	b.wants(exitOK, []string{"schedule", "next", "--cron", "0 0 29 2 *", "-n", "1", "--from", "2026-01-01T00:00:00Z"}, "Tue 2028-02-29 00:00:00 +00:00 UTC")
}

func TestDoctor(t *testing.T) {
	b := newBed(t)
	b.want(exitOK, "enqueue 1")
	b.want(exitOK, "doctor", "ok", "eviction", "persistence", "replicas", "settings", "clock", "scripts", "keys")
	ver := b.server.HGet("fq:{default:0}:m", "ver")
	r := read[report](b, exitOK, "doctor")
	if !r.OK || r.Problems == nil || len(r.Checks) != 8 || r.Server == "" {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		what  string
		key   string
		spoil func()
	}{
		{"keys without a hash tag", "fq:default:0:d", nil},
		{"keys without a hash tag", "fq:{default:x}:d", nil},
		{"of partitions above 0", "fq:{default:1}:d", nil},
		{"another version: 99", "", func() { b.server.HSet("fq:{default:0}:m", "ver", "99") }},
	} {
		if c.key != "" {
			_ = b.server.Set(c.key, "x")
		} else {
			c.spoil()
		}
		b.want(exitProblem, "doctor", "problem", c.what)
		if r := read[report](b, exitProblem, "doctor"); r.OK || len(r.Problems) != 1 {
			t.Errorf("%s: %+v", c.what, r)
		}
		b.server.Del(c.key)
	}
	b.server.HSet("fq:{default:0}:m", "ver", ver)
	_ = b.server.Set("fq:{other:7}:d", "x") // of another queue
	b.want(exitOK, "doctor")
	b.env["FIRQ_QUEUE_WAIT_REPLICAS"] = "1"
	b.want(exitProblem, "doctor", "queue.wait_replicas is 1")
	delete(b.env, "FIRQ_QUEUE_WAIT_REPLICAS")
	b.want(exitProblem, "doctor --partitions 3", "partitions")
}

// What the server says of itself makes findings.
func TestDoctorOfServers(t *testing.T) {
	for name, c := range map[string]struct {
		info, aof, save string
		code            int
		want            []string
	}{
		"good":     {"redis_version:7.4.1\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nconnected_slaves:2\r\n", "everysec", "", exitOK, []string{"redis 7.4.1", "ok        persistence  aof everysec", "ok        replicas     2"}},
		"no fsync": {"maxmemory_policy:noeviction\r\naof_enabled:1\r\n", "no", "", exitOK, []string{"note      persistence  aof no"}},
		"rdb":      {"maxmemory_policy:noeviction\r\n", "", "3600 1", exitOK, []string{"note      persistence  rdb"}},
		"nothing":  {"maxmemory_policy:noeviction\r\n", "", "", exitProblem, []string{"problem   persistence  none"}},
		"volatile": {"maxmemory_policy:volatile-lru\r\naof_enabled:1\r\n", "always", "", exitProblem, []string{"problem   eviction     maxmemory-policy is volatile-lru"}},
		"allkeys":  {"maxmemory_policy:allkeys-lru\r\n", "", "", exitProblem, []string{"eviction", "allkeys-lru"}},
	} {
		b := newBed(t)
		b.server.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
			switch cmd {
			case "INFO":
				p.WriteBulk(c.info)
			case "CONFIG":
				p.WriteLen(2)
				p.WriteBulk(args[1])
				p.WriteBulk(map[string]string{"appendfsync": c.aof, "save": c.save, "appendonly": "no"}[args[1]])
			default:
				return false
			}
			return true
		})
		_, out, errOut := b.run("doctor")
		out = regexp.MustCompile(`(?m)^(ok|note|problem) +`).ReplaceAllStringFunc(out, func(status string) string { return fmt.Sprintf("%-10s", strings.TrimSpace(status)) })
		for _, text := range c.want {
			if !strings.Contains(out, text) {
				t.Errorf("%s: %q is missing in\n%s%s", name, text, out, errOut)
			}
		}
		if r := read[report](b, c.code, "doctor"); r.OK != (c.code == exitOK) || len(r.Problems) > 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
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
	// Also if it is interrupted: while it opens the queue, while it enqueues.
	for _, at := range []string{"HSETNX", "EVALSHA"} {
		ctx, cancel := context.WithCancel(t.Context())
		b.server.Server().SetPreHook(func(_ *server.Peer, cmd string, _ ...string) bool {
			if cmd == at {
				cancel()
			}
			return false
		})
		ended := make(chan int, 1)
		go func() {
			p := program{nil, io.Discard, io.Discard, b.env}
			ended <- p.execute(ctx, []string{"bench", "-n", "1000000"})
		}()
		select {
		case code := <-ended:
			if code != exitFailed || ctx.Err() == nil {
				t.Errorf("%s: exit code %d, %v", at, code, ctx.Err())
			}
		case <-time.After(patience):
			t.Fatal("Ctrl-C does not end it")
		}
		if keys := b.server.Keys(); len(keys) != 0 {
			t.Errorf("%s: it leaves %q", at, keys)
		}
		cancel()
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

// Two users who set a tenant at the same time lose nothing: each says only what is to change.
func TestTenantsSetMerges(t *testing.T) {
	b := newBed(t)
	q := b.queue()
	weight, most := 3.0, 5
	b.server.Server().SetPreHook(func(_ *server.Peer, cmd string, _ ...string) bool {
		if strings.EqualFold(cmd, "EVALSHA") || strings.EqualFold(cmd, "EVAL") { // the change is on its way
			b.server.Server().SetPreHook(nil)
			if err := q.ChangeTenant(b.Context(), "alice", queue.TenantChange{Weight: &weight, MaxInFlight: &most}); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	b.want(exitOK, "tenants set alice --max-queued 7")
	t1, err := q.TenantStats(b.Context(), "alice")
	if err != nil || t1.Settings != (queue.TenantSettings{Weight: 3, MaxQueued: 7, MaxInFlight: 5}) {
		t.Errorf("%+v, %v", t1, err)
	}
}

// What cannot be undone wants a yes.
func TestPurgeAsks(t *testing.T) {
	b := newBed(t)
	for answer, want := range map[string]error{"y\n": nil, " Yes \n": nil, "n\n": errNo, "": errNo, "yesterday\n": errNo} {
		var out strings.Builder
		s := &session{program: &program{strings.NewReader(answer), &out, &out, b.env}}
		if err := s.answer(b.Context(), "sure? "); err != want || out.String() != "sure? " {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

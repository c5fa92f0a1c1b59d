package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/firq-go/firq/contrib/firqpg"
	"github.com/firq-go/firq/contrib/firqpg/pgtest"
	"github.com/firq-go/firq/queue"
)

// newPostgresBed is a bed whose server has an empty database.
func newPostgresBed(t *testing.T) *bed {
	t.Helper()
	return &bed{T: t, env: map[string]string{"FIRQ_SERVER": pgtest.Server(t).Config().ConnString()}}
}

// All commands work on PostgreSQL, too.
func TestPostgres(t *testing.T) {
	b := newPostgresBed(t)
	b.want(exitFailed, "stats", "firqd migrate")
	b.want(exitProblem, "doctor", "version", "to mend it: firqd migrate")
	if text := b.want(exitOK, "migrate --print --grant joe"); !strings.HasPrefix(text, `create schema if not exists "firq"`) || !strings.Contains(text, `to "joe"`) {
		t.Errorf("%.200s", text)
	}
	b.want(exitFailed, "stats", "firqd migrate") // --print has changed nothing
	if m := read[migrated](b, exitOK, "migrate"); m != (migrated{Schema: "firq", Version: firqpg.Version}) {
		t.Errorf("%+v", m)
	}
	b.want(exitFailed, "migrate --grant nobody-of-that-name", "does not exist")
	if text := b.want(exitOK, "migrate --print"); text != "" {
		t.Errorf("nothing is missing, and it prints %q", text)
	}
	b.want(exitNotFound, "stats", `queue "default"`)

	q := b.queue()
	b.dead(q, "dies")
	for _, id := range []string{"a", "b", "later"} {
		args := []string{"enqueue", "--tenant", "t", "--id", id, `{"n":1}`}
		if id == "later" {
			args = append(args, "--delay", "1h")
		}
		b.wants(exitOK, args, id)
	}
	if st := read[queue.Stats](b, exitOK, "stats"); st.Queued != 2 || st.Delayed != 1 {
		t.Errorf("%+v", st)
	}
	b.want(exitOK, "top", "t ")
	b.want(exitOK, "tenants set t --weight 2 --max-in-flight 3", "2")
	b.want(exitOK, "tenants pause t", "paused")
	b.want(exitOK, "tenants resume t")
	b.want(exitOK, "settings set --max-queued 100", "100")
	b.want(exitOK, "settings set --rate-per-tenant 0.5", "0.5/s, burst 1")
	b.want(exitOK, "cancel b later")
	b.want(exitNotFound, "cancel b", "not found")
	b.wants(exitOK, []string{"schedule", "put", "tick", "1", "--cron", "@daily"}, "tick")
	b.want(exitOK, "schedule list", "tick")
	b.want(exitOK, "schedule rm tick")
	b.want(exitProblem, "doctor", "postgres ", "fsync off", "to mend it: alter system set fsync = on", "schema")
	b.want(exitOK, "bench -n 200 --workers 4", "200 tasks")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := q.Dequeue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.want(exitOK, "in-flight --tenant t", "a ")
	if err := q.Ack(ctx, a); err != nil {
		t.Error(err)
	}
	b.want(exitOK, "dlq list", "dies", "no dies")
	b.tasks()
	b.want(exitOK, "dlq requeue dies", "requeued 1")
	if it, err := q.Dequeue(ctx); err != nil || it.ID != "dies" || q.Ack(ctx, it) != nil {
		t.Errorf("%+v, %v", it, err)
	}
	var left int
	if err := pool(b).QueryRow(ctx, "select (select count(*) from firq.queue) + (select count(*) from firq.task where tenant like 'tenant-%')").Scan(&left); err != nil || left != 1 {
		t.Errorf("bench has left its queue, or took ours: %d, %v", left, err)
	}
}

// serve exports the same metrics as on Redis.
func TestPostgresServe(t *testing.T) {
	b := newPostgresBed(t)
	b.want(exitOK, "migrate")
	b.want(exitOK, "enqueue --tenant t 1")
	s := b.serve()
	code, text := s.get(s.URL + "metrics")
	for _, want := range []string{`firq_queue_up{engine="postgres",queue="default"} 1`, `firq_queue_queued{engine="postgres",queue="default"} 1`,
		`firq_queue_ready_tenants{engine="postgres",queue="default"} 1`, "firq_queue_script_seconds_count"} {
		if code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%d: %s is missing in\n%s", code, want, text)
		}
	}
	if code, text := s.get(s.URL); code != http.StatusOK || !strings.Contains(text, "Queue default") {
		t.Errorf("%d\n%s", code, text)
	}
	s.end()
}

// A password is shown nowhere, and what is of one engine only is refused on the other.
func TestServerSettings(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_SERVER": "postgres://u:secret1@127.0.0.1:1/x?sslpassword=secret2"}}
	for _, line := range []string{"config check", "stats", "doctor", "migrate"} {
		_, out, errOut := b.run(strings.Fields(line)...)
		if text := out + errOut; strings.Contains(text, "secret") || !strings.Contains(text, "127.0.0.1") {
			t.Errorf("%s:\n%s", line, text)
		}
	}
	b.want(exitUsage, "stats --partitions 2", "queue.partitions: 2")
	b.want(exitUsage, "stats --addr a:1 --server redis://b", "--addr and --server")
	b.want(exitUsage, "stats --server mysql://x", "must begin with redis://")
	b.want(exitUsage, "migrate --addr "+nowhere, "migrate is for postgres://") // the flag holds, and not the environment
	b.want(exitUsage, "migrate --schema a'b", "postgres.schema")
	b.env = nil
	b.want(exitOK, "migrate --print --schema s", `create schema if not exists "s"`)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/firq-go/firq/contrib/firqpg"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a server (nil: FIRQ_SERVER names one of PostgreSQL) and what command lines meet.
type bed struct {
	*testing.T
	server *miniredis.Miniredis
	env    map[string]string
}

// nowhere is an address where no server answers.
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
func (b *bed) queue() *queue.Queue[payload] {
	b.Helper()
	var q *queue.Queue[payload]
	var err error
	if b.server == nil {
		q, err = firqpg.New(b.Context(), firqpg.Config[payload]{DB: pool(b), Codec: codec{}})
	} else {
		client := redis.NewClient(&redis.Options{Addr: b.server.Addr()})
		b.Cleanup(func() { _ = client.Close() })
		q, err = firqredis.New(b.Context(), firqredis.Config[payload]{Client: client, Codec: codec{}})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := q.Close(); err != nil {
			b.Error(err)
		}
	})
	return q
}

// pool connects to the bed's database.
func pool(b *bed) *pgxpool.Pool {
	b.Helper()
	db, err := pgxpool.New(b.Context(), b.env["FIRQ_SERVER"])
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	return db
}

// dead makes dead letters, of the tenant "t", with their ids as reasons.
func (b *bed) dead(q *queue.Queue[payload], ids ...string) {
	b.Helper()
	for _, id := range ids {
		body, _ := json.Marshal(map[string]string{"of": id}) // a map of strings cannot fail
		if _, err := q.Enqueue(b.Context(), queue.Task[payload]{ID: id, Tenant: "t", Payload: body, Headers: map[string]string{"k": "v"}}); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(b.Context(), patience)
		it, err := q.From([]string{"t"}, nil).Dequeue(ctx)
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		if err := q.Nack(b.Context(), it, queue.Retry{Reason: "no " + id, Dead: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// interrupted runs a command line until its output has the marker n times, and then sends Ctrl-C.
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

// watcher calls a function when it has seen a marker n times, and each time after that.
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

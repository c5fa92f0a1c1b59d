package firqredis

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

// atRest waits until nothing is queued, due soon, or in flight.
func atRest(t testing.TB, q *Queue[string]) Stats {
	t.Helper()
	var st Stats
	until(t, "rest", func() bool {
		var err error
		st, err = q.Stats(context.Background())
		return err == nil && st.Queued+st.Delayed+st.InFlight == 0
	})
	return books(t, q)
}

// A handler that never returns keeps its task only until it is stuck.
func TestStuckHandler(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{Lease: 60 * time.Millisecond, MaxAttempts: 1})
		leave := make(chan struct{})
		h := func(context.Context, *Item[string]) error { <-leave; return nil }
		runs(t, q, h, RunOptions[string]{
			Concurrency: 1, Timeout: 10 * time.Millisecond, TimeoutMode: worker.Cancel, StuckAfter: 20 * time.Millisecond,
		})
		put(t, q, job{ID: "stuck"})
		until(t, "its lease runs out", func() bool {
			_, _ = at(q).runWithSettings(context.Background(), maintainScript, 0, 10) // as any other consumer does
			st, _ := q.Stats(context.Background())
			return st.LeaseExpired == 1
		})
		close(leave)
		equal(t, "dead", letters(t, q, Filter{}), []string{"stuck"})
	})
}

// Run lives through a server that is away, and nothing is delivered twice that was settled.
func TestServerAway(t *testing.T) {
	t.Parallel()
	p := startProxy(t, embeddedServer(t).addrs[0])
	c := redis.NewClient(&redis.Options{Addr: p.addr(), MaxRetries: -1, DialTimeout: time.Second})
	t.Cleanup(func() { _ = c.Close() })
	q := open(t, &server{}, Config[string]{Client: c, Lease: 300 * time.Millisecond})
	var n atomic.Int64
	runs(t, q, func(context.Context, *Item[string]) error { n.Add(1); return nil }, RunOptions[string]{Concurrency: 2})
	put(t, q, many("a", 5)...)
	until(t, "they are handled", func() bool { return n.Load() >= 5 })
	p.down()
	_, err := q.Enqueue(bounded(t), job{})
	var gone *net.OpError
	if err == nil || !errors.As(err, &gone) && !strings.Contains(err.Error(), "EOF") {
		t.Fatalf("Enqueue without a server: %v", err)
	}
	if _, err := q.Dequeue(bounded(t)); err == nil {
		t.Fatal("Dequeue without a server")
	}
	p.up()
	put(t, q, many("a", 5)...)
	until(t, "they are handled, too", func() bool { return n.Load() >= 10 })
	atRest(t, q)
}

func TestRunArguments(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		h := func(context.Context, *Item[string]) error { return nil }
		want(t, Run(ctx, nil, h, RunOptions[string]{}), firq.ErrInvalidArgument)
		want(t, Run(ctx, q, nil, RunOptions[string]{}), firq.ErrInvalidArgument)
		want(t, Run(ctx, q, h, RunOptions[string]{Heartbeat: -1}), firq.ErrInvalidConfig)
		want(t, Run(ctx, q, h, RunOptions[string]{Concurrency: -1}), firq.ErrInvalidConfig)
		done, cancel := context.WithCancel(ctx)
		cancel()
		ok(t, Run(done, q, h, RunOptions[string]{}))
	})
}

// Run ends when the queue is closed.
func TestRunClosed(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{})
		ended := make(chan error, 1)
		go func() {
			ended <- Run(context.Background(), q, func(context.Context, *Item[string]) error { return nil }, RunOptions[string]{Concurrency: 2})
		}()
		until(t, "it waits", func() bool { return at(q).fetch.wanted() == 2 })
		ok(t, q.Close())
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("Run goes on")
		}
	})
}

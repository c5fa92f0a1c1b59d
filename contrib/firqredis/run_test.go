package firqredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
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

func TestRunOutcomes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxAttempts: 2, Backoff: Backoff{First: time.Millisecond, NoJitter: true}}), bounded(t)
		var mu sync.Mutex
		calls := map[string]int{}
		h := func(_ context.Context, it *Item[string]) error {
			mu.Lock()
			calls[it.ID]++
			mu.Unlock()
			switch it.ID {
			case "error":
				return errors.New("no")
			case "panic":
				panic("ouch")
			case "goexit":
				runtime.Goexit()
			case "dead":
				return fmt.Errorf("wrapped: %w", Dead(errors.New("never")))
			case "later":
				if it.Attempt == 1 {
					return fmt.Errorf("wrapped: %w", RetryAfter(errors.New("busy"), -1))
				}
			}
			return nil
		}
		var panics, failed atomic.Int64
		var pool *worker.Pool[string, *Item[string]]
		runs(t, q, h, RunOptions[string]{
			Concurrency: 3, OnPanic: func(Event[string]) { panics.Add(1) }, OnError: func(Event[string]) { failed.Add(1) },
			OnStart: func(p *worker.Pool[string, *Item[string]]) { pool = p },
		})
		put(t, q, job{ID: "fine"}, job{ID: "error"}, job{ID: "panic"}, job{ID: "goexit"}, job{ID: "dead"}, job{ID: "later"})
		st := atRest(t, q)
		same(t, "Acked", st.Acked, 2)
		same(t, "Dead", st.Dead, 4)
		same(t, "panics", panics.Load(), 2)
		same(t, "Panicked", pool.Stats().Panicked, 2)
		mu.Lock()
		defer mu.Unlock()
		for id, n := range map[string]int{"fine": 1, "error": 2, "panic": 2, "goexit": 2, "dead": 1, "later": 2} {
			same(t, "calls of "+id, calls[id], n)
		}
		reasons := map[string]string{}
		for d, err := range q.DeadLetters(ctx, Filter{}) {
			ok(t, err)
			reasons[d.ID] = d.Reason
		}
		for id, text := range map[string]string{"error": "no", "panic": "ouch", "goexit": "Goexit", "dead": "wrapped: never"} {
			if !strings.Contains(reasons[id], text) {
				t.Errorf("%s: reason %q", id, reasons[id])
			}
		}
		if Dead(nil) != nil || RetryAfter(nil, 1) != nil {
			t.Error("of nil it is nil")
		}
		if e := errors.New("x"); !errors.Is(Dead(e), e) || !errors.Is(RetryAfter(e, 1), e) {
			t.Error("the error is not found any more")
		}
	})
}

// Heartbeats keep a lease much shorter than the handler; and the handler may look at its item during that time.
func TestHeartbeats(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{Lease: 150 * time.Millisecond, MaxAttempts: 1})
		h := func(ctx context.Context, it *Item[string]) error {
			for end := it.LeaseUntil.Add(300 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
				_ = it.LeaseUntil.Add(1)
				it.Charge(0)
			}
			return ctx.Err()
		}
		runs(t, q, h, RunOptions[string]{Concurrency: 2})
		put(t, q, many("a", 2)...)
		st := atRest(t, q)
		same(t, "Acked", st.Acked, 2)
		same(t, "Delivered", st.Delivered, 2)
		same(t, "LeaseExpired", st.LeaseExpired, 0)
	})
}

func TestCauses(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Lease: time.Minute}), bounded(t)
		started, causes := make(chan *Item[string], 4), make(chan error, 4)
		h := func(ctx context.Context, it *Item[string]) error {
			started <- it
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}
		runs(t, q, h, RunOptions[string]{Concurrency: 1, Heartbeat: 10 * time.Millisecond})
		id := put(t, q, job{})[0]
		<-started
		ok(t, q.Cancel(ctx, id))
		want(t, <-causes, ErrCancelled)
		same(t, "Cancelled", atRest(t, q).Cancelled, 1)
		put(t, q, job{})
		it := <-started
		copied := &Item[string]{Task: Task[string]{ID: it.ID, Tenant: it.Tenant}, Token: it.Token}
		ok(t, q.Ack(ctx, copied)) // another call settles it
		want(t, <-causes, ErrLeaseLost)
		st := atRest(t, q)
		same(t, "Acked", st.Acked, 1)
		same(t, "Nacked", st.Nacked, 1) // the cancelled one's
	})
}

// A worker that stops gives its tasks back, and that is not an attempt.
func TestStopGivesBack(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{Lease: time.Hour, MaxAttempts: 1})
		started, leave := make(chan string, 9), make(chan struct{})
		h := func(ctx context.Context, it *Item[string]) error {
			started <- it.ID
			switch it.ID {
			case "obeys":
				<-ctx.Done()
				return ctx.Err()
			case "finishes":
				<-ctx.Done()
				return nil
			}
			<-leave // ignores it
			return errors.New("too late")
		}
		stop := runs(t, q, h, RunOptions[string]{Concurrency: 3, Grace: time.Millisecond, StuckAfter: 50 * time.Millisecond})
		put(t, q, job{ID: "obeys"}, job{ID: "finishes"}, job{ID: "ignores"}, job{ID: "waits"})
		for range 3 {
			<-started
		}
		ok(t, stop())
		st := books(t, q)
		if st.Queued != 3 || st.InFlight != 0 || st.Released != 2 || st.Acked != 1 || st.Dead != 0 {
			t.Errorf("%+v", st)
		}
		close(leave)
		for range 3 {
			same(t, "Attempt", take(t, q).Attempt, 1)
		}
	})
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

func TestRunFrom(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{})
		put(t, q, append(many("a", 2), append(many("b1", 2), many("c", 2)...)...)...)
		var mu sync.Mutex
		var got []string
		stop := runs(t, q, func(_ context.Context, it *Item[string]) error {
			mu.Lock()
			got = append(got, it.Tenant)
			mu.Unlock()
			return nil
		}, RunOptions[string]{Concurrency: 1, Tenants: []string{"c"}, Steal: []string{"b?"}})
		until(t, "four are handled", func() bool { st, _ := q.Stats(context.Background()); return st.Acked == 4 })
		ok(t, stop())
		if !slices.Equal(got, []string{"c", "c", "b1", "b1"}) {
			t.Fatalf("order: %q", got)
		}
	})
}

package queuetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/worker"
)

func testRunOutcomes(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxAttempts: 2, Backoff: queue.Backoff{First: time.Millisecond, NoJitter: true}}), bounded(t)
	var mu sync.Mutex
	calls := map[string]int{}
	h := func(_ context.Context, it *queue.Item[string]) error {
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
			return fmt.Errorf("wrapped: %w", queue.Dead(errors.New("never")))
		case "later":
			if it.Attempt == 1 {
				return fmt.Errorf("wrapped: %w", queue.RetryAfter(errors.New("busy"), -1))
			}
		}
		return nil
	}
	var panics, failed atomic.Int64
	var pool *worker.Pool[string, *queue.Item[string]]
	runs(t, q, h, queue.RunOptions[string]{
		Concurrency: 3, OnPanic: func(queue.Event[string]) { panics.Add(1) }, OnError: func(queue.Event[string]) { failed.Add(1) },
		OnStart: func(p *worker.Pool[string, *queue.Item[string]]) { pool = p },
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
	for d, err := range q.DeadLetters(ctx, queue.Filter{}) {
		ok(t, err)
		reasons[d.ID] = d.Reason
	}
	for id, text := range map[string]string{"error": "no", "panic": "ouch", "goexit": "Goexit", "dead": "wrapped: never"} {
		if !strings.Contains(reasons[id], text) {
			t.Errorf("%s: reason %q", id, reasons[id])
		}
	}
	if queue.Dead(nil) != nil || queue.RetryAfter(nil, 1) != nil {
		t.Error("of nil it is nil")
	}
	if e := errors.New("x"); !errors.Is(queue.Dead(e), e) || !errors.Is(queue.RetryAfter(e, 1), e) {
		t.Error("the error is not found any more")
	}
}

// Heartbeats keep a lease much shorter than the handler; and the handler may look at its item during that time.
func testHeartbeats(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{Lease: 150 * time.Millisecond, MaxAttempts: 1})
	h := func(ctx context.Context, it *queue.Item[string]) error {
		for end := it.LeaseUntil.Add(300 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
			_ = it.LeaseUntil.Add(1)
			it.Charge(0)
		}
		return ctx.Err()
	}
	runs(t, q, h, queue.RunOptions[string]{Concurrency: 2})
	put(t, q, many("a", 2)...)
	st := atRest(t, q)
	same(t, "Acked", st.Acked, 2)
	same(t, "Delivered", st.Delivered, 2)
	same(t, "LeaseExpired", st.LeaseExpired, 0)
}

func testCauses(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{Lease: time.Minute}), bounded(t)
	started, causes := make(chan *queue.Item[string], 4), make(chan error, 4)
	h := func(ctx context.Context, it *queue.Item[string]) error {
		started <- it
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}
	runs(t, q, h, queue.RunOptions[string]{Concurrency: 1, Heartbeat: 10 * time.Millisecond})
	id := put(t, q, job{})[0]
	<-started
	ok(t, q.Cancel(ctx, id))
	want(t, <-causes, queue.ErrCancelled)
	same(t, "Cancelled", atRest(t, q).Cancelled, 1)
	put(t, q, job{})
	it := <-started
	copied := &queue.Item[string]{Task: queue.Task[string]{ID: it.ID, Tenant: it.Tenant}, Token: it.Token}
	ok(t, q.Ack(ctx, copied)) // another call settles it
	want(t, <-causes, queue.ErrLeaseLost)
	st := atRest(t, q)
	same(t, "Acked", st.Acked, 1)
	same(t, "Nacked", st.Nacked, 1) // the cancelled one's
}

// A worker that stops gives its tasks back, and that is not an attempt.
func testStopGivesBack(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{Lease: time.Hour, MaxAttempts: 1})
	started, leave := make(chan string, 9), make(chan struct{})
	h := func(ctx context.Context, it *queue.Item[string]) error {
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
	stop := runs(t, q, h, queue.RunOptions[string]{Concurrency: 3, Grace: time.Millisecond, StuckAfter: 50 * time.Millisecond})
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
}

func testRunFrom(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{})
	put(t, q, append(many("a", 2), append(many("b1", 2), many("c", 2)...)...)...)
	var mu sync.Mutex
	var got []string
	stop := runs(t, q, func(_ context.Context, it *queue.Item[string]) error {
		mu.Lock()
		got = append(got, it.Tenant)
		mu.Unlock()
		return nil
	}, queue.RunOptions[string]{Concurrency: 1, Tenants: []string{"c"}, Steal: []string{"b?"}})
	until(t, "four are handled", func() bool { st, _ := q.Stats(context.Background()); return st.Acked == 4 })
	ok(t, stop())
	if !slices.Equal(got, []string{"c", "c", "b1", "b1"}) {
		t.Fatalf("order: %q", got)
	}
}

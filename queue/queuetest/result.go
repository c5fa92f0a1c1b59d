package queuetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// kept checks that a task is completed, with a result.
func kept(t testing.TB, q *queue.Queue[string], id, result string) queue.Info[string] {
	t.Helper()
	i, err := q.Get(bounded(t), id)
	ok(t, err)
	if i.State != queue.StateCompleted || string(i.Result) != result || i.ID != id || time.Since(i.CompletedAt).Abs() > time.Minute || !i.KeptUntil.After(i.CompletedAt) {
		t.Fatalf("%s: %+v, want it completed, with %q", id, i, result)
	}
	return i
}

// completed lists them.
func completed(t testing.TB, q *queue.Queue[string], tenant string) (ids []string) {
	t.Helper()
	for l := (queue.Listing{State: queue.StateCompleted, Tenant: tenant, Limit: 2}); ; {
		page, next, err := q.List(bounded(t), l)
		ok(t, err)
		for _, i := range page {
			if i.State != queue.StateCompleted {
				t.Fatalf("%+v", i)
			}
			ids = append(ids, i.ID)
		}
		if l.Cursor = next; next == "" {
			return ids
		}
	}
}

// A task whose result is wanted is found after its Ack; one whose is not is gone. What is kept counts nowhere, and does not hold its ID.
func testResults(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxPayload: 100, MaxQueued: 3}), bounded(t)
	const data = "\x00\n12,3:\xff{}"
	put(t, q, job{ID: "x", Tenant: "a", Payload: "p\n:", Cost: 3, Priority: 4, UniqueKey: "k", Headers: map[string]string{"h": "v"}, KeepResult: time.Hour}, job{ID: "empty", Tenant: "b", KeepResult: 2 * time.Hour}, job{ID: "gone"})
	its := map[string]*queue.Item[string]{}
	for _, it := range now(t, q, 3) {
		its[it.ID] = it
	}
	ok(t, its["x"].SetResult([]byte("other")))
	mine := []byte(data)
	ok(t, its["x"].SetResult(mine))
	clear(mine) // it was taken
	ok(t, its["gone"].SetResult([]byte("never asked for")))
	ok(t, q.Ack(ctx, its["gone"], its["x"], its["empty"]))
	i := kept(t, q, "x", data)
	if i.Tenant != "a" || i.Payload != "p\n:" || i.Cost != 3 || i.Priority != 4 || i.UniqueKey != "k" || i.Headers["h"] != "v" || i.KeepResult != time.Hour || i.KeptUntil.Sub(i.CompletedAt) != time.Hour {
		t.Errorf("%+v", i)
	}
	kept(t, q, "empty", "")
	_, err := q.Get(ctx, "gone")
	want(t, err, queue.ErrNotFound)
	equal(t, "all", completed(t, q, ""), []string{"x", "empty"})
	equal(t, "of b", completed(t, q, "b"), []string{"empty"})
	want(t, q.Ack(ctx, its["x"]), queue.ErrLeaseLost) // again, as if its answer had been lost
	ok(t, its["x"].SetResult([]byte("late")))
	want(t, q.Ack(ctx, its["x"], its["x"]), queue.ErrLeaseLost)
	kept(t, q, "x", data)
	st := books(t, q)
	same(t, "tasks", st.Queued+st.Delayed+st.InFlight+st.DeadLetters+st.Tenants, 0)

	// The same ID is a new task; what is kept of the old one is found until this one is there, and again after it has gone another way.
	want(t, q.Cancel(ctx, "x"), queue.ErrNotFound)
	want(t, q.Requeue(ctx, "x"), queue.ErrNotFound)
	put(t, q, job{ID: "x", Tenant: "a", KeepResult: time.Hour, UniqueKey: "k"}, job{ID: "y"}, job{ID: "z"}) // as many as MaxQueued lets in
	i, err = q.Get(ctx, "x")
	ok(t, err)
	same(t, "state", i.State, queue.StateQueued)
	equal(t, "all", completed(t, q, ""), []string{"x", "empty"})
	ok(t, q.Cancel(ctx, "x"))
	kept(t, q, "x", data)
	put(t, q, job{ID: "x", Tenant: "a", KeepResult: time.Hour})
	for _, it := range now(t, q, 3) {
		ok(t, it.SetResult([]byte("new")))
		ok(t, q.Ack(ctx, it))
	}
	kept(t, q, "x", "new")
	equal(t, "all", completed(t, q, ""), []string{"x", "empty"})

	err = q.Forget(ctx, "x", "never", "\x00\xff")
	want(t, err, queue.ErrNotFound)
	if strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), `"never"`) {
		t.Error(err)
	}
	_, err = q.Get(ctx, "x")
	want(t, err, queue.ErrNotFound)
	equal(t, "all", completed(t, q, ""), []string{"empty"})
	want(t, q.Forget(ctx, "x"), queue.ErrNotFound)
	_, err = q.Enqueue(ctx, job{KeepResult: -1})
	want(t, err, firq.ErrInvalidTask)
}

// Only an Ack keeps a result, it ends by itself, and it may have as many bytes as a payload.
func testResultsEnd(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxPayload: 100, Lease: time.Minute, MaxAttempts: 3}), bounded(t)
	put(t, q, job{ID: "x", KeepResult: time.Hour})
	it := take(t, q)
	ok(t, it.SetResult(make([]byte, 100)))
	err := it.SetResult(make([]byte, 101))
	want(t, err, queue.ErrPayloadTooLarge)
	for _, part := range []string{"result", `"x"`, "101 bytes", "100"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: does not say %s", err, part)
		}
	}
	ok(t, q.Release(ctx, it))
	it = take(t, q)
	ok(t, it.SetResult([]byte("failed")))
	ok(t, q.Nack(ctx, it, queue.Retry{Dead: true, Reason: "no"}))
	want(t, q.Ack(ctx, it), queue.ErrLeaseLost)
	i, err := q.Get(ctx, "x")
	ok(t, err)
	if i.State != queue.StateDead || i.Result != nil || i.KeepResult != time.Hour {
		t.Errorf("%+v", i)
	}
	ok(t, q.Requeue(ctx, "x"))
	it = take(t, q)
	ok(t, q.Cancel(ctx, "x")) // too late
	ok(t, it.SetResult([]byte("after all")))
	ok(t, q.Ack(ctx, it))
	kept(t, q, "x", "after all")

	put(t, q, job{ID: "lost", KeepResult: time.Hour})
	old := take(t, q)
	ok(t, old.SetResult([]byte("of a lost lease")))
	ok(t, q.Release(ctx, old))
	it = take(t, q)
	want(t, q.Ack(ctx, old), queue.ErrLeaseLost)
	ok(t, q.Cancel(ctx, "lost"))
	ok(t, q.Nack(ctx, it, queue.Retry{}))
	_, err = q.Get(ctx, "lost")
	want(t, err, queue.ErrNotFound)

	put(t, q, job{ID: "short", KeepResult: 300 * time.Millisecond}, job{ID: "shorter", KeepResult: 1}, job{ID: "for ever", KeepResult: 1<<63 - 1})
	ok(t, q.Ack(ctx, now(t, q, 3)...))
	kept(t, q, "for ever", "")
	until(t, "they end", func() bool { return slices.Equal(completed(t, q, ""), []string{"x", "for ever"}) })
	for _, id := range []string{"short", "shorter"} {
		_, err := q.Get(ctx, id)
		want(t, err, queue.ErrNotFound)
		want(t, q.Forget(ctx, id), queue.ErrNotFound)
	}
	for k := range 40 { // more than a page
		put(t, q, job{ID: fmt.Sprintf("%02d", k), KeepResult: 2 * time.Hour})
	}
	ok(t, q.Ack(ctx, now(t, q, 40)...))
	all := completed(t, q, "")
	same(t, "completed", len(slices.Compact(slices.Clone(all))), 42)
	equal(t, "the ends", []string{all[0], all[41]}, []string{"x", "for ever"})
	ok(t, q.Forget(ctx, all...))
	equal(t, "left", completed(t, q, ""), nil)
}

// Run sends the result, also of a schedule's task.
func testResultsOfRun(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	ok(t, q.Schedules().Put(ctx, queue.Schedule[string]{ID: "s", Cron: "* * * * * *", Task: job{KeepResult: time.Hour, Payload: "of s"}}))
	same(t, "KeepResult", must(q.Schedules().List(ctx))[0].Task.KeepResult, time.Hour)
	until(t, "it fires", func() bool { must(q.Schedules().RunOnce(ctx)); return must(q.Stats(ctx)).Queued > 0 })
	ok(t, q.Schedules().Delete(ctx, "s"))
	for k := range 50 {
		put(t, q, job{ID: fmt.Sprint(k), Payload: fmt.Sprint("of ", k), KeepResult: time.Duration(k%2) * time.Hour})
	}
	runs(t, q, func(_ context.Context, it *queue.Item[string]) error {
		return it.SetResult([]byte("done " + it.Payload))
	}, queue.RunOptions[string]{Concurrency: 8})
	atRest(t, q)
	for _, id := range completed(t, q, "") {
		i, err := q.Get(ctx, id)
		ok(t, err)
		kept(t, q, id, "done "+i.Payload)
	}
	for k := range 50 {
		if i, err := q.Get(ctx, fmt.Sprint(k)); (err == nil) != (k%2 == 1) {
			t.Errorf("%d: %+v, %v", k, i, err)
		}
	}
}

package queuetest

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

func testSameID(t *testing.T, s *suite) {
	t.Run("limits", func(t *testing.T) { sameID(t, s, queue.Config[string]{MaxQueued: 3, MaxQueuedPerTenant: 2}) })
	t.Run("none", func(t *testing.T) { sameID(t, s, queue.Config[string]{}) })
}

func testUniqueKey(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxAttempts: 1}), bounded(t)
	duplicate := func(state, owner string) {
		t.Helper()
		id, err := q.Enqueue(ctx, job{ID: "other", UniqueKey: "k"})
		if !errors.Is(err, queue.ErrDuplicate) || id != owner {
			t.Fatalf("%s: %q, %v, want %q", state, id, err, owner)
		}
	}
	for ends, end := range map[string]func(it *queue.Item[string]) error{
		"acked":     func(it *queue.Item[string]) error { return q.Ack(ctx, it) },
		"dead":      func(it *queue.Item[string]) error { return q.Nack(ctx, it, queue.Retry{}) },
		"cancelled": func(it *queue.Item[string]) error { return errors.Join(q.Cancel(ctx, it.ID), q.Release(ctx, it)) },
		"removed":   func(it *queue.Item[string]) error { return errors.Join(q.Release(ctx, it), q.Cancel(ctx, it.ID)) },
	} {
		put(t, q, job{ID: ends, UniqueKey: "k"})
		duplicate("queued", ends)
		put(t, q, job{ID: ends, UniqueKey: "k"}) // the same task
		it := take(t, q)
		duplicate("in flight", ends)
		put(t, q, job{ID: "of another tenant", Tenant: "b", UniqueKey: "k"})
		ok(t, q.Ack(ctx, take(t, q)))
		ok(t, end(it))
	}
	put(t, q, job{ID: "late", UniqueKey: "k", Deadline: time.Now().Add(-time.Hour)})
	duplicate("expired, but not looked at since", "late")
	none(t, q)
	put(t, q, job{ID: "delayed", UniqueKey: "k", Delay: time.Hour})
	duplicate("delayed", "delayed")
	ok(t, q.Cancel(ctx, "delayed"))
	same(t, "Duplicates", books(t, q).Duplicates, 10)

	// A dead letter has ended, so its key may be another's when it is requeued.
	put(t, q, job{ID: "owner", UniqueKey: "k"})
	ok(t, q.Requeue(ctx, "dead"))
	duplicate("taken", "owner")
	its := now(t, q, 2)
	ok(t, q.Ack(ctx, its[1]))
	same(t, "first", its[0].ID, "owner")
	duplicate("still the owner's", "owner")
	ok(t, q.Ack(ctx, its[0]))
	put(t, q, job{UniqueKey: "k"})
}

func testUniqueFor(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, job{ID: "1", UniqueKey: "k", UniqueFor: 150 * time.Millisecond}, job{ID: "2", UniqueKey: "hour", UniqueFor: time.Hour})
	ok(t, q.Ack(ctx, now(t, q, 2)...))
	id, err := q.Enqueue(ctx, job{ID: "3", UniqueKey: "hour"})
	want(t, err, queue.ErrDuplicate) // though it has ended
	same(t, "owner", id, "2")
	until(t, "the key is free", func() bool {
		_, err := q.Enqueue(ctx, job{ID: "4", UniqueKey: "k"})
		return err == nil
	})
	same(t, "Queued", books(t, q).Queued, 1)
}

func testDeadlineAndDelay(t *testing.T, s *suite) {
	const soon = 600 * time.Millisecond // longer than a slow machine needs for the first lines
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	began := time.Now()
	put(t, q, job{ID: "late", Deadline: time.Now().Add(-time.Second)}, job{ID: "delayed", Delay: 2 * soon},
		job{ID: "at", At: time.Now().Add(soon)}, job{ID: "past", At: time.Now().Add(-time.Hour)},
		job{ID: "both", Delay: 30 * time.Millisecond, Deadline: time.Now().Add(time.Millisecond)})
	same(t, "Enqueued", books(t, q).Enqueued, 5)
	var got []string
	for range 3 {
		it := take(t, q)
		got = append(got, it.ID)
		if it.ID == "delayed" && time.Since(began) < 2*soon || it.ID == "at" && time.Since(began) < soon {
			t.Errorf("%s comes after %v", it.ID, time.Since(began))
		}
		ok(t, q.Ack(ctx, it))
	}
	equal(t, "delivered", got, []string{"past", "at", "delayed"})
	none(t, q)
	same(t, "Expired", books(t, q).Expired, 2)
}

// What a caller's map does later is not the task's.
func testHeadersAreTaken(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{})
	h := map[string]string{"a": "b"}
	put(t, q, job{Headers: h})
	h["a"] = "c"
	if it := take(t, q); !maps.Equal(it.Headers, map[string]string{"a": "b"}) {
		t.Fatal(it.Headers)
	}
}

func sameID(t *testing.T, s *suite, c queue.Config[string]) {
	q, ctx := open(t, s, c), bounded(t)
	again := func(state string) {
		t.Helper()
		was := books(t, q)
		id, err := q.Enqueue(ctx, job{ID: "x", Payload: "second", Priority: 6})
		if err != nil || id != "x" {
			t.Fatalf("%s: %q, %v", state, id, err)
		}
		is := books(t, q)
		was.Oldest, is.Oldest = 0, 0
		if was != is {
			t.Fatalf("%s: changes %+v to %+v", state, was, is)
		}
	}
	put(t, q, job{ID: "x", Payload: "first", Delay: 100 * time.Millisecond}, job{ID: "y"})
	again("delayed, and the tenant is full")
	y := take(t, q)
	same(t, "ID", y.ID, "y")
	x := take(t, q)
	same(t, "Payload", x.Payload, "first")
	again("in flight")
	ok(t, q.Release(ctx, x))
	again("queued")
	ok(t, q.Nack(ctx, take(t, q), queue.Retry{Dead: true}))
	again("dead")
	n, err := q.Purge(ctx, queue.Filter{})
	ok(t, err)
	same(t, "purged", n, 1)
	put(t, q, job{ID: "x", Payload: "new"})
	x = take(t, q)
	same(t, "Payload", x.Payload, "new")
	ok(t, q.Ack(ctx, x, y))
	rs, err := q.EnqueueBatch(ctx, []job{{ID: "z"}, {ID: "z"}})
	ok(t, err)
	same(t, "the second in the batch", rs[1], queue.Result{ID: "z"})
	same(t, "Queued", books(t, q).Queued, 1)
	firstOfTwo(t, s, c)
}

// firstOfTwo checks that of two tasks with one ID in a call the first counts, wherever they are.
func firstOfTwo(t *testing.T, s *suite, c queue.Config[string]) {
	const n = 40
	c.MaxQueued, c.MaxQueuedPerTenant = n*c.MaxQueued, n*c.MaxQueuedPerTenant
	q := open(t, s, c)
	var tasks []job
	for i := range 2 * n {
		tasks = append(tasks, job{ID: fmt.Sprint(i * 7 % n), Payload: []string{"first", "second"}[i/n]})
	}
	put(t, q, tasks...)
	for _, it := range now(t, q, 2*n) {
		same(t, "Payload of "+it.ID, it.Payload, "first")
	}
	same(t, "Delivered", books(t, q).Delivered, n)
}

// A deadline may be relative to Enqueue, and to the firing of a schedule.
func testTTL(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	for _, x := range []job{{TTL: -1}, {TTL: 1, Deadline: time.Now()}} {
		_, err := q.Enqueue(ctx, x)
		want(t, err, firq.ErrInvalidTask)
		want(t, q.Schedules().Put(ctx, queue.Schedule[string]{ID: "bad", Cron: "@daily", Task: x}), firq.ErrInvalidTask)
	}
	soon := func(it *queue.Item[string]) {
		t.Helper()
		if d := time.Until(it.Deadline); d < 59*time.Minute || d > time.Hour || it.TTL != 0 {
			t.Errorf("it expires in %v", d)
		}
		ok(t, q.Ack(ctx, it))
	}
	put(t, q, job{TTL: time.Hour})
	soon(take(t, q))
	put(t, q, job{TTL: time.Millisecond, Delay: 20 * time.Millisecond}, job{TTL: 1<<63 - 1, Delay: 30 * time.Millisecond, ID: "late"})
	it := take(t, q)
	same(t, "ID", it.ID, "late")
	ok(t, q.Ack(ctx, it))
	same(t, "Expired", books(t, q).Expired, 1)
	ok(t, q.Schedules().Put(ctx, queue.Schedule[string]{ID: "s", Cron: "* * * * * *", Task: job{TTL: time.Hour}}))
	same(t, "TTL", must(q.Schedules().List(ctx))[0].Task.TTL, time.Hour)
	until(t, "it fires", func() bool { must(q.Schedules().RunOnce(ctx)); return must(q.Stats(ctx)).Queued > 0 })
	ok(t, q.Schedules().Delete(ctx, "s"))
	soon(take(t, q))
	ok(t, q.Ack(ctx, now(t, q, 100)...))
}

// An ID that comes twice in a call, whose first task is refused, is not known, and its key is free: what Enqueue has accepted is there.
func testSameIDRefused(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxQueued: 4}), bounded(t)
	put(t, q, job{ID: "owner", UniqueKey: "k"}, job{ID: "old", UniqueKey: "K", UniqueFor: time.Hour})
	ok(t, q.Cancel(ctx, "old")) // its key stays
	batch := func(ts []job, wants ...error) {
		t.Helper()
		rs, _ := q.EnqueueBatch(ctx, ts)
		for i, w := range wants {
			if rs[i].Err != w {
				t.Errorf("task %d: %v, want %v", i, rs[i].Err, w)
			}
			if _, err := q.Get(ctx, ts[i].ID); (err == nil) != (rs[len(wants)-1].Err == nil) {
				t.Errorf("task %d: Get: %v", i, err)
			}
		}
	}
	batch([]job{{ID: "x", UniqueKey: "k"}, {ID: "x", UniqueKey: "k"}, {ID: "x"}, {ID: "x"}}, queue.ErrDuplicate, queue.ErrDuplicate, nil, nil)
	put(t, q, job{}, job{})
	batch([]job{{ID: "y"}, {ID: "y"}}, queue.ErrFull, queue.ErrFull)
	batch([]job{{ID: "z", UniqueKey: "other"}, {ID: "zz", UniqueKey: "other"}, {ID: "zz"}, {ID: "z"}}, queue.ErrFull, queue.ErrFull, queue.ErrFull, queue.ErrFull)
	batch([]job{{ID: "old"}, {ID: "new", UniqueKey: "K"}}, queue.ErrFull, queue.ErrDuplicate)
	st := books(t, q)
	same(t, "Enqueued", st.Enqueued, 5)
	same(t, "Duplicates", st.Duplicates, 3)
	same(t, "Rejected", st.Rejected, 7)
}

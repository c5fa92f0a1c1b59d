package firqredis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

func TestTaskComesBackAsGiven(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		type payload struct {
			A int
			B []string
		}
		q, ctx := open(t, s, Config[payload]{Partitions: 2}), bounded(t)
		at, deadline := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
		full := Task[payload]{
			Payload: payload{7, []string{"x\n:", "\x00é"}}, Tenant: "ten:ant 1", ID: "id:1 2", UniqueKey: "key:\t", UniqueFor: time.Hour,
			Cost: 1<<62 + 1, Priority: 4, At: at, Deadline: deadline, MaxAttempts: 9, Headers: map[string]string{"a\n": "b:\n", "": "é"},
		}
		id, err := q.Enqueue(ctx, full)
		ok(t, err)
		same(t, "id", id, full.ID)
		it, err := q.Dequeue(ctx)
		ok(t, err)
		if !it.At.Equal(at) || !it.Deadline.Equal(deadline) {
			t.Errorf("At %v, Deadline %v, want %v, %v", it.At, it.Deadline, at, deadline)
		}
		it.At, it.Deadline = full.At, full.Deadline
		if !reflect.DeepEqual(it.Task, full) {
			t.Errorf("%+v\nwant %+v", it.Task, full)
		}
		same(t, "Attempt", it.Attempt, 1)
		if it.Wait < 0 || it.Wait > patience {
			t.Errorf("Wait: %v", it.Wait)
		}
		if it.Token == 0 || it.LeaseUntil.IsZero() {
			t.Errorf("Token %d, LeaseUntil %v", it.Token, it.LeaseUntil)
		}
		ok(t, q.Ack(ctx, it))
		id, err = q.Enqueue(ctx, Task[payload]{})
		ok(t, err)
		it, err = q.Dequeue(ctx)
		ok(t, err)
		w := Task[payload]{Tenant: "default", ID: id, Cost: 1, Priority: firq.PriorityNormal, MaxAttempts: DefaultMaxAttempts}
		if id == "" || !reflect.DeepEqual(it.Task, w) {
			t.Errorf("%+v\nwant %+v", it.Task, w)
		}
		ok(t, q.Ack(ctx, it))
	})
}

func TestBytes(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[[]byte]{}), bounded(t)
		all := make([]byte, 256)
		for k := range all {
			all[k] = byte(k)
		}
		_, err := q.Enqueue(ctx, Task[[]byte]{Payload: all})
		ok(t, err)
		it, err := q.Dequeue(ctx)
		ok(t, err)
		same(t, "Payload", string(it.Payload), string(all))
		ok(t, q.Ack(ctx, it))
	})
}

func TestBadTasks(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxPayload: 100}), bounded(t)
		long := strings.Repeat("x", 129)
		for field, x := range map[string]job{
			"Tenant": {Tenant: "a{b"}, "Tenant:": {Tenant: "a\nb"}, "Tenant: ": {Tenant: long}, "ID": {ID: "}"}, "ID:": {ID: "a\r"},
			"UniqueKey": {UniqueKey: "{}"}, "UniqueKey:": {UniqueKey: long}, "UniqueFor": {UniqueKey: "a", UniqueFor: -1}, "Cost": {Cost: -1},
			"Priority": {Priority: 7}, "Delay": {Delay: -1}, "Delay and At": {Delay: 1, At: time.Now()}, "MaxAttempts": {MaxAttempts: -1},
		} {
			_, err := q.Enqueue(ctx, x)
			if field = strings.TrimRight(field, ": "); !errors.Is(err, firq.ErrInvalidTask) || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
		_, err := q.Enqueue(ctx, job{Payload: long})
		want(t, err, ErrPayloadTooLarge)
		_, err = q.Enqueue(ctx, job{Headers: map[string]string{"trace": long}})
		want(t, err, ErrPayloadTooLarge)
		want(t, q.Schedules().Put(ctx, Schedule[string]{ID: "s", Cron: "@daily", Task: job{Headers: map[string]string{long: ""}}}), ErrPayloadTooLarge)
		// In a batch the others are queued, and each has its own error.
		rs, err := q.EnqueueBatch(ctx, []job{{ID: "1"}, {ID: "2", Cost: -1}, {ID: "3", Payload: long}, {ID: "4"}})
		want(t, err, firq.ErrInvalidTask)
		want(t, err, ErrPayloadTooLarge)
		want(t, rs[1].Err, firq.ErrInvalidTask)
		want(t, rs[2].Err, ErrPayloadTooLarge)
		if rs[0] != (Result{ID: "1"}) || rs[3] != (Result{ID: "4"}) || rs[1].ID != "2" || rs[2].ID != "3" {
			t.Errorf("%+v", rs)
		}
		same(t, "Enqueued", books(t, q).Enqueued, 2)
		put(t, q, job{Tenant: strings.Repeat("x", 128), ID: strings.Repeat("é", 64)})
		for name, err := range map[string]error{
			"Pause": q.Pause(ctx, "{"), "Resume": q.Resume(ctx, long), "SetTenant": q.SetTenant(ctx, "", TenantSettings{}),
			"Cancel": q.Cancel(ctx, "}"), "weight": q.SetTenant(ctx, "a", TenantSettings{Weight: -1}), "Ack": q.Ack(ctx, nil),
			"Dequeue": func() error { _, err := q.Dequeue(nil); return err }(), //nolint:staticcheck // on purpose
		} {
			if !errors.Is(err, firq.ErrInvalidArgument) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestSameID(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		t.Run("limits", func(t *testing.T) { sameID(t, s, Config[string]{MaxQueued: 3, MaxQueuedPerTenant: 2}) })
		t.Run("none", func(t *testing.T) { sameID(t, s, Config[string]{}) })
	})
}

func sameID(t *testing.T, s *server, c Config[string]) {
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
	ok(t, q.Nack(ctx, take(t, q), Retry{Dead: true}))
	again("dead")
	n, err := q.Purge(ctx, Filter{})
	ok(t, err)
	same(t, "purged", n, 1)
	put(t, q, job{ID: "x", Payload: "new"})
	x = take(t, q)
	same(t, "Payload", x.Payload, "new")
	ok(t, q.Ack(ctx, x, y))
	rs, err := q.EnqueueBatch(ctx, []job{{ID: "z"}, {ID: "z"}})
	ok(t, err)
	same(t, "the second in the batch", rs[1], Result{ID: "z"})
	same(t, "Queued", books(t, q).Queued, 1)
}

func TestUniqueKey(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxAttempts: 1}), bounded(t)
		duplicate := func(state, owner string) {
			t.Helper()
			id, err := q.Enqueue(ctx, job{ID: "other", UniqueKey: "k"})
			if !errors.Is(err, ErrDuplicate) || id != owner {
				t.Fatalf("%s: %q, %v, want %q", state, id, err, owner)
			}
		}
		for ends, end := range map[string]func(it *Item[string]) error{
			"acked":     func(it *Item[string]) error { return q.Ack(ctx, it) },
			"dead":      func(it *Item[string]) error { return q.Nack(ctx, it, Retry{}) },
			"cancelled": func(it *Item[string]) error { return errors.Join(q.Cancel(ctx, it.ID), q.Release(ctx, it)) },
			"removed":   func(it *Item[string]) error { return errors.Join(q.Release(ctx, it), q.Cancel(ctx, it.ID)) },
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
	})
}

func TestUniqueFor(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, job{ID: "1", UniqueKey: "k", UniqueFor: 150 * time.Millisecond}, job{ID: "2", UniqueKey: "hour", UniqueFor: time.Hour})
		ok(t, q.Ack(ctx, now(t, q, 2)...))
		id, err := q.Enqueue(ctx, job{ID: "3", UniqueKey: "hour"})
		want(t, err, ErrDuplicate) // though it has ended
		same(t, "owner", id, "2")
		until(t, "the key is free", func() bool {
			_, err := q.Enqueue(ctx, job{ID: "4", UniqueKey: "k"})
			return err == nil
		})
		same(t, "Queued", books(t, q).Queued, 1)
	})
}

func TestDeadlineAndDelay(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		const soon = 600 * time.Millisecond // longer than a slow machine needs for the first lines
		q, ctx := open(t, s, Config[string]{}), bounded(t)
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
	})
}

func TestEnqueueBatch(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		n := 50_000
		if s.name != "redis" {
			n = 3_000
		}
		c := s.client(t)
		scripts := count(c, pushScript.sha)
		q, ctx := open(t, s, Config[string]{Client: c}), bounded(t)
		ts := make([]job, n)
		for k := range ts {
			ts[k] = job{Tenant: fmt.Sprint(k % 10), ID: fmt.Sprint("id", k)}
		}
		rs, err := q.EnqueueBatch(ctx, ts)
		ok(t, err)
		for k := range rs {
			if rs[k] != (Result{ID: ts[k].ID}) {
				t.Fatalf("result %d: %+v", k, rs[k])
			}
		}
		if got := scripts.n[pushScript.sha].Load(); got < int64(n/queue.MaxBatch) {
			t.Errorf("%d tasks in %d scripts", n, got)
		}
		same(t, "Queued", books(t, q).Queued, n)
		// By bytes, too.
		was := scripts.n[pushScript.sha].Load()
		big := strings.Repeat("x", 200<<10)
		for k := range 12 {
			ts[k] = job{Payload: big}
		}
		_, err = q.EnqueueBatch(ctx, ts[:12])
		ok(t, err)
		if got := scripts.n[pushScript.sha].Load() - was; got < 3 {
			t.Errorf("2.4 MB in %d scripts", got)
		}
		rs, err = q.EnqueueBatch(ctx, nil)
		if len(rs) != 0 || err != nil {
			t.Errorf("no tasks: %v, %v", rs, err)
		}
		done, cancel := context.WithCancel(ctx)
		cancel()
		rs, err = q.EnqueueBatch(done, ts[:3])
		want(t, err, context.Canceled)
		same(t, "results", len(rs), 3)
	})
}

// What a caller's map does later is not the task's.
func TestHeadersAreTaken(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{})
		h := map[string]string{"a": "b"}
		put(t, q, job{Headers: h})
		h["a"] = "c"
		if it := take(t, q); !maps.Equal(it.Headers, map[string]string{"a": "b"}) {
			t.Fatal(it.Headers)
		}
	})
}

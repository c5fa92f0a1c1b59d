package queuetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

func testFencing(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{Lease: short}), bounded(t)
	id := put(t, q, job{Payload: "x"})[0]
	old := take(t, q)
	same(t, "Attempt", old.Attempt, 1)
	again := take(t, q) // immediately, once the lease has run out
	same(t, "ID", again.ID, id)
	same(t, "Attempt", again.Attempt, 2)
	if again.Token <= old.Token {
		t.Fatalf("token %d after %d", again.Token, old.Token)
	}
	ok(t, q.Extend(ctx, time.Minute, again))
	want(t, q.Ack(ctx, old), queue.ErrLeaseLost)
	want(t, q.Nack(ctx, old, queue.Retry{Dead: true}), queue.ErrLeaseLost)
	want(t, q.Release(ctx, old), queue.ErrLeaseLost)
	want(t, q.Extend(ctx, 0, old), queue.ErrLeaseLost)
	var te *queue.TaskError
	if err := q.Ack(ctx, old); !errors.As(err, &te) || te.ID != id {
		t.Fatalf("not a queue.TaskError of the task: %v", err)
	}
	same(t, "LeaseLost", books(t, q).LeaseLost, 5)
	ok(t, q.Ack(ctx, again))
	want(t, q.Ack(ctx, again), queue.ErrLeaseLost)
	st := books(t, q)
	same(t, "Acked", st.Acked, 1)
	same(t, "LeaseExpired", st.LeaseExpired, 1)
}

// A lease that has run out is the worker's until the task was given on.
func testLateAck(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{Lease: time.Millisecond}), bounded(t)
	put(t, q, job{})
	it := take(t, q)
	until(t, "the lease runs out", func() bool { return time.Now().After(it.LeaseUntil.Add(20 * time.Millisecond)) })
	ok(t, q.Ack(ctx, it))
	same(t, "Acked", books(t, q).Acked, 1)
}

func testLastLease(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{Lease: short, MaxAttempts: 2, Backoff: queue.Backoff{First: time.Hour, NoJitter: true}}), bounded(t)
	put(t, q, job{ID: "poison", Payload: "x"}, job{ID: "other", Delay: time.Hour})
	take(t, q)
	second := take(t, q) // without queue.Backoff
	same(t, "Attempt", second.Attempt, 2)
	wait, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	go func() {
		until(t, "death", func() bool { s, err := q.Stats(ctx); return err == nil && s.Dead == 1 })
		cancel()
	}()
	if it, err := q.Dequeue(wait); err == nil {
		t.Fatalf("delivered again: %+v", it)
	}
	want(t, q.Ack(ctx, second), queue.ErrLeaseLost)
	n := 0
	for d, err := range q.DeadLetters(ctx, queue.Filter{}) {
		ok(t, err)
		n++
		same(t, "ID", d.ID, "poison")
		same(t, "Reason", d.Reason, "lease ran out")
		same(t, "Attempts", d.Attempts, 2)
		same(t, "Payload", d.Payload, "x")
		same(t, "Raw", string(d.Raw), `"x"`)
	}
	same(t, "dead letters", n, 1)
}

func testRelease(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxAttempts: 2}), bounded(t)
	put(t, q, job{ID: "a"}, job{ID: "b"})
	for range 5 {
		it := take(t, q)
		same(t, "ID", it.ID, "a") // keeps its place
		same(t, "Attempt", it.Attempt, 1)
		ok(t, q.Release(ctx, it))
	}
	its := now(t, q, 2)
	ok(t, q.Release(ctx, its...))
	same(t, "Released", books(t, q).Released, 7)
	want(t, q.Release(ctx, its[0]), queue.ErrLeaseLost)
}

func testExtend(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{Lease: short}), bounded(t)
	put(t, q, job{})
	it := take(t, q)
	was := it.LeaseUntil
	ok(t, q.Extend(ctx, time.Hour, it))
	if !it.LeaseUntil.After(was.Add(59 * time.Minute)) {
		t.Fatalf("LeaseUntil %v, was %v", it.LeaseUntil, was)
	}
	ok(t, q.Extend(ctx, 0, it))
	if !it.LeaseUntil.Before(was.Add(time.Minute)) {
		t.Fatalf("LeaseUntil %v, was %v", it.LeaseUntil, was)
	}
	want(t, q.Extend(ctx, -1, it), firq.ErrInvalidArgument)
	again := take(t, q) // a shorter lease is noticed
	same(t, "Attempt", again.Attempt, 2)
}

func testNack(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxAttempts: 3, Backoff: queue.Backoff{First: time.Millisecond, NoJitter: true}}), bounded(t)
	put(t, q, job{ID: "a", Headers: map[string]string{"k": "v"}})
	for k := range 3 {
		it := take(t, q)
		same(t, "Attempt", it.Attempt, k+1)
		same(t, "Headers", it.Headers["k"], "v")
		ok(t, q.Nack(ctx, it, queue.Retry{Reason: "no", After: []time.Duration{0, -1, 0}[k]}))
		want(t, q.Nack(ctx, it, queue.Retry{}), queue.ErrLeaseLost)
	}
	put(t, q, job{ID: "b"})
	ok(t, q.Nack(ctx, take(t, q), queue.Retry{Reason: "never", Dead: true}))
	var got []string
	for d, err := range q.DeadLetters(ctx, queue.Filter{}) {
		ok(t, err)
		got = append(got, d.ID+" "+d.Reason)
	}
	equal(t, "dead letters", got, []string{"a no", "b never"})
	put(t, q, job{ID: "c"})
	ok(t, q.Nack(ctx, take(t, q), queue.Retry{After: time.Hour}))
	none(t, q)
	same(t, "Delayed", books(t, q).Delayed, 1)
}

// Times at the end of their range are late, not early.
func testEndlessDelays(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, job{ID: "a", Delay: 1<<63 - 1}, job{ID: "b"}, job{ID: "c", At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})
	it := take(t, q)
	same(t, "ID", it.ID, "b")
	ok(t, q.Nack(ctx, it, queue.Retry{After: 1<<63 - 1}))
	none(t, q)
	put(t, q, job{ID: "d", UniqueKey: "u", UniqueFor: 1<<63 - 1})
	it = take(t, q)
	ok(t, q.Extend(ctx, 1<<63-1, it))
	none(t, q)
	ok(t, q.Ack(ctx, it))
	_, err := q.Enqueue(ctx, job{UniqueKey: "u"})
	want(t, err, queue.ErrDuplicate)
}

// What is released was not worked on, and its tenant does not pay for it.
func testReleaseIsNotCharged(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	for _, name := range []string{"a", "b"} {
		ts := many(name, 10)
		for i := range ts {
			ts[i].Cost = 10
		}
		put(t, q, ts...)
	}
	for range 5 {
		it, err := q.From([]string{"a"}, nil).Dequeue(ctx)
		ok(t, err)
		ok(t, q.Release(ctx, it))
	}
	put(t, q, job{ID: "cancelled", Tenant: "a", Cost: 90, Priority: firq.PriorityCritical})
	it, err := q.From([]string{"a"}, nil).Dequeue(ctx)
	ok(t, err)
	ok(t, q.Cancel(ctx, "cancelled"))
	ok(t, q.Release(ctx, it))
	n := map[string]int{}
	for range 8 {
		it, err := q.Dequeue(ctx)
		ok(t, err)
		n[it.Tenant]++
		ok(t, q.Ack(ctx, it))
	}
	if n["a"] != 4 || n["b"] != 4 {
		t.Errorf("after five deliveries that were released: %v, want 4 of each", n)
	}
}

package queuetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// patience is how long a test may take before it fails by itself.
const patience = 60 * time.Second

// job is what most tests queue.
type job = queue.Task[string]

// open opens its own queue, on which the books are checked when the test ends.
func open(t testing.TB, s *suite, c queue.Config[string]) *queue.Queue[string] {
	t.Helper()
	if c.Name == "" {
		c.Name = fmt.Sprint("t", once, "-", opened.Add(1))
	}
	q := s.open(t, c)
	t.Cleanup(func() {
		if !t.Failed() {
			books(t, q)
		}
	})
	return q
}

// books checks the sums of Stats.
func books(t testing.TB, q *queue.Queue[string]) queue.Stats {
	t.Helper()
	s, err := q.Stats(context.Background())
	if errors.Is(err, firq.ErrClosed) {
		return s
	}
	ok(t, err)
	if in, out := s.Enqueued+s.Requeued, s.Acked+s.Cancelled+s.Expired+s.Dead+uint64(s.Queued+s.Delayed+s.InFlight); in != out {
		t.Errorf("Enqueued + Requeued = %d, but %d are accounted for: %+v", in, out, s)
	}
	if out := s.Acked + s.Nacked + s.Released + s.LeaseExpired + uint64(s.InFlight); s.Delivered != out {
		t.Errorf("Delivered = %d, but %d have ended or are in flight: %+v", s.Delivered, out, s)
	}
	if left := s.Dead - s.Requeued - s.Purged; uint64(s.DeadLetters) != left {
		t.Errorf("DeadLetters = %d, but Dead - Requeued - Purged = %d: %+v", s.DeadLetters, left, s)
	}
	return s
}

// bounded returns a context that ends after patience.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// now takes up to n tasks that are there, and does not wait: Source.Pop says how.
func now(t testing.TB, q *queue.Queue[string], n int) (its []*queue.Item[string]) {
	t.Helper()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	source := q.Engine().From(nil, nil)
	for len(its) < n {
		looks := 0
		ds, err := source.Pop(over, func() int {
			if looks++; looks > 3 {
				return 0
			}
			return n - len(its)
		})
		ok(t, err)
		if len(ds) == 0 {
			return its
		}
		for i := range ds {
			its = append(its, read(t, &ds[i]))
		}
	}
	return its
}

// read returns what a consumer gets of a delivery.
func read(t testing.TB, d *queue.Delivery) *queue.Item[string] {
	t.Helper()
	ok(t, d.Err)
	x := d.Task
	it := &queue.Item[string]{Attempt: d.Attempt, Wait: d.Wait, Token: d.Token, LeaseUntil: d.LeaseUntil, Task: job{
		Tenant: x.Tenant, ID: x.ID, UniqueKey: x.UniqueKey, UniqueFor: x.UniqueFor, Cost: x.Cost, Priority: x.Priority, Delay: x.Delay, At: x.At,
		Deadline: x.Deadline, MaxAttempts: x.MaxAttempts, KeepResult: x.KeepResult, Headers: x.Headers,
	}}
	ok(t, json.Unmarshal(x.Payload, &it.Payload))
	return it
}

// put enqueues tasks.
func put(t testing.TB, q *queue.Queue[string], tasks ...job) []string {
	t.Helper()
	rs, err := q.EnqueueBatch(bounded(t), tasks)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(rs))
	for i := range rs {
		ids[i] = rs[i].ID
	}
	return ids
}

// many returns n tasks of a tenant.
func many(tenant string, n int) []job {
	ts := make([]job, n)
	for i := range ts {
		ts[i].Tenant = tenant
	}
	return ts
}

// take waits for a task.
func take(t testing.TB, q *queue.Queue[string]) *queue.Item[string] {
	t.Helper()
	it, err := q.Dequeue(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// none checks that nothing can be taken.
func none(t testing.TB, q *queue.Queue[string]) {
	t.Helper()
	if its := now(t, q, 1); len(its) > 0 {
		t.Fatalf("delivered: %+v", its[0])
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error %v, want %v", err, target)
	}
}

func same[V comparable](t testing.TB, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func tenantsOf(its []*queue.Item[string]) (names []string) {
	for _, it := range its {
		names = append(names, it.Tenant)
	}
	return names
}

func idsOf(its []*queue.Item[string]) (ids []string) {
	for _, it := range its {
		ids = append(ids, it.ID)
	}
	return ids
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
}

// until waits until f holds.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience / 2); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("does not happen:", what)
		}
	}
}

// runs starts queue.Run; what it returns stops it, and returns its error.
func runs(t testing.TB, q *queue.Queue[string], h func(ctx context.Context, it *queue.Item[string]) error, o queue.RunOptions[string]) (stop func() error) {
	t.Helper()
	silent := func(queue.Event[string]) {}
	for _, hook := range []*func(queue.Event[string]){&o.OnSlow, &o.OnTimeout, &o.OnStuck, &o.OnError, &o.OnPanic} {
		if *hook == nil {
			*hook = silent
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- queue.Run(ctx, q, h, o) }()
	ended := false
	stop = func() error {
		cancel()
		if ended {
			return nil
		}
		ended = true
		select {
		case err := <-done:
			return err
		case <-time.After(patience / 2):
			t.Error("Run does not return")
			return firq.ErrClosed
		}
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func bury(t testing.TB, q *queue.Queue[string], reason string, tasks ...job) {
	t.Helper()
	for _, x := range tasks {
		put(t, q, x)
		its := now(t, q, 1)
		same(t, "delivered", len(its), 1)
		ok(t, q.Nack(bounded(t), its[0], queue.Retry{Dead: true, Reason: reason}))
	}
}

func letters(t testing.TB, q *queue.Queue[string], f queue.Filter) (ids []string) {
	t.Helper()
	for d, err := range q.DeadLetters(bounded(t), f) {
		ok(t, err)
		ids = append(ids, d.ID)
	}
	return ids
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func namesOf(all []queue.TenantStats) (names []string) {
	for i := range all {
		names = append(names, all[i].Tenant)
	}
	return names
}

// short is a lease that a test waits for.
const short = 30 * time.Millisecond

// atRest waits until nothing is queued, due soon, or in flight.
func atRest(t testing.TB, q *queue.Queue[string]) queue.Stats {
	t.Helper()
	var st queue.Stats
	until(t, "rest", func() bool {
		var err error
		st, err = q.Stats(context.Background())
		return err == nil && st.Queued+st.Delayed+st.InFlight == 0
	})
	return books(t, q)
}

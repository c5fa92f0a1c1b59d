package firqredis

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// job is what most tests queue.
type job = Task[string]

// put enqueues tasks.
func put(t testing.TB, q *Queue[string], tasks ...job) []string {
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

// now takes up to n tasks that are there, and does not wait.
func now(t testing.TB, q *Queue[string], n int) []*Item[string] {
	t.Helper()
	var its []*Item[string]
	for p := range at(q).prefix {
		for len(its) < n {
			b, err := at(q).pop(bounded(t), p, popping{n: min(n-len(its), queue.MaxBatch), bytes: queue.MaxBytes})
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.ds {
				its = append(its, read(t, &b.ds[i]))
			}
			if len(b.ds) == 0 && b.next != 0 {
				break
			}
		}
	}
	return its
}

// read returns what a consumer gets of a delivery.
func read(t testing.TB, d *queue.Delivery) *Item[string] {
	t.Helper()
	ok(t, d.Err)
	x := d.Task
	it := &Item[string]{Attempt: d.Attempt, Wait: d.Wait, Token: d.Token, LeaseUntil: d.LeaseUntil, Task: job{
		Tenant: x.Tenant, ID: x.ID, UniqueKey: x.UniqueKey, UniqueFor: x.UniqueFor, Cost: x.Cost, Priority: x.Priority, Delay: x.Delay, At: x.At,
		Deadline: x.Deadline, MaxAttempts: x.MaxAttempts, KeepResult: x.KeepResult, Headers: x.Headers,
	}}
	ok(t, json.Unmarshal(x.Payload, &it.Payload))
	return it
}

// take waits for a task.
func take(t testing.TB, q *Queue[string]) *Item[string] {
	t.Helper()
	it, err := q.Dequeue(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// none checks that nothing can be taken.
func none(t testing.TB, q *Queue[string]) {
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

func tenantsOf(its []*Item[string]) (names []string) {
	for _, it := range its {
		names = append(names, it.Tenant)
	}
	return names
}

func idsOf(its []*Item[string]) (ids []string) {
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

// runs starts Run; what it returns stops it, and returns its error.
func runs(t testing.TB, q *Queue[string], h func(ctx context.Context, it *Item[string]) error, o RunOptions[string]) (stop func() error) {
	t.Helper()
	silent := func(Event[string]) {}
	for _, hook := range []*func(Event[string]){&o.OnSlow, &o.OnTimeout, &o.OnStuck, &o.OnError, &o.OnPanic} {
		if *hook == nil {
			*hook = silent
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, q, h, o) }()
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

func z(member string, at time.Time) redis.Z {
	return redis.Z{Member: member, Score: float64(at.UnixMicro())}
}

package queuetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

func testDeadLetterFilters(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	bury(t, q, "out of luck", job{ID: "1", Tenant: "a"}, job{ID: "2", Tenant: "b"})
	bury(t, q, "out of money", job{ID: "3", Tenant: "c"}, job{ID: "4", Tenant: "a"})
	var died []time.Time
	for d, err := range q.DeadLetters(ctx, queue.Filter{}) {
		ok(t, err)
		died = append(died, d.DiedAt)
	}
	for _, c := range []struct {
		f    queue.Filter
		want string
	}{
		{queue.Filter{}, "1 2 3 4"},
		{queue.Filter{Limit: 3}, "1 2 3"},
		{queue.Filter{Tenant: "a"}, "1 4"},
		{queue.Filter{Tenant: "x"}, ""},
		{queue.Filter{Reason: "luck"}, "1 2"},
		{queue.Filter{Reason: "out of"}, "1 2 3 4"},
		{queue.Filter{IDs: []string{"3", "1", "9"}}, "1 3"},
		{queue.Filter{After: died[1]}, "2 3 4"},
		{queue.Filter{Before: died[1]}, "1"},
		{queue.Filter{After: died[1], Before: died[3]}, "2 3"},
		{queue.Filter{Tenant: "a", Reason: "money", IDs: []string{"4", "3"}, After: died[1], Limit: 5}, "4"},
	} {
		if got := strings.Join(letters(t, q, c.f), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
	n, err := q.Purge(ctx, queue.Filter{Reason: "money", Tenant: "a"})
	ok(t, err)
	same(t, "purged", n, 1)
	n, err = q.Purge(ctx, queue.Filter{Limit: 2})
	ok(t, err)
	same(t, "purged", n, 2)
	equal(t, "left", letters(t, q, queue.Filter{}), []string{"3"})
	n, err = q.Purge(ctx, queue.Filter{})
	ok(t, err)
	same(t, "purged", n, 1)
	same(t, "Purged", books(t, q).Purged, 4)
	_, err = q.Purge(ctx, queue.Filter{Tenant: "{"})
	want(t, err, firq.ErrInvalidArgument)
}

func testRequeue(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxQueued: 4, MaxQueuedPerTenant: 1, MaxAttempts: 1}), bounded(t)
	bury(t, q, "x", job{ID: "1", Tenant: "a", Payload: "p", Cost: 3, Priority: 2}, job{ID: "2", Tenant: "b"})
	put(t, q, job{ID: "3", Tenant: "a"}) // a is full
	err := q.Requeue(ctx, "1", "no", "2", "3", "1")
	want(t, err, queue.ErrNotFound)
	var missing []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var te *queue.TaskError
		if errors.As(e, &te) {
			missing = append(missing, te.ID)
		}
	}
	equal(t, "missing", missing, []string{"no", "3"})
	same(t, "Requeued", books(t, q).Requeued, 2)
	for range 3 {
		it := take(t, q)
		same(t, "Attempt", it.Attempt, 1)
		if it.ID == "1" {
			same(t, "Cost", it.Cost, 3)
			same(t, "Payload", it.Payload, "p")
			same(t, "Priority", it.Priority, 2)
		}
		ok(t, q.Ack(ctx, it))
	}
	ok(t, q.Requeue(ctx))
}

func testRetention(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{DeadLetters: queue.Retention{PerTenant: 4, For: -1}})
	for k := range 9 {
		bury(t, q, "x", job{ID: fmt.Sprint("a", k), Tenant: "a"})
		books(t, q)
		first := max(0, k-3)
		if ids := letters(t, q, queue.Filter{Tenant: "a"}); len(ids) != k+1-first || ids[0] != fmt.Sprint("a", first) {
			t.Fatalf("after %d: %q", k+1, ids)
		}
	}
	bury(t, q, "x", job{ID: "b", Tenant: "b"})
	equal(t, "left", letters(t, q, queue.Filter{}), []string{"a5", "a6", "a7", "a8", "b"})
	same(t, "Purged", books(t, q).Purged, 5)
}

package queuetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// A task is found in each state, with all that is known of it there, and not after it has ended.
func testGet(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, job{ID: "x", Tenant: "a", Payload: "p", Cost: 3, Priority: 4, UniqueKey: "k", Headers: map[string]string{"h": "v"}, MaxAttempts: 2}, job{ID: "later", Delay: time.Hour})
	get := func(id string, state queue.State, attempts int) queue.Info[string] {
		t.Helper()
		i, err := q.Get(ctx, id)
		ok(t, err)
		if i.ID != id || i.State != state || i.Attempts != attempts || state != queue.StateInFlight != i.LeaseUntil.IsZero() || state != queue.StateDead != (i.DiedAt.IsZero() && i.Reason == "") {
			t.Errorf("%s: %+v, want %v", id, i, state)
		}
		return i
	}
	i := get("x", queue.StateQueued, 0)
	if i.Tenant != "a" || i.Payload != "p" || string(i.Raw) != `"p"` || i.Cost != 3 || i.Priority != 4 || i.UniqueKey != "k" || i.Headers["h"] != "v" || i.MaxAttempts != 2 || time.Since(i.Due).Abs() > time.Minute {
		t.Errorf("%+v", i)
	}
	if in := time.Until(get("later", queue.StateDelayed, 0).Due); in < 55*time.Minute || in > 65*time.Minute {
		t.Errorf("due in %v, want an hour", in)
	}
	it := take(t, q)
	if in := time.Until(get("x", queue.StateInFlight, 0).LeaseUntil); in < 15*time.Second || in > 45*time.Second {
		t.Errorf("its lease ends in %v, want 30 s", in)
	}
	ok(t, q.Nack(ctx, it, queue.Retry{After: time.Hour, Reason: "once"}))
	if due := get("x", queue.StateDelayed, 1).Due; time.Until(due) < 55*time.Minute {
		t.Errorf("the retry is due at %v", due)
	}
	bury(t, q, "no luck", job{ID: "dead"})
	if i := get("dead", queue.StateDead, 1); i.Reason != "no luck" || time.Since(i.DiedAt).Abs() > time.Minute {
		t.Errorf("%+v", i)
	}
	ok(t, q.Cancel(ctx, "x"))
	for _, id := range []string{"x", "never"} {
		_, err := q.Get(ctx, id)
		want(t, err, queue.ErrNotFound)
	}
	_, err := q.Get(ctx, "{")
	want(t, err, firq.ErrInvalidArgument)
}

// Pages of any size have every task of the state once, in order, though tasks come and go in between.
func testList(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	tenants := []string{"a", "a b", "b'\"\\%_", "ü"}
	at := time.Now().Add(time.Hour) // all at the same time
	for k := range 12 {
		for _, tenant := range tenants {
			put(t, q, job{ID: fmt.Sprint("q", k, tenant), Tenant: tenant}, job{ID: fmt.Sprint("z", k, tenant), Tenant: tenant, At: at})
		}
	}
	more := many(tenants[0], 110) // more at the same time than an engine may read in one go
	for k := range more {
		more[k].At = at
	}
	put(t, q, more...)
	ok(t, q.Pause(ctx, tenants[3])) // it is listed, too
	for _, it := range now(t, q, 9) {
		ok(t, q.Nack(ctx, it, queue.Retry{Dead: true, Reason: "r"}))
	}
	ok(t, q.Resume(ctx, tenants[3]))
	flying := now(t, q, 7)
	all := func(l queue.Listing) (ids []string) {
		t.Helper()
		for l.Cursor = ""; ; {
			page, next, err := q.List(ctx, l)
			ok(t, err)
			if len(page) > max(l.Limit, 100) || l.Limit > 0 && len(page) > l.Limit {
				t.Errorf("a page of %d", len(page))
			}
			for _, i := range page {
				if i.State != l.State || l.Tenant != "" && i.Tenant != l.Tenant || string(i.Raw) != `""` {
					t.Errorf("%+v of %+v", i, l)
				}
				ids = append(ids, i.Tenant+"/"+i.ID)
			}
			if l.Cursor = next; next == "" {
				return ids
			}
		}
	}
	for state, n := range map[queue.State]int{queue.StateQueued: 48 - 16, queue.StateDelayed: 48 + 110, queue.StateInFlight: 7, queue.StateDead: 9} {
		whole := all(queue.Listing{State: state})
		if same(t, state.String(), len(whole), n); len(slices.Compact(slices.Sorted(slices.Values(whole)))) != n {
			t.Errorf("%v: some are listed twice: %q", state, whole)
		}
		for _, limit := range []int{3, 48} {
			equal(t, fmt.Sprint(state, " by ", limit), all(queue.Listing{State: state, Limit: limit}), whole)
		}
		sum := 0
		for _, tenant := range tenants {
			own := all(queue.Listing{State: state, Tenant: tenant, Limit: 2})
			equal(t, fmt.Sprint(state, " of ", tenant), own, slices.DeleteFunc(slices.Clone(whole), func(id string) bool { return !strings.HasPrefix(id, tenant+"/") }))
			sum += len(own)
		}
		same(t, state.String()+" of all tenants", sum, n)
	}
	// The head of the list goes, and the next page goes on behind it.
	page, next, err := q.List(ctx, queue.Listing{State: queue.StateDelayed, Limit: 10})
	ok(t, err)
	for _, i := range page {
		ok(t, q.Cancel(ctx, i.ID))
	}
	rest, _, err := q.List(ctx, queue.Listing{State: queue.StateDelayed, Limit: 500, Cursor: next})
	ok(t, err)
	same(t, "left", len(rest), 148)
	for _, l := range []queue.Listing{{}, {State: 9}, {State: queue.StateDead, Limit: -1}, {State: queue.StateDead, Limit: 501}, {State: queue.StateDead, Tenant: "{"}, {State: queue.StateDead, Cursor: "x"}} {
		_, _, err := q.List(ctx, l)
		want(t, err, firq.ErrInvalidArgument)
	}
	ok(t, q.Ack(ctx, flying...))
}

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

func testPriorities(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{})
	for round := range 2 {
		for _, p := range []firq.Priority{3, 6, 1, 5, 2, 4, 0} {
			put(t, q, job{ID: fmt.Sprintf("%d.%d", p, round), Priority: p})
		}
	}
	its := now(t, q, 20)
	equal(t, "order", idsOf(its), strings.Fields("6.0 6.1 5.0 5.1 4.0 4.1 3.0 0.0 3.1 0.1 2.0 2.1 1.0 1.1"))
}

// With ageing a task counts as one priority higher for each PriorityAging; 6 is never overtaken.
func testAgeing(t *testing.T, s *suite) {
	const aging = 100 * time.Millisecond
	q, ctx := open(t, s, queue.Config[string]{PriorityAging: aging}), bounded(t)
	put(t, q, job{ID: "low", Priority: 1})
	began := time.Now()
	put(t, q, job{ID: "normal", Priority: 3})
	until(t, "it ages", func() bool { return time.Since(began) > 3*aging })
	put(t, q, job{ID: "high", Priority: 4}, job{ID: "higher", Priority: 5}, job{ID: "critical", Priority: 6})
	its := now(t, q, 9)
	got := idsOf(its)
	same(t, "first", got[0], "critical")
	// low has aged by 3 levels and more: before high (3 levels above), not yet sure before higher.
	if slices.Index(got, "low") > slices.Index(got, "high") || slices.Index(got, "normal") > slices.Index(got, "higher") {
		t.Fatalf("order: %q", got)
	}
	ok(t, q.Ack(ctx, its...))
}

func testLimits(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxQueued: 5, MaxQueuedPerTenant: 3}), bounded(t)
	put(t, q, append(many("a", 2), job{Tenant: "a", Delay: time.Hour}, job{Tenant: "b"}, job{Tenant: "b"})...)
	_, err := q.Enqueue(ctx, job{Tenant: "a"}) // both are full: the tenant's comes first
	want(t, err, queue.ErrTenantFull)
	want(t, err, firq.ErrTenantFull)
	want(t, err, firq.ErrRejected)
	_, err = q.Enqueue(ctx, job{Tenant: "b"})
	want(t, err, queue.ErrFull)
	want(t, err, firq.ErrGlobalFull)
	want(t, err, firq.ErrRejected)
	same(t, "Rejected", books(t, q).Rejected, 2)
	its := now(t, q, 2) // what is in flight does not count
	put(t, q, job{Tenant: "b"}, job{Tenant: "c"})
	for _, it := range its { // a retry is never refused
		ok(t, q.Nack(ctx, it, queue.Retry{After: -1}))
	}
	same(t, "Queued", books(t, q).Queued, 6)
	ok(t, q.SetTenant(ctx, "d", queue.TenantSettings{MaxQueued: -1}))
	_, err = q.Enqueue(ctx, job{Tenant: "d"})
	want(t, err, queue.ErrFull)
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{MaxQueued: 1}))
	_, err = q.Enqueue(ctx, job{Tenant: "a"})
	want(t, err, queue.ErrTenantFull)
	rs, err := q.EnqueueBatch(ctx, []job{{Tenant: "a", ID: "1"}, {Tenant: "e", ID: "2"}})
	want(t, err, queue.ErrTenantFull)
	want(t, err, queue.ErrFull)
	want(t, rs[0].Err, queue.ErrTenantFull)
	want(t, rs[1].Err, queue.ErrFull)
}

func testSetTenantLimit(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{MaxInFlightPerTenant: 1}), bounded(t)
	put(t, q, many("a", 9)...)
	same(t, "Config's", len(now(t, q, 9)), 1)
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{MaxInFlight: 4}))
	same(t, "more", len(now(t, q, 9)), 3)
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{MaxInFlight: 2}))
	none(t, q)
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{MaxInFlight: -1}))
	same(t, "without", len(now(t, q, 2)), 2)
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{}))
	none(t, q)
	st, err := q.TenantStats(ctx, "a")
	ok(t, err)
	same(t, "Settings", st.Settings, queue.TenantSettings{})
}

func testWeights(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{WeightFor: func(tenant string) float64 { return map[string]float64{"b": 3, "c": -1}[tenant] }}), bounded(t)
	served := func(n int) map[string]int {
		m := map[string]int{}
		for _, it := range now(t, q, n) {
			m[it.Tenant]++
			ok(t, q.Ack(ctx, it))
		}
		return m
	}
	for _, name := range []string{"a", "b", "c"} {
		put(t, q, many(name, 100)...)
	}
	if m := served(50); m["b"] < 29 || m["b"] > 31 || m["a"] < 9 || m["c"] < 9 {
		t.Errorf("weights 1, 3, 1: %v", m)
	}
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{Weight: 8}))
	if m := served(60); m["a"] < 38 || m["a"] > 42 {
		t.Errorf("weights 8, 3, 1: %v", m)
	}
	for name, w := range map[string]float64{"a": 8, "b": 3, "c": 1} {
		st, err := q.TenantStats(ctx, name)
		ok(t, err)
		same(t, "Weight of "+name, st.Weight, w)
	}
}

func testCancel(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{Lease: time.Hour, MaxAttempts: 1}), bounded(t)
	want(t, q.Cancel(ctx, "unknown"), queue.ErrNotFound)
	put(t, q, job{ID: "queued", Tenant: "x"}, job{ID: "delayed", Delay: time.Hour})
	ok(t, q.Cancel(ctx, "queued"))
	ok(t, q.Cancel(ctx, "delayed"))
	want(t, q.Cancel(ctx, "queued"), queue.ErrNotFound)
	none(t, q)
	same(t, "Cancelled", books(t, q).Cancelled, 2)
	bury(t, q, "x", job{ID: "dead"})
	want(t, q.Cancel(ctx, "dead"), queue.ErrNotFound)

	inFlight := func(id string) *queue.Item[string] {
		put(t, q, job{ID: id, Tenant: id})
		its := now(t, q, 1)
		ok(t, q.Cancel(ctx, id))
		ok(t, q.Cancel(ctx, id))
		want(t, q.Extend(ctx, time.Hour, its[0]), queue.ErrCancelled)
		same(t, "InFlight", books(t, q).InFlight, 1)
		return its[0]
	}
	ok(t, q.Ack(ctx, inFlight("acked")))
	same(t, "Acked", books(t, q).Acked, 1)
	for k, end := range []func(it *queue.Item[string]) error{
		func(it *queue.Item[string]) error { return q.Nack(ctx, it, queue.Retry{}) },
		func(it *queue.Item[string]) error { return q.Nack(ctx, it, queue.Retry{Dead: true}) },
		func(it *queue.Item[string]) error { return q.Release(ctx, it) },
		func(it *queue.Item[string]) error {
			_ = q.Extend(ctx, time.Microsecond, it)
			until(t, "it is taken back", func() bool { none(t, q); return books(t, q).InFlight == 0 })
			return nil
		},
	} {
		it := inFlight(fmt.Sprint("way", k))
		ok(t, end(it))
		st := books(t, q)
		same(t, "Cancelled", st.Cancelled, uint64(3+k))
		same(t, "DeadLetters", st.DeadLetters, 1)
		want(t, q.Ack(ctx, it), queue.ErrLeaseLost)
		want(t, q.Cancel(ctx, it.ID), queue.ErrNotFound)
		put(t, q, job{ID: it.ID, Tenant: it.Tenant}) // the ID is free, and not cancelled
		again := now(t, q, 1)
		ok(t, q.Extend(ctx, 0, again...))
		ok(t, q.Ack(ctx, again...))
	}
}

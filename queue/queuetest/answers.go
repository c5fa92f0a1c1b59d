package queuetest

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// Headers come back as given, whatever bytes they have: of tasks and of schedules.
func testHeadersOfAnyBytes(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	h := map[string]string{"\xff": "v", "k": "\x00\xfe", "e": "é", "": ""}
	put(t, q, job{Headers: h}, job{Headers: map[string]string{"\xff": ""}})
	its := now(t, q, 2)
	if !maps.Equal(its[0].Headers, h) || !maps.Equal(its[1].Headers, map[string]string{"\xff": ""}) {
		t.Errorf("%q, %q", its[0].Headers, its[1].Headers)
	}
	sc := q.Schedules()
	ok(t, sc.Put(ctx, queue.Schedule[string]{ID: "h", Cron: "* * * * * *", Task: job{Headers: h}}))
	if got := must(sc.List(ctx))[0].Task.Headers; !maps.Equal(got, h) {
		t.Errorf("%q", got)
	}
	until(t, "it fires", func() bool { must(sc.RunOnce(ctx)); return must(q.Stats(ctx)).Queued > 0 })
	if it := take(t, q); !maps.Equal(it.Headers, h) {
		t.Errorf("%q", it.Headers)
	}
	for name, x := range map[string]job{"Task.Tenant": {Tenant: "\xff"}, "Task.UniqueKey": {UniqueKey: "\xff"}} {
		if err := sc.Put(ctx, queue.Schedule[string]{ID: "x", Cron: "@daily", Task: x}); !errors.Is(err, firq.ErrInvalidTask) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A name of a tenant, and a glob, may have a zero byte.
func testGlobOfZero(t *testing.T, s *suite) {
	if !s.anyBytes {
		t.Skip("names have no zero bytes here")
	}
	q := open(t, s, queue.Config[string]{})
	put(t, q, job{ID: "no", Tenant: "ab"}, job{ID: "yes", Tenant: "a\x00b"})
	it, err := q.From(nil, []string{"a\x00*"}).Dequeue(bounded(t))
	ok(t, err)
	same(t, "ID", it.ID, "yes")
}

// What cannot be stored is refused, and says which field.
func testYears(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	far := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for field, x := range map[string]job{"At: ": {At: far}, "Deadline: ": {Deadline: far}} {
		if _, err := q.Enqueue(ctx, x); !errors.Is(err, firq.ErrInvalidTask) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s%v", field, err)
		}
	}
	want(t, q.Schedules().Put(ctx, queue.Schedule[string]{ID: "s", Cron: "@daily", Task: job{Deadline: far}}), firq.ErrInvalidTask)
	put(t, q, job{At: far.Add(-time.Second), Deadline: far.Add(-1)})
}

// A weight near zero is refused, or counts as the least, and does not take the others' weights from them.
func testSmallWeights(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{WeightFor: func(name string) float64 {
		return map[string]float64{"tiny": 1e-15, "four": 4}[name]
	}}), bounded(t)
	want(t, q.SetTenant(ctx, "a", queue.TenantSettings{Weight: 1e-7}), firq.ErrInvalidArgument)
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{Weight: 1e-6}))
	put(t, q, many("tiny", 3)...)
	same(t, "weight", must(q.TenantStats(ctx, "tiny")).Weight, 1e-6)
	ok(t, q.Ack(ctx, now(t, q, 3)...))
	put(t, q, many("one", 100)...)
	put(t, q, many("four", 100)...)
	n := map[string]int{}
	for _, it := range now(t, q, 100) {
		n[it.Tenant]++
	}
	if n["one"] < 19 || n["one"] > 21 {
		t.Errorf("delivered: %v", n)
	}
}

package firqredis

import (
	"context"
	"errors"
	"fmt"
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

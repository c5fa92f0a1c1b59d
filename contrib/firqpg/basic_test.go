package firqpg

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	q, _ := queueOf(t, Config[string]{Backoff: Backoff{First: time.Millisecond}})
	ctx := bounded(t)
	want := Task[string]{
		Payload: "hello", Tenant: "a", ID: "one", UniqueKey: "k", UniqueFor: time.Hour, Cost: 7, Priority: 5, Delay: time.Millisecond,
		Deadline: time.Now().Add(time.Hour).Truncate(time.Microsecond), MaxAttempts: 3, Headers: map[string]string{"x": "y", "\xff": "z"},
	}
	if id, err := q.Enqueue(ctx, want); err != nil || id != "one" {
		t.Fatal(id, err)
	}
	if id, err := q.Enqueue(ctx, Task[string]{Tenant: "a", UniqueKey: "k"}); !errors.Is(err, ErrDuplicate) || id != "one" {
		t.Fatal(id, err)
	}
	it := must[*Item[string]](t)(q.Dequeue(ctx))
	want.Deadline = it.Deadline
	if fmt.Sprintf("%+v", it.Task) != fmt.Sprintf("%+v", want) || it.Attempt != 1 {
		t.Errorf("got %+v\nwant %+v", it, want)
	}
	if err := q.Nack(ctx, it, Retry{Reason: "why"}); err != nil {
		t.Fatal(err)
	}
	again := must[*Item[string]](t)(q.Dequeue(ctx))
	if again.Attempt != 2 || again.Token <= it.Token {
		t.Errorf("got %+v after %+v", again, it)
	}
	if err := q.Ack(ctx, it); !errors.Is(err, ErrLeaseLost) {
		t.Error(err)
	}
	if err := q.Ack(ctx, again); err != nil {
		t.Error(err)
	}
	s := must[Stats](t)(q.Stats(ctx))
	exact(t, s)
	if s.Enqueued != 1 || s.Acked != 1 || s.Nacked != 1 || s.Delivered != 2 || s.LeaseLost != 1 || s.Duplicates != 1 {
		t.Errorf("%+v", s)
	}
}

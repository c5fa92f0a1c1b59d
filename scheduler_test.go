package firq_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/firq-go/firq"
)

// fakeConsumer delivers 1, 2, 3 ... up to last, then answers with end.
type fakeConsumer struct {
	firq.Consumer[string, int] // nil: All needs nothing but Dequeue
	calls                      int
	last                       int
	end                        error
}

func (c *fakeConsumer) Dequeue(ctx context.Context) (firq.Item[string, int], error) {
	c.calls++
	if err := ctx.Err(); err != nil {
		return firq.Item[string, int]{}, err
	}
	if c.calls > c.last {
		return firq.Item[string, int]{Payload: -1}, c.end
	}
	return firq.Item[string, int]{Tenant: "a", Payload: c.calls}, nil
}

func TestAllUntilError(t *testing.T) {
	for _, end := range []error{
		firq.ErrClosed, fmt.Errorf("wrapped: %w", firq.ErrClosed), context.Canceled, firq.ErrInvalidArgument,
	} {
		c := &fakeConsumer{last: 3, end: end}
		sum := 0
		for it := range firq.All(t.Context(), c) {
			if it.Tenant != "a" {
				t.Errorf("item %+v, want tenant a", it)
			}
			sum += it.Payload
		}
		if sum != 6 || c.calls != 4 {
			t.Errorf("%v: sum %d of %d calls, want 6 of 4", end, sum, c.calls)
		}
	}
}

// TestAllBreak: what the loop does not ask for stays queued.
func TestAllBreak(t *testing.T) {
	c := &fakeConsumer{last: 100, end: firq.ErrClosed}
	for it := range firq.All(t.Context(), c) {
		if c.calls != it.Payload {
			t.Fatalf("%d items taken while the loop has item %d", c.calls, it.Payload)
		}
		if it.Payload == 2 {
			break
		}
	}
	if c.calls != 2 {
		t.Errorf("%d items taken by a loop that broke at the second", c.calls)
	}
	for it := range firq.All(t.Context(), c) { // goes on where the first loop ended
		if it.Payload != 3 {
			t.Errorf("the next loop starts at item %d, want 3", it.Payload)
		}
		break
	}
}

func TestAllTwice(t *testing.T) {
	c := &fakeConsumer{last: 4, end: firq.ErrClosed}
	items := firq.All(t.Context(), c)
	if c.calls != 0 {
		t.Errorf("All dequeued %d items before any loop", c.calls)
	}
	var got []int
	for range 2 {
		for it := range items {
			got = append(got, it.Payload)
			if it.Payload%2 == 0 {
				break
			}
		}
	}
	if fmt.Sprint(got) != "[1 2 3 4]" {
		t.Errorf("two loops over one iterator got %v, want [1 2 3 4]", got)
	}
}

func TestAllContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &fakeConsumer{last: 100, end: firq.ErrClosed}
	n := 0
	for it := range firq.All(ctx, c) {
		n++
		if it.Payload == 5 {
			cancel()
		}
	}
	if n != 5 || c.calls != 5 {
		t.Errorf("%d items, %d calls, want 5 of each: a backlog is left alone when ctx is done", n, c.calls)
	}
}

package queuetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// A Dequeue that is given up loses nothing: what it was just handed goes back immediately.
func testDequeueGivenUp(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{Lease: time.Hour, MaxAttempts: 1})
	const n = 100
	var wg sync.WaitGroup
	var got atomic.Int64
	for w := range 4 {
		wg.Go(func() {
			for k := 0; got.Load() < n && !t.Failed(); k++ {
				ctx, cancel := context.WithCancel(context.Background())
				if k%4 != 3 {
					time.AfterFunc(time.Duration(k%7)*100*time.Microsecond, cancel)
				} else {
					time.AfterFunc(time.Second, cancel)
				}
				var its []*queue.Item[string]
				if w%2 == 0 {
					its, _ = q.DequeueBatch(ctx, 3)
				} else if it, _ := q.From(nil, []string{"*"}).Dequeue(ctx); it != nil {
					its = append(its, it)
				}
				cancel()
				for _, it := range its {
					same(t, "Attempt", it.Attempt, 1)
				}
				ok(t, q.Ack(context.Background(), its...))
				got.Add(int64(len(its)))
			}
		})
	}
	defer wg.Wait() // also if a put fails
	for k := range n {
		put(t, q, job{Tenant: fmt.Sprint(k % 5)})
	}
	wg.Wait()
	same(t, "acked", got.Load(), n)
	st := books(t, q)
	same(t, "InFlight", st.InFlight, 0)
}

func testDequeueBatch(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, many("a", 5)...)
	its, err := q.DequeueBatch(ctx, 3)
	ok(t, err)
	same(t, "first", len(its), 3)
	more, err := q.DequeueBatch(ctx, 1000) // what is there, and does not wait for more
	ok(t, err)
	same(t, "second", len(more), 2)
	ok(t, q.Ack(ctx, append(its, more...)...))
	for _, n := range []int{0, -1} {
		_, err = q.DequeueBatch(ctx, n)
		want(t, err, firq.ErrInvalidArgument)
		_, err = q.From([]string{"a"}, nil).DequeueBatch(ctx, n)
		want(t, err, firq.ErrInvalidArgument)
	}
}

// Assigned tenants come first, and only then those to steal from.
func testFromOrder(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	put(t, q, append(many("a", 3), append(many("b", 3), many("c", 3)...)...)...)
	c := q.From([]string{"b"}, []string{"c"})
	var got []string
	for range 6 {
		it, err := c.Dequeue(ctx)
		ok(t, err)
		got = append(got, it.Tenant)
		ok(t, q.Ack(ctx, it))
	}
	equal(t, "order", got, strings.Fields("b b b c c c"))
	all := q.From(nil, nil)
	it, err := all.Dequeue(ctx)
	ok(t, err)
	same(t, "from all tenants", it.Tenant, "a")
	ok(t, q.Ack(ctx, it))

	for range 50 { // an assigned tenant has tasks, though those before have expired
		put(t, q, job{Tenant: "b", Deadline: time.Now().Add(-time.Hour)})
	}
	put(t, q, job{Tenant: "b"}, job{Tenant: "c"})
	it, err = c.Dequeue(ctx)
	ok(t, err)
	same(t, "behind what has expired", it.Tenant, "b")
	ok(t, q.Ack(ctx, it))
}

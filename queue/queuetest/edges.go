package queuetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/worker"
)

func testAckRacesLease(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{Lease: 2 * time.Millisecond, MaxAttempts: 1000}), bounded(t)
	for k := range 50 {
		put(t, q, job{ID: fmt.Sprint(k)})
		it := take(t, q)
		for time.Now().Before(it.LeaseUntil.Add(time.Duration(k%10-5) * 100 * time.Microsecond)) {
		}
		var wg sync.WaitGroup
		var err error
		var again []*queue.Item[string]
		wg.Go(func() { err = q.Ack(ctx, it) })
		wg.Go(func() { again = now(t, q, 1) })
		wg.Wait()
		if err == nil && len(again) > 0 {
			t.Fatal("acked, and given on")
		}
		if err != nil {
			want(t, err, queue.ErrLeaseLost)
			if len(again) == 0 {
				again = append(again, take(t, q))
			}
			_ = q.Ack(ctx, again...)
		}
		until(t, "it ends", func() bool {
			st, err := q.Stats(ctx)
			if err == nil && st.Queued+st.InFlight > 0 {
				_ = q.Ack(ctx, now(t, q, 1)...)
			}
			return err == nil && st.Acked == uint64(k+1)
		})
	}
}

func testManyAcks(t *testing.T, s *suite) {
	n := 3000 // more than Lua can unpack in one call
	q, ctx := open(t, s, queue.Config[string]{Lease: time.Hour}), bounded(t)
	put(t, q, many("a", n)...)
	its := now(t, q, n)
	same(t, "delivered", len(its), n)
	const some = 600
	ok(t, q.Extend(ctx, time.Hour, its[:some]...))
	ok(t, q.Release(ctx, its[:some]...))
	ok(t, q.Ack(ctx, its[some:]...))
	same(t, "Acked", books(t, q).Acked, uint64(n-some))
}

// What a slow handler does not take stays in the queue: no lease runs out in a process's memory.
func testNoPrefetch(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{Lease: time.Second})
	leave := make(chan struct{})
	runs(t, q, func(context.Context, *queue.Item[string]) error { <-leave; return nil }, queue.RunOptions[string]{Concurrency: 1, TimeoutMode: worker.Warn})
	put(t, q, many("a", 10)...)
	until(t, "one is taken", func() bool { return must(q.Stats(context.Background())).InFlight == 1 })
	time.Sleep(50 * time.Millisecond) // if more were taken it would be now
	same(t, "InFlight", books(t, q).InFlight, 1)
	close(leave)
	if st := atRest(t, q); st.Delivered-st.LeaseExpired != 10 || st.Released != 0 { // a slow machine may let a lease run out
		t.Errorf("%+v", st)
	}
}

// Equal tenants take turns, whatever their names.
func testTies(t *testing.T, s *suite) {
	q := open(t, s, queue.Config[string]{})
	names := []string{"z", "a", "m", "0", "~", "Z"}
	for _, name := range names {
		put(t, q, many(name, 10)...)
	}
	its := now(t, q, 60)
	for round := range 10 {
		equal(t, "a round", sorted(tenantsOf(its[6*round:6*round+6])), sorted(slices.Clone(names)))
	}
}

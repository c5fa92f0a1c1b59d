package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func nine() (ts []Task[string]) {
	for k := range 9 {
		ts = append(ts, Task[string]{ID: fmt.Sprint("id", k), Tenant: fmt.Sprint(k)})
	}
	return ts
}

// EnqueueBatch over several lanes races with Close: a task of which it says ErrClosed is not on its way, and the others are
// waited for.
func TestEnqueueBatchAndClose(t *testing.T) {
	t.Parallel()
	q, f := open(t)
	q.pushes[2].start = func(func()) bool { return false } // it was closed just now
	rs, err := q.EnqueueBatch(bounded(t), nine())
	want(t, err, firq.ErrClosed)
	queued := 0
	for _, r := range rs {
		if r.Err == nil {
			queued++
		} else {
			want(t, r.Err, firq.ErrClosed)
		}
	}
	same(t, "queued", queued, 6)
	same(t, "there", len(f.queued), 6)
}

// So does Ack.
func TestAckAndClose(t *testing.T) {
	t.Parallel()
	q, f := open(t)
	must(q.EnqueueBatch(bounded(t), nine()))
	its := now(t, q, 9)
	q.acks[2].start = func(func()) bool { return false }
	err := q.Ack(context.Background(), its...)
	want(t, err, firq.ErrClosed)
	same(t, "closed", len(err.(interface{ Unwrap() []error }).Unwrap()), 3)
	same(t, "in flight", len(f.leases), 3)
}

// A call that is given up while it is handed something gives that back: the fetcher is the test.
func TestHandedOverAndLeft(t *testing.T) {
	t.Parallel()
	q, _ := open(t)
	put(t, q, "0")
	gaveBack := 0
	for range 50 {
		its := now(t, q, 1)
		until(t, "no goroutine fetches", func() bool { q.fetch.mu.Lock(); defer q.fetch.mu.Unlock(); return !q.fetch.running })
		q.fetch.mu.Lock()
		q.fetch.running = true
		q.fetch.mu.Unlock()
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan error, 1)
		go func() {
			it, err := q.Dequeue(ctx)
			if err == nil {
				err = q.Release(context.Background(), it)
			} else {
				gaveBack++
			}
			got <- err
		}()
		until(t, "it waits", func() bool { return q.fetch.wanted() == 1 })
		q.fetch.mu.Lock()
		k := q.fetch.waiters[0]
		q.fetch.waiters = nil
		cancel()
		k.gets <- fetchResult[string]{items: its}
		q.fetch.running = false
		q.fetch.mu.Unlock()
		if err := <-got; err != nil {
			want(t, err, context.Canceled)
		}
		st := must(q.Stats(bounded(t)))
		same(t, "queued again", st.Queued, 1)
		same(t, "in flight", st.InFlight, 0)
	}
	if gaveBack == 0 {
		t.Error("each call took what it was handed")
	}
}

// A busy lane rests for more to come, and a full batch does not wait.
func TestAckRest(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	var sizes []int
	first, more := make(chan struct{}), make(chan struct{})
	b := &batcher[int]{rest: time.Hour, start: func(f func()) bool { all.Go(f); return true }}
	b.run = func(rs []int) {
		if sizes = append(sizes, len(rs)); len(sizes) == 1 {
			close(first)
			<-more
		}
	}
	b.add(1)
	<-first
	b.add(make([]int, MaxBatch+1)...)
	close(more)
	all.Wait()
	if fmt.Sprint(sizes) != fmt.Sprint([]int{1, MaxBatch, 1}) {
		t.Error(sizes)
	}
}

// An engine's reply that is too short is an error, not a panic.
func TestShortReply(t *testing.T) {
	t.Parallel()
	if answer(nil, 0, nil) == nil {
		t.Error("no error")
	}
	boom := errors.New("boom")
	want(t, answer(nil, 0, boom), boom)
}

func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

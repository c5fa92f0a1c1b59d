package firqredis

import (
	"context"
	"fmt"

	"github.com/firq-go/firq"
)

// Dequeue waits for the next task, and leases it.
func (q *Queue[T]) Dequeue(ctx context.Context) (*Item[T], error) { return q.dequeue(ctx, q.fetch) }

// DequeueBatch waits for a task, and leases what else is there, up to n tasks, and no more once they have 1 MiB. n above 500
// counts as 500.
func (q *Queue[T]) DequeueBatch(ctx context.Context, n int) ([]*Item[T], error) {
	return q.dequeueBatch(ctx, q.fetch, "DequeueBatch", n)
}

func (q *Queue[T]) dequeue(ctx context.Context, from *fetcher[T]) (*Item[T], error) {
	its, err := q.dequeueBatch(ctx, from, "Dequeue", 1)
	if err != nil {
		return nil, err
	}
	return its[0], nil
}

func (q *Queue[T]) dequeueBatch(ctx context.Context, from *fetcher[T], name string, n int) ([]*Item[T], error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: firqredis: %s: n: %d, must be at least 1", firq.ErrInvalidArgument, name, n)
	}
	if err := q.call(ctx, name); err != nil {
		return nil, err
	}
	k := &waiter[T]{min(n, maxBatch), make(chan fetchResult[T], 1)}
	if !from.add(k) {
		return nil, firq.ErrClosed
	}
	var err error
	select {
	case h := <-k.gets:
		return h.items, h.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-q.closed:
		err = firq.ErrClosed
	}
	if !from.remove(k) { // it was handed something just now
		if h := <-k.gets; len(h.items) > 0 {
			q.giveBack(h.items)
		}
	}
	return nil, err
}

// giveBack releases what no caller wants any more. If that fails it comes back when its lease has run out.
func (q *Queue[T]) giveBack(its []*Item[T]) {
	_ = q.release(context.Background(), its)
}

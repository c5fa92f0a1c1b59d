package firqredis

import (
	"context"
	"fmt"

	"github.com/firq-go/firq"
)

// Dequeue waits for the next task, and leases it.
func (q *Queue[T]) Dequeue(ctx context.Context) (*Item[T], error) {
	its, err := q.dequeue(ctx, "Dequeue", 1)
	if err != nil {
		return nil, err
	}
	return its[0], nil
}

// DequeueBatch waits for a task, and leases what else is there, up to n tasks. n above 500 counts as
// 500.
func (q *Queue[T]) DequeueBatch(ctx context.Context, n int) ([]*Item[T], error) {
	return q.dequeue(ctx, "DequeueBatch", n)
}

func (q *Queue[T]) dequeue(ctx context.Context, name string, n int) ([]*Item[T], error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: firqredis: %s: n: %d, must be at least 1", firq.ErrInvalidArgument, name, n)
	}
	if err := q.call(ctx, name); err != nil {
		return nil, err
	}
	k := &taker[T]{min(n, maxBatch), make(chan handed[T], 1)}
	if !q.fetch.add(k) {
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
	if !q.fetch.remove(k) { // it was handed something just now
		if h := <-k.gets; len(h.items) > 0 {
			q.giveBack(h.items)
		}
	}
	return nil, err
}

// giveBack releases what nobody wants any more. If that fails it comes back when its lease has run out.
func (q *Queue[T]) giveBack(its []*Item[T]) {
	_ = q.release(context.Background(), its)
}

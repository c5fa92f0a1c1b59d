package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// request waits for its pieces. Each of them ends once: answered, failed, dropped
// or refused.
type request struct {
	open     sync.WaitGroup // pieces that have not ended
	answered atomic.Int32
}

// fan is a downstream that all tenants share.
type fan struct {
	fair  bool
	queue *lockfree.Scheduler[string, *request]
	pool  *worker.Pool[string, *request]
}

func newFan(slots int, fair bool, downstream func(context.Context) error) (*fan, error) {
	f := &fan{fair: fair}
	var err error
	f.queue, err = lockfree.New(firq.Config[string, *request]{
		// A piece that is dropped has ended too; otherwise its request would wait forever.
		OnDrop: func(_ string, r *request, _ firq.DropReason) { r.open.Done() },
	})
	if err != nil {
		return nil, err
	}
	f.pool, err = worker.New(f.queue, func(ctx context.Context, it *firq.Item[string, *request]) error {
		defer it.Payload.open.Done()
		if err := downstream(ctx); err != nil { // ctx has the deadline of the piece
			return err
		}
		it.Payload.answered.Add(1)
		return nil
	}, worker.Options[string, *request]{
		Concurrency: slots,
		OnError:     func(worker.Event[string, *request]) {}, // the request counts its answers
	})
	return f, err
}

func (f *fan) run(ctx context.Context) error { return f.pool.Run(ctx) }

func (f *fan) shutdown(ctx context.Context) error { return f.queue.Shutdown(ctx) }

// ask hands in the pieces of a request, waits until all have ended, and returns
// how many were answered.
func (f *fan) ask(tenant string, pieces int, deadline time.Time) int {
	if !f.fair {
		tenant = "everybody"
	}
	r := &request{}
	r.open.Add(pieces)
	tasks := make([]firq.Task[*request], pieces)
	for i := range tasks {
		tasks[i] = firq.Task[*request]{Payload: r, Deadline: deadline}
	}
	accepted, err := f.queue.EnqueueBatch(tenant, tasks)
	if err != nil { // full: some of the answers are better than none
		r.open.Add(accepted - pieces)
	}
	r.open.Wait()
	return int(r.answered.Load())
}

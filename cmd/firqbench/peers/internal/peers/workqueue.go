package peers

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// workQueue drives client-go's workqueue.Typed, or controller-runtime's priority queue in
// its place, as controllers do: Add, Get, Done.
//
// Configuration of the former, for throughput: no name and no metrics provider, so that it
// keeps no metrics and starts no goroutine; no rate limiter and no delays. The latter has its
// defaults: it keeps metrics and runs two more goroutines. All tasks have one priority,
// as a priority of a tenant would be no share but a precedence. Either queue is a set of comparable items. Its items here are pointers, which are the cheapest
// to hash (measured against structs with the tenant's name) and make every task a
// different item. Done comes before the driver's work on the task, not after: no
// item is ever added twice, so it makes no difference but for the calls' order.
//
// It has no tenants and no limit: the driver's window bounds it.
type workQueue struct {
	waits
	q       itemQueue
	watched sync.Once
}

// itemQueue is what both have.
type itemQueue interface {
	Add(j *job)
	Get() (j *job, shutdown bool)
	Done(j *job)
	Len() int
	ShutDown()
}

func newWorkQueue(contest.Config) (contest.Queue, error) {
	return &workQueue{waits: newWaits(), q: workqueue.NewTyped[*job]()}, nil
}

func newPriorityQueue(contest.Config) (contest.Queue, error) {
	return &workQueue{waits: newWaits(), q: &drained{PriorityQueue: priorityqueue.New[*job]("firq")}}, nil
}

// drained hands out what is queued before it shuts down, as client-go's workqueue does.
// controller-runtime's would drop it, and panics when it is shut down twice. It costs two
// atomic additions for each task.
type drained struct {
	priorityqueue.PriorityQueue[*job]
	left    atomic.Int64
	closing atomic.Bool
	end     sync.Once
}

func (d *drained) Add(j *job) {
	d.left.Add(1)
	d.PriorityQueue.Add(j)
}

func (d *drained) Get() (j *job, shutdown bool) {
	j, _ = d.PriorityQueue.Get() // an item counts, also if the queue is shut down by now
	if j == nil {
		return nil, true
	}
	if d.left.Add(-1) == 0 && d.closing.Load() {
		d.end.Do(d.PriorityQueue.ShutDown)
	}
	return j, false
}

func (d *drained) ShutDown() {
	d.closing.Store(true)
	if d.left.Load() == 0 {
		d.end.Do(d.PriorityQueue.ShutDown)
	}
}

func (w *workQueue) Enqueue(tenant string, t contest.Task) error {
	j := newJob(tenant, &t)
	w.q.Add(&j)
	return nil
}

func (w *workQueue) EnqueueWait(_ context.Context, tenant string, t contest.Task) error {
	return w.Enqueue(tenant, t)
}

func (w *workQueue) EnqueueBatch(tenant string, ts []contest.Task) (int, error) {
	return enqueueBatch(w, tenant, ts)
}

func (w *workQueue) TryDequeue() (contest.Item, bool) {
	if w.q.Len() == 0 {
		return contest.Item{}, false
	}
	it, err := w.get()
	return it, err == nil
}

// Dequeue waits in Get, which knows no context: the end of the first caller's
// shuts the queue down. The driver has one for all.
func (w *workQueue) Dequeue(ctx context.Context) (contest.Item, error) {
	w.watched.Do(func() { context.AfterFunc(ctx, w.q.ShutDown) })
	it, err := w.get()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return it, err
}

func (w *workQueue) get() (contest.Item, error) {
	j, down := w.q.Get()
	if down {
		return contest.Item{}, firq.ErrClosed
	}
	w.q.Done(j)
	return w.deliver(j), nil
}

func (w *workQueue) DequeueBatch(ctx context.Context, dst []contest.Item) (int, error) {
	it, err := w.Dequeue(ctx)
	if err != nil {
		return 0, err
	}
	dst[0] = it
	return 1, nil
}

// Shutdown lets Get hand out what is queued, and then end.
func (w *workQueue) Shutdown(context.Context) error {
	w.q.ShutDown()
	return nil
}

func (w *workQueue) Close() error {
	w.q.ShutDown()
	return nil
}

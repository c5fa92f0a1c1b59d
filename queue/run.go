package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

// Event is the argument of the hooks of RunOptions.
type Event[T any] = worker.Event[string, *Item[T]]

// RunOptions are worker.Options, with options of the queue. The zero value is a working pool of GOMAXPROCS
// workers.
type RunOptions[T any] struct {
	Name            string // "": the queue's
	Concurrency     int
	Timeout         time.Duration
	TimeoutMode     worker.TimeoutMode
	SlowAfter       time.Duration
	IgnoreDeadline  bool
	StuckAfter      time.Duration
	MaxReplacements int
	Grace           time.Duration

	OnSlow, OnTimeout, OnStuck, OnError, OnPanic func(Event[T])

	Logger *slog.Logger // nil: slog.Default()

	// Tenants and Steal: see Queue.From.
	Tenants, Steal []string
	// Heartbeat is how often the leases of running handlers are extended. 0: a third of Config.Lease.
	Heartbeat time.Duration
	// OnStart is called with the pool before it takes its first task: its Stats are for firqprom.NewPool, say.
	OnStart func(p *worker.Pool[string, *Item[T]])
}

// Dead returns an error that keeps a handler's task from being tried again. Dead(nil) is nil.
func Dead(err error) error {
	if err == nil {
		return nil
	}
	return deadly{err}
}

// RetryAfter returns an error that says when a handler's task is to be tried again. d is Retry.After: 0 is the backoff, and
// below 0 immediately. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return later{err, d}
}

// Run handles tasks until ctx is done or the queue is closed; it is worker.Run over the queue. A handler
// that returns nil has its task acked; one that returns an error, or panics, has it nacked, with the text
// as the reason (see Dead and RetryAfter). Leases are extended while handlers run, until they are stuck.
// If a lease is lost, or the task cancelled, the handler's context is cancelled with ErrLeaseLost or
// ErrCancelled as its cause.
//
// A server that is away is tried again, after 10 ms to 1 s. When ctx is done Run takes nothing more; tasks
// whose handlers fail because Grace is over go back, and do not count as tried, as do those of handlers
// that Run leaves behind. Run returns nil when ctx is done.
func Run[T any](ctx context.Context, q *Queue[T], h func(ctx context.Context, it *Item[T]) error, o RunOptions[T]) error {
	switch {
	case q == nil || h == nil:
		return invalidArgument("Run: the queue or the handler is nil")
	case o.Heartbeat < 0:
		return invalid("Heartbeat: %v, must not be negative", o.Heartbeat)
	}
	set(&o.Name, q.cfg.Name)
	set(&o.Heartbeat, max(q.cfg.Lease/3, time.Millisecond))
	if o.StuckAfter <= 0 {
		set(&o.StuckAfter, worker.DefaultStuckAfter)
	}
	r := &runner[T]{q: q, from: q.From(o.Tenants, o.Steal), handler: h, opts: o, held: map[*Item[T]]*holding{}}
	pool, err := worker.New(firq.Consumer[string, *Item[T]](r), r.handle, worker.Options[string, *Item[T]]{
		Name: o.Name, Concurrency: o.Concurrency, Timeout: o.Timeout, TimeoutMode: o.TimeoutMode, SlowAfter: o.SlowAfter,
		IgnoreDeadline: o.IgnoreDeadline, StuckAfter: o.StuckAfter, MaxReplacements: o.MaxReplacements, Grace: o.Grace,
		OnSlow: o.OnSlow, OnTimeout: o.OnTimeout, OnStuck: o.OnStuck, OnError: o.OnError, OnPanic: o.OnPanic, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	if o.OnStart != nil {
		o.OnStart(pool)
	}
	over := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { r.beat(over) })
	err = pool.Run(ctx)
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.acks.Wait()
	close(over)
	beats.Wait()
	r.leave()
	if errors.Is(err, worker.ErrStuck) && ctx.Err() != nil {
		return nil
	}
	return err
}

// runner is one call of Run. It is the pool's source.
type runner[T any] struct {
	q       *Queue[T]
	from    *Consumer[T]
	handler func(ctx context.Context, it *Item[T]) error
	opts    RunOptions[T]

	mu   sync.Mutex
	held map[*Item[T]]*holding // deliveries whose handlers run, or whose Acks are on their way

	over bool           // the pool is: handlers that it has left behind settle for themselves
	acks sync.WaitGroup // that are on their way
}

// holding is a delivery whose handler runs.
type holding struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  time.Time // when its context was first seen to be over
	lost   bool      // its lease is
	acked  bool      // its Ack is on its way, and learns itself if the lease is lost
}

// Dequeue takes the next task, however long the server is away.
func (r *runner[T]) Dequeue(ctx context.Context) (fi firq.Item[string, *Item[T]], err error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		it, err := r.from.Dequeue(ctx)
		switch {
		case err == nil:
			return firq.Item[string, *Item[T]]{
				Tenant: it.Tenant, Payload: it, Cost: it.Cost, Priority: it.Priority, Deadline: it.Deadline, Wait: it.Wait,
			}, nil
		case ctx.Err() != nil:
			return fi, ctx.Err()
		case errors.Is(err, firq.ErrClosed), errors.Is(err, ErrVersion):
			return fi, err
		}
		if !r.q.sleepFor(ctx, pause) {
			if ctx.Err() != nil {
				return fi, ctx.Err()
			}
			return fi, firq.ErrClosed
		}
	}
}

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// TryDequeue and DequeueBatch belong to firq.Consumer; a pool does not call them.

// TryDequeue reports false.
func (r *runner[T]) TryDequeue() (it firq.Item[string, *Item[T]], ok bool) { return it, false }

// DequeueBatch takes one.
func (r *runner[T]) DequeueBatch(ctx context.Context, dst []firq.Item[string, *Item[T]]) (n int, err error) {
	if dst[0], err = r.Dequeue(ctx); err != nil {
		return 0, err
	}
	return 1, nil
}

// handle runs the handler and settles the task according to its result.
func (r *runner[T]) handle(ctx context.Context, fi *firq.Item[string, *Item[T]]) (err error) {
	it := fi.Payload
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	r.held[it] = &holding{ctx: ctx, cancel: cancel}
	r.mu.Unlock()
	returned := false
	defer func() {
		v := any(nil)
		if !returned {
			v = recover()
			err = worker.ErrGoexit
		}
		cause := context.Cause(ctx)
		if err == nil && it.settled {
			r.drop(it)
			return
		}
		if err == nil && !errors.Is(cause, ErrLeaseLost) && r.ack(it) {
			return
		}
		if !r.drop(it) {
			cause = ErrLeaseLost // Run has left it behind, and given the task back
		}
		if failed := r.settle(it, err, v, cause); failed != nil && err == nil {
			err = failed
		}
		if v != nil {
			panic(v)
		}
	}()
	err = r.handler(ctx, it)
	returned = true
	return err
}

// ack sends an Ack and does not wait for it: the worker takes its next task immediately, so that more of them
// share a round trip. Heartbeats go on until it is through. It reports false if Run is over, or the
// queue is closed.
func (r *runner[T]) ack(it *Item[T]) bool {
	r.mu.Lock()
	h, ok := r.held[it]
	if ok = ok && !h.lost && !r.over; ok {
		h.acked = true
		r.acks.Add(1) // no goroutine waits for them before over
	}
	r.mu.Unlock()
	if !ok {
		return false
	}
	told := func(_ int, err error) {
		if err == nil {
			r.drop(it)
			r.acks.Done()
			return
		}
		go func() { // the server is away, or the lease lost
			defer r.acks.Done()
			if err != nil && !errors.Is(err, ErrLeaseLost) {
				err = r.settle(it, nil, nil, nil)
			}
			if r.drop(it); err != nil {
				r.failed(it, err)
			}
		}()
	}
	if !r.q.acks[r.q.engine.Lane(it.Tenant)].add(ack{LeaseOf(it), 0, told}) {
		r.acks.Done()
		return false
	}
	return true
}

// failed reports an Ack that has failed after its handler returned.
func (r *runner[T]) failed(it *Item[T], err error) {
	e := Event[T]{Pool: r.opts.Name, Tenant: it.Tenant, Payload: it, Wait: it.Wait, Err: err}
	if r.opts.OnError == nil {
		cmp.Or(r.opts.Logger, slog.Default()).Error("queue: a task is done, and could not be acked", "pool", e.Pool, "tenant", e.Tenant,
			"id", it.ID, "error", err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			slog.Default().Error("queue: OnError panicked", "panic", v)
		}
	}()
	r.opts.OnError(e)
}

// drop ends the heartbeats of a delivery; false: it is lost, or another goroutine has.
func (r *runner[T]) drop(it *Item[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.held[it]
	delete(r.held, it)
	return ok && !h.lost
}

// settle sends how a delivery has ended. While the server is away it tries again, until the lease must have
// run out.
func (r *runner[T]) settle(it *Item[T], err error, panicked any, cause error) error {
	if errors.Is(cause, ErrLeaseLost) {
		return cause
	}
	ctx := context.Background()
	var say func() error
	var dead deadly
	var after later
	switch {
	case err == nil:
		say = func() error { return r.q.Ack(ctx, it) }
	case errors.Is(cause, worker.ErrGraceOver):
		say = func() error { return r.q.Release(ctx, it) }
	default:
		retry := Retry{Reason: err.Error()}
		if panicked != nil {
			retry.Reason = fmt.Sprintf("panic: %v", panicked)
		} else if errors.As(err, &dead) {
			retry.Dead = true
		} else if errors.As(err, &after) {
			retry.After = after.after
		}
		say = func() error { return r.q.Nack(ctx, it, retry) }
	}
	until := time.Now().Add(r.q.cfg.Lease)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		failed := say()
		if failed == nil || errors.Is(failed, ErrLeaseLost) || errors.Is(failed, firq.ErrClosed) || time.Now().After(until) ||
			!r.q.sleepFor(ctx, pause) {
			return failed
		}
	}
}

// leave gives back the tasks of handlers that Run leaves behind.
func (r *runner[T]) leave() {
	r.mu.Lock()
	var its []*Item[T]
	for it, h := range r.held {
		h.cancel(ErrLeaseLost)
		its = append(its, it)
	}
	clear(r.held)
	r.mu.Unlock()
	if len(its) > 0 {
		r.q.giveBack(its)
	}
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/pad"
)

// worker is one goroutine that takes and handles tasks, one at a time. Only that goroutine uses a field, unless
// its comment says otherwise.
type worker[K comparable, T any] struct {
	_ pad.Pad
	counters
	pool *Pool[K, T] // immutable
	item firq.Item[K, T]
	err  error // what the handler returned; errNone until it does
	gone bool  // the goroutine has to end, and is not live any more; false again for the next

	replaced bool // under pool.mu: another worker does its work
	watch    watch[K, T]
	_        pad.Pad
}

func newWorker[K comparable, T any](p *Pool[K, T]) *worker[K, T] {
	w := &worker[K, T]{pool: p}
	w.watch.armed = never
	return w
}

// work handles tasks until the pool stops. A handler may end the goroutine with
// runtime.Goexit; then another one goes on in its place.
func (w *worker[K, T]) work() {
	finished := false
	defer func() {
		switch {
		case w.gone:
			w.disarm()
			w.pool.release(w)
		case finished:
			w.disarm()
			w.pool.left(w)
		default:
			go w.work()
		}
	}()
	for !w.gone && w.next() {
	}
	finished = true
}

// next takes one task and handles it. It reports false when there is nothing more
// to take. Dequeue may deliver although its context is done, hence the look
// before it.
func (w *worker[K, T]) next() bool {
	p := w.pool
	select {
	case <-p.taken:
		return false
	default:
	}
	it, err := p.source.Dequeue(p.take)
	if err == nil {
		w.run(&it)
		return true
	}
	switch {
	case errors.Is(err, firq.ErrClosed):
		p.stop(nil)
	case p.take.Err() == nil:
		p.stop(fmt.Errorf("worker: pool %q: Dequeue: %w", p.opts.Name, err))
	}
	return false
}

// run is one execution of the handler.
type run struct {
	start   int64
	watched bool
	cancel  context.CancelFunc // nil: the context is that of all handlers
}

// errNone stands in w.err until the handler returns.
var errNone = errors.New("firq: worker: the handler has not returned")

// run handles one task. The handler gets a copy of the item that outlives this
// call's stack; held, which the handler cannot change, is what is settled.
func (w *worker[K, T]) run(held *firq.Item[K, T]) {
	p := w.pool
	w.item = *held
	w.err = errNone
	r := run{start: p.now()}
	w.started.Add(1)
	ctx := w.prepare(held, &r)
	defer w.ended(held, &r)
	w.err = p.handler(ctx, &w.item)
}

// prepare returns the context for the handler and starts the watch, as far as
// they are needed.
func (w *worker[K, T]) prepare(held *firq.Item[K, T], r *run) context.Context {
	p, o := w.pool, &w.pool.opts
	ctx, due := p.base, int64(never)
	var deadline time.Time
	var cause error
	if !held.Deadline.IsZero() && !o.IgnoreDeadline {
		deadline = held.Deadline
		due = int64(deadline.Sub(p.epoch))
	}
	if o.TimeoutMode != Warn {
		if at := later(r.start, o.Timeout); at < due {
			due, deadline, cause = at, p.epoch.Add(time.Duration(at)), ErrTimeout
		}
	}
	if due != never {
		ctx, r.cancel = context.WithDeadlineCause(ctx, deadline, cause)
	}
	if due != never || o.Timeout > 0 || o.SlowAfter > 0 || o.Grace > 0 {
		r.watched = true
		w.begin(held, r.start, due)
	}
	return ctx
}

// ended is the deferred end of run: the handler returned, panicked (v is not nil),
// or left by Goexit. Hooks may leave by Goexit too; so each step is deferred until
// the hooks of the one before are over.
func (w *worker[K, T]) ended(held *firq.Item[K, T], r *run) {
	v := recover()
	p := w.pool
	elapsed := p.now() - r.start
	var stack []byte
	if v != nil {
		stack = debug.Stack()
	}
	if r.cancel != nil {
		r.cancel()
	}
	wasStuck := false
	defer func() {
		if wasStuck && !p.back(w) {
			w.gone = true
		}
	}()
	defer w.finish(held, elapsed, v, stack)
	if r.watched {
		w.end(elapsed, &wasStuck)
	}
}

// finish says Done, counts, and tells how the handler ended. The counters come after
// Done, so a caller that sees that all have finished knows that all are Done.
func (w *worker[K, T]) finish(held *firq.Item[K, T], elapsed int64, v any, stack []byte) {
	p := w.pool
	held.Done()
	err := w.err
	if err == errNone && v == nil {
		err = ErrGoexit
	}
	p.times.Record(time.Duration(elapsed))
	switch {
	case v != nil:
		w.panicked.Add(1)
	case err != nil:
		w.failed.Add(1)
	}
	w.item, w.err = firq.Item[K, T]{}, nil // what they point to is not kept alive
	w.finished.Add(1)
	if v != nil || err != nil {
		e := p.event(held, elapsed)
		if v != nil {
			e.Panic, e.Stack = v, stack
			p.tellPanic(e)
		} else {
			e.Err = err
			p.tellError(e)
		}
	}
}

// later returns t + d, or never.
func later(t int64, d time.Duration) int64 {
	if int64(d) > never-t {
		return never
	}
	return t + int64(d)
}

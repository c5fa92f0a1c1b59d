package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
)

// Handler handles one task. An error is counted and handed to Options.OnError; there is
// no retry. The package comment describes ctx and it.
type Handler[K comparable, T any] func(ctx context.Context, it *firq.Item[K, T]) error

// never is a time, in nanoseconds since Pool.epoch, that does not come.
const never = math.MaxInt64

// A pool's life: new, running (Run), stopping (ctx is done, or the consumer is closed, or
// TimeoutMode Stop, or the consumer failed), over (no worker is live). A worker is live from
// its start until it leaves, except while its handler is stuck:
//
//	live --stuck--> stuck --returned--> live             not replaced
//	                stuck --returned--> gone             replaced, or the pool is over
//
// The pool is over when it is stopping and the last worker stops being live.

// Pool is a set of workers over one consumer. Make it with New, and start it with Run. It
// ends when Run's context is done, which leaves queued tasks to another pool, or when the
// scheduler is shut down, after its whole backlog, or closed.
type Pool[K comparable, T any] struct {
	source  firq.Consumer[K, T]
	handler Handler[K, T]
	opts    Options[K, T] // resolved
	times   *hist.Histogram
	epoch   time.Time

	ran       atomic.Bool
	graceOver atomic.Bool // handlers' contexts are cancelled

	// Set by Run before any worker starts, then immutable.
	base  context.Context // of all handlers
	take  context.Context // done: take nothing more
	taken <-chan struct{} // its Done

	mu       sync.Mutex
	workers  []*worker[K, T] // all that ever were; see free
	free     []*worker[K, T] // those of them that have left, for replacements
	live     int             // goroutines that are not stuck
	stuckNow int
	extra    int // replacements that stand in for a worker that is stuck
	stopping bool
	over     bool
	err      error              // the first reason to stop that is a failure
	stopTake context.CancelFunc // ends take

	idle  chan struct{}  // closed when the pool is over
	halt  chan struct{}  // closed when it is stopping
	hooks sync.WaitGroup // hooks of workers that were live when they were noted
}

// New returns a pool that takes tasks from source, a firq.Scheduler or its
// consuming end, once Run is called. Its error matches firq.ErrInvalidConfig and
// names each field of opts that makes no sense, or firq.ErrInvalidArgument if source or handler
// is nil.
func New[K comparable, T any](source firq.Consumer[K, T], handler Handler[K, T], opts Options[K, T]) (*Pool[K, T], error) {
	if source == nil {
		return nil, fmt.Errorf("%w: worker: source is nil", firq.ErrInvalidArgument)
	}
	if handler == nil {
		return nil, fmt.Errorf("%w: worker: handler is nil", firq.ErrInvalidArgument)
	}
	opts, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	return &Pool[K, T]{
		source:  source,
		handler: handler,
		opts:    opts,
		times:   hist.New(),
		epoch:   time.Now(),
		idle:    make(chan struct{}),
		halt:    make(chan struct{}),
	}, nil
}

// Run is New and Pool.Run in one.
func Run[K comparable, T any](ctx context.Context, source firq.Consumer[K, T], handler Handler[K, T], opts Options[K, T]) error {
	p, err := New(source, handler, opts)
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// Run handles tasks until ctx is done or the scheduler is closed; then, or with
// TimeoutMode Stop, it takes nothing more, waits until every handler has returned, and
// returns. What is still queued stays queued, for another pool. A Shutdown of the
// scheduler lets Run handle the whole backlog first.
//
// Once Options.Grace has passed since it began to stop, it cancels the handlers'
// contexts. It never waits for a stuck handler, that is, one that has not returned
// within StuckAfter of its cancellation: it then returns an error that matches
// ErrStuck, and the goroutines of such handlers go on until they return.
//
// It returns nil after a stop that left no handler behind, even if ctx is done.
// Otherwise it returns an error that matches ErrTimeout (mode Stop), ErrStuck, or the
// error of Dequeue. A nil ctx, or a second call, is firq.ErrInvalidArgument.
func (p *Pool[K, T]) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("%w: worker: ctx is nil", firq.ErrInvalidArgument)
	}
	if p.ran.Swap(true) {
		return fmt.Errorf("%w: worker: Run was called before on this Pool", firq.ErrInvalidArgument)
	}
	base, cancelBase := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelBase(nil)
	take, stopTake := context.WithCancel(ctx)
	defer stopTake()

	p.mu.Lock()
	p.base, p.take, p.taken, p.stopTake = base, take, take.Done(), stopTake
	for range p.opts.Concurrency {
		p.startLocked()
	}
	p.mu.Unlock()

	select {
	case <-ctx.Done():
	case <-p.halt:
	}
	p.stop(nil)
	p.awaitIdle(cancelBase)
	p.hooks.Wait()
	return p.result()
}

// awaitIdle waits until the pool is over, and cancels the handlers when the grace time
// is.
func (p *Pool[K, T]) awaitIdle(cancelBase context.CancelCauseFunc) {
	var graceOver <-chan time.Time
	if p.opts.Grace > 0 {
		t := time.NewTimer(p.opts.Grace)
		defer t.Stop()
		graceOver = t.C
	}
	select {
	case <-p.idle:
		return
	case <-graceOver:
	}
	// A handler that starts after this sees the flag; one that started before is
	// in the list and learns of it here.
	p.graceOver.Store(true)
	cancelBase(ErrGraceOver)
	p.mu.Lock()
	workers := p.workers
	p.mu.Unlock()
	for _, w := range workers {
		w.cancelled()
	}
	<-p.idle
}

func (p *Pool[K, T]) result() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuckNow > 0 {
		return errors.Join(p.err, fmt.Errorf("%w: pool %q: %d still running", ErrStuck, p.opts.Name, p.stuckNow))
	}
	return p.err
}

// now returns nanoseconds since the pool was made, on the monotonic clock.
func (p *Pool[K, T]) now() int64 { return int64(time.Since(p.epoch)) }

// stop makes the pool take nothing more. err, if not nil, is what Run returns.
func (p *Pool[K, T]) stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	if p.stopping {
		return
	}
	p.stopping = true
	p.stopTake()
	close(p.halt)
	p.endLocked()
}

// endLocked notes that the pool is over, if it is.
func (p *Pool[K, T]) endLocked() {
	if p.stopping && p.live == 0 && !p.over {
		p.over = true
		close(p.idle)
	}
}

// startLocked starts one worker.
func (p *Pool[K, T]) startLocked() {
	var w *worker[K, T]
	if n := len(p.free); n > 0 {
		w = p.free[n-1]
		p.free = p.free[:n-1]
		w.replaced, w.gone = false, false
	} else {
		w = newWorker(p)
		p.workers = append(p.workers, w)
	}
	p.live++
	go w.work()
}

// left is called by a live worker as its last step.
func (p *Pool[K, T]) left(w *worker[K, T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live--
	p.endLocked()
}

// stuck takes w, whose handler is stuck, out of the live ones, and starts another
// in its place if that is allowed. (One that starts while the pool stops takes
// nothing, and leaves.)
func (p *Pool[K, T]) stuck(w *worker[K, T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuckNow++
	if p.extra < p.opts.MaxReplacements {
		p.extra++
		w.replaced = true
		p.startLocked()
	}
	p.live--
	p.endLocked()
}

// back is called by a worker whose stuck handler has returned. It reports whether
// the worker is live again; else it has left.
func (p *Pool[K, T]) back(w *worker[K, T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuckNow--
	switch {
	case w.replaced, p.over:
		return false
	}
	p.live++
	return true
}

// release is the last step of a worker that back has let go.
func (p *Pool[K, T]) release(w *worker[K, T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.replaced {
		p.extra--
		p.free = append(p.free, w)
	}
}

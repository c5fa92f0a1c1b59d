package compute

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree"
)

// Batcher executes calls of many tenants in batches, and no call waits for a batch to fill:
// a call that finds a free slot is executed immediately, alone; calls that come while all
// slots are taken wait in their tenants' turns, and then go together, up to BatchConfig.Max. So
// batches grow with load. Equal keys are not joined: that is a Server's work, whose
// Exec may call a Batcher. Make it with NewBatcher; it must not be copied. All methods
// are safe for concurrent use.
//
// No call stays queued while a slot is free: after a goroutine has queued a call, given a
// slot back, or raised the limit, it looks for both (pump), under mu.
type Batcher[T, K comparable, V any] struct {
	// Immutable.
	exec  func(ctx context.Context, calls []Call[T, K]) ([]V, error)
	cfg   BatchConfig[T]
	queue firq.Scheduler[T, *pending[T, K, V]]
	// inFlight: tenants have limits in flight.
	inFlight bool
	life     life

	limit atomic.Int64
	busy  atomic.Int64 // slots taken; written under mu
	mu    sync.Mutex   // held by the call that pumps; no user code runs under it

	batches, calls                    atomic.Uint64
	answered, refused, gaveUp, closed atomic.Uint64
}

// pending is a call that waits.
type pending[T, K comparable, V any] struct {
	call   Call[T, K]
	ticket firq.Ticket
	gone   <-chan struct{} // closed when its context ends
	batch  *batch[T, K, V] // that it is in; nil: none yet. Guarded by Batcher.mu
	from   origin          // that waits for it; nil: none. Guarded by Batcher.mu once it is in a batch

	// Written before end is closed, by the goroutine that closes it.
	outcome[V]
	ran bool
	end chan struct{}
}

func (c *pending[T, K, V]) finish(err error) {
	c.err = err
	close(c.end)
}

// batch is an execution.
type batch[T, K comparable, V any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	items  []firq.Item[T, *pending[T, K, V]]
	calls  []Call[T, K]
	mu     *sync.Mutex // Batcher.mu
	nested bool        // calls in it come from executions
	left   int         // callers that wait for it; guarded by mu
}

// NewBatcher returns a Batcher over exec, which gets at most BatchConfig.Max calls, in
// the order of their turns, and returns as many values, in the same order. The calls
// are its own until it returns. An error goes to every caller of the batch, unless it
// is Errors; a wrong number of values, without an error, is an error for all. exec may
// panic, or call runtime.Goexit: then every caller gets a *PanicError. Its context has
// no values of its callers; it ends when none of its callers waits any more, after ExecTimeout, with
// Close, and when exec has returned.
//
// A config that makes no sense is an error that matches firq.ErrInvalidConfig and names
// the field; a nil exec is firq.ErrInvalidArgument.
func NewBatcher[T, K comparable, V any](exec func(ctx context.Context, calls []Call[T, K]) ([]V, error), cfg BatchConfig[T]) (*Batcher[T, K, V], error) {
	if exec == nil {
		return nil, fmt.Errorf("%w: exec is nil", firq.ErrInvalidArgument)
	}
	cfg, err := cfg.check()
	if err != nil {
		return nil, err
	}
	b := &Batcher[T, K, V]{exec: exec, cfg: cfg}
	c := scheduler[T, *pending[T, K, V]](cfg.Queue)
	c.OnDrop = b.dropped
	if b.queue, err = lockfree.New(c); err != nil {
		return nil, fmt.Errorf("firq: compute: Queue: %w", err)
	}
	b.inFlight = c.MaxInFlightPerTenant != 0 || c.MaxInFlightFor != nil
	b.limit.Store(int64(cfg.Limit))
	b.life.init(func() { _ = b.queue.Close() }) // it returns nil
	return b, nil
}

// check fills in the defaults, and refuses what makes no sense.
func (c BatchConfig[T]) check() (BatchConfig[T], error) {
	switch {
	case c.Limit < 0 || c.Limit > gate.MaxSlots:
		return c, invalid("Limit", c.Limit, fmt.Sprintf("0 (which means 2 x GOMAXPROCS) to %d", gate.MaxSlots))
	case c.Max < 0:
		return c, invalid("Max", c.Max, "0 (which means 32) or more")
	case c.ExecTimeout < 0:
		return c, invalid("ExecTimeout", c.ExecTimeout, "0 or more")
	}
	if c.Limit == 0 {
		c.Limit = 2 * runtime.GOMAXPROCS(0)
	}
	if c.Max == 0 {
		c.Max = DefaultMaxBatch
	}
	var err error
	if c.Queue, err = queue(c.Queue, c.FIFO); err != nil {
		return c, err
	}
	if _, err = gate.Open(1, c.Queue); err != nil {
		err = fmt.Errorf("firq: compute: Queue: %w", err)
	}
	return c, err
}

// Do answers a call by a batch. It returns when ctx ends, always: with ctx.Err() if it
// does so first. Else the errors are those of Server.Do, without ErrTooManyWaiters. If a
// function of BatchConfig.Queue or a method of ctx panics, or the tenant cannot be
// compared, then so does Do, and leaves nothing behind.
func (b *Batcher[T, K, V]) Do(ctx context.Context, tenant T, key K) (V, error) {
	var zero V
	if ctx == nil {
		return zero, errNilContext
	}
	if !b.life.enter() {
		b.closed.Add(1)
		return zero, firq.ErrClosed
	}
	defer b.life.leave()
	c := &pending[T, K, V]{call: Call[T, K]{Tenant: tenant, Key: key}, gone: ctx.Done(), from: originOf(ctx), end: make(chan struct{})}
	err := b.await(ctx, c)
	switch {
	case err == nil:
		b.answered.Add(1)
		return c.val, c.err
	case isAny(err, firq.ErrClosed):
		b.closed.Add(1)
	case isAny(err, firq.ErrRejected):
		b.refused.Add(1)
	case !isAny(err, firq.ErrInvalidTask):
		b.gaveUp.Add(1)
	}
	return zero, err
}

// await queues c and waits until it was executed; else it says why not.
func (b *Batcher[T, K, V]) await(ctx context.Context, c *pending[T, K, V]) error {
	select {
	case <-c.gone:
		return ended(ctx)
	default:
	}
	due, hasDue := ctx.Deadline()
	var tooOld <-chan time.Time
	aged := false // its age ends it, not ctx
	if age := b.cfg.Queue.MaxQueueAge; age > 0 {
		if last := time.Now().Add(age); !hasDue || last.Before(due) {
			due, aged = last, true
			timer := time.NewTimer(age)
			defer timer.Stop()
			tooOld = timer.C
		}
	}
	failpoint.At("enqueue")
	err := b.queue.Enqueue(c.call.Tenant, firq.Task[*pending[T, K, V]]{Payload: c, Deadline: due, Ticket: &c.ticket})
	if err != nil {
		return err
	}
	failpoint.At("enqueued")
	b.pump()
	for {
		select {
		case <-c.end:
			return why(ctx, c, aged)
		case <-b.life.killed:
			b.desert(c)
			return firq.ErrClosed
		case <-c.gone:
			if !c.ticket.Cancel() && b.desert(c) {
				return why(ctx, c, aged)
			}
			return ended(ctx)
		case <-tooOld:
			if c.ticket.Cancel() {
				return firq.ErrTimeout
			}
			tooOld = nil // it is in a batch, or was dropped
		}
	}
}

// why says why c was not executed; nil: it was.
func why[T, K comparable, V any](ctx context.Context, c *pending[T, K, V], aged bool) error {
	switch {
	case c.ran:
		return nil
	case c.err == errGone:
		return ended(ctx)
	case c.err == firq.ErrTimeout && !aged:
		return lateError(ctx) // the queue's clock may be ahead of ctx's timer
	}
	return c.err
}

// desert takes a call that no longer waits off its batch, and cancels a batch for which no
// call waits any more. It reports whether the call had already got its outcome.
func (b *Batcher[T, K, V]) desert(c *pending[T, K, V]) (over bool) {
	select {
	case <-c.end:
		return true
	default:
	}
	failpoint.Lock(&b.mu, "desert")
	bt := c.batch
	last := false
	if bt != nil {
		c.from = nil
		bt.left--
		last = bt.left == 0
	}
	b.mu.Unlock()
	if last {
		bt.cancel()
	}
	return false
}

// dropped is the queue's OnDrop.
func (b *Batcher[T, K, V]) dropped(_ T, c *pending[T, K, V], why firq.DropReason) {
	switch why {
	case firq.DropExpired:
		c.finish(firq.ErrTimeout)
	case firq.DropEvicted:
		c.finish(gate.ErrEvicted)
	case firq.DropOverload:
		c.finish(gate.ErrOverload)
	case firq.DropClosed:
		c.finish(firq.ErrClosed)
	case firq.DropCancelled: // its call knows
	}
}

// SetLimit changes how many batches are executed concurrently: 0 to gate.MaxSlots, anything
// else panics. With 0 nothing is executed until it rises.
func (b *Batcher[T, K, V]) SetLimit(n int) {
	if n < 0 || n > gate.MaxSlots {
		panic(fmt.Sprintf("firq: compute: limit: %d, must be 0 to %d", n, gate.MaxSlots))
	}
	b.limit.Store(int64(n))
	b.pump()
}

// Stats returns a snapshot.
func (b *Batcher[T, K, V]) Stats() BatchStats[T] {
	return BatchStats[T]{
		Batches: b.batches.Load(), Calls: b.calls.Load(),
		Answered: b.answered.Load(), Refused: b.refused.Load(), GaveUp: b.gaveUp.Load(), Closed: b.closed.Load(),
		Executing: int(b.busy.Load()), Waiting: b.queue.Len(), Queue: b.queue.Stats(),
	}
}

// Shutdown refuses later calls with firq.ErrClosed, and returns nil once every call that
// came before has been answered, and every batch has ended. When ctx is done first it
// returns ctx.Err(), and the batcher goes on draining; when Close comes first,
// firq.ErrClosed.
func (b *Batcher[T, K, V]) Shutdown(ctx context.Context) error { return b.life.shutdown(ctx) }

// Close refuses later calls with firq.ErrClosed, and immediately ends all others with the
// same error; the contexts of batches end. It does not wait. A second call, or one after a Shutdown
// that came to its end, does nothing. It returns nil.
func (b *Batcher[T, K, V]) Close() error {
	b.life.kill()
	return nil
}

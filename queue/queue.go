package queue

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// Queue is a client of a queue. Make it with an engine's New. Safe for concurrent use.
type Queue[T any] struct {
	cfg    Config[T]
	engine Engine
	traits Traits
	names  rule

	pushes []*batcher[push] // of each lane
	acks   []*batcher[ack]
	fetch  *fetcher[T] // for calls that take from all tenants
	survey *Survey[T]

	unreadable sync.Map // ids of schedules that were logged

	alive     context.Context // ends with closed, for those that wait
	end       context.CancelFunc
	closed    chan struct{}
	closeOnce sync.Once
	all       sync.WaitGroup // goroutines of the queue
	life      sync.RWMutex   // no goroutine starts once Close waits
}

// New makes the queue of an engine. It is for engines, whose own New calls it; the error is that of Engine.Open, or matches
// firq.ErrInvalidConfig.
func New[T any](ctx context.Context, e Engine, c Config[T]) (*Queue[T], error) {
	if ctx == nil {
		return nil, invalidArgument("New: nil context")
	}
	if v := reflect.ValueOf(e); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, invalidArgument("New: the engine is nil")
	}
	q := &Queue[T]{engine: e, traits: e.Traits(), closed: make(chan struct{})}
	q.names = rule{MaxName, q.traits.UTF8}
	c, err := c.resolve(&q.names)
	if err != nil {
		return nil, err
	}
	q.cfg = c
	own := Settings{c.MaxQueued, c.MaxQueuedPerTenant, c.MaxInFlight, c.MaxInFlightPerTenant, c.PriorityAging, c.DeadLetters, c.RatePerTenant}
	q.alive, q.end = context.WithCancel(context.Background())
	for lane := range q.traits.Lanes {
		q.pushes = append(q.pushes, &batcher[push]{linger: c.Linger, run: q.pushOn(lane), start: q.start, size: (*push).bytes})
		q.acks = append(q.acks, &batcher[ack]{rest: q.traits.AckRest, run: q.ackOn(lane), start: q.start, size: (*ack).bytes})
	}
	if err := e.Open(ctx, Options{c.Name, c.Lease, c.MaxAttempts, c.TenantIdle, own, q.closed}); err != nil {
		_ = q.Close()
		return nil, err
	}
	q.fetch, q.survey = &fetcher[T]{q: q, source: e.From(nil, nil)}, newSurvey(q)
	return q, nil
}

// Engine returns what keeps the queue's tasks.
func (q *Queue[T]) Engine() Engine { return q.engine }

// Close ends all calls that wait with firq.ErrClosed. Leases that are out go on: their tasks come back
// when they have run out. Calling it again does nothing.
func (q *Queue[T]) Close() (err error) {
	q.closeOnce.Do(func() {
		q.life.Lock()
		close(q.closed)
		q.life.Unlock()
		q.end()
		q.all.Wait()
		err = q.engine.Close()
	})
	return err
}

// Done returns a channel that is closed when the queue is closed.
func (q *Queue[T]) Done() <-chan struct{} { return q.closed }

// over reports whether the queue is closed.
func (q *Queue[T]) over() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}

// start starts a goroutine that Close waits for; false: the queue is closed.
func (q *Queue[T]) start(f func()) bool {
	q.life.RLock()
	defer q.life.RUnlock()
	if q.over() {
		return false
	}
	q.all.Go(f)
	return true
}

// sleepFor waits for d; false: ctx or the queue has ended before.
func (q *Queue[T]) sleepFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-q.closed:
	}
	return false
}

// Begin makes the checks that all calls have in common: ctx is not nil and has not ended, and the queue is not closed. It is for
// engines that have calls beyond these.
func Begin[T any](ctx context.Context, q *Queue[T], call string) error {
	if ctx == nil {
		return invalidArgument("%s: nil context", call)
	}
	if q.over() {
		return firq.ErrClosed
	}
	return ctx.Err()
}

// call is Begin.
func (q *Queue[T]) call(ctx context.Context, name string) error { return Begin(ctx, q, name) }

// named is call for methods that take a tenant's name.
func (q *Queue[T]) named(ctx context.Context, call, what, name string) error {
	if q.names.bad(name) {
		return invalidArgument("%s: %s: %q: %s", call, what, name, &q.names)
	}
	return q.call(ctx, call)
}

// weight returns the answer of WeightFor; 0 without it.
func (q *Queue[T]) weight(tenant string) float64 {
	if q.cfg.WeightFor == nil {
		return 0
	}
	w := q.cfg.WeightFor(tenant)
	if !(w > 0) || w > mostWeight {
		w = 1
	}
	return max(w, leastWeight)
}

package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/firq-go/firq"
)

// Dequeue waits for the next task, and leases it.
func (q *Queue[T]) Dequeue(ctx context.Context) (*Item[T], error) { return q.dequeue(ctx, q.fetch) }

// DequeueBatch waits for a task, and leases what else is there, up to n tasks, and no more once they have 1 MiB. n above 500
// counts as 500.
func (q *Queue[T]) DequeueBatch(ctx context.Context, n int) ([]*Item[T], error) {
	return q.dequeueBatch(ctx, q.fetch, "DequeueBatch", n)
}

// Consumer takes from some tenants only. Make it with Queue.From. Safe for concurrent use.
type Consumer[T any] struct {
	q     *Queue[T]
	fetch *fetcher[T] // for all its calls
}

// From returns a consumer that takes from the tenants in assigned; if none of them has tasks, from
// those that match one of the steal targets, in which `*` stands for any characters and `?` for one;
// and from no others. Without both it takes from all tenants. What tenants are served counts for them
// in the common order, too. Its calls share round trips: make one consumer, and use it for all of them.
func (q *Queue[T]) From(tenants, steal []string) *Consumer[T] {
	if len(tenants)+len(steal) == 0 {
		return &Consumer[T]{q, q.fetch}
	}
	return &Consumer[T]{q, &fetcher[T]{q: q, source: q.engine.From(tenants, steal)}}
}

// SourceOf returns the engine's source of a consumer. It is for engines.
func SourceOf[T any](c *Consumer[T]) Source { return c.fetch.source }

// Dequeue is Queue.Dequeue for the consumer's tenants. While others have tasks it may be late by 100 ms.
func (c *Consumer[T]) Dequeue(ctx context.Context) (*Item[T], error) {
	return c.q.dequeue(ctx, c.fetch)
}

// DequeueBatch is Queue.DequeueBatch for the consumer's tenants. While others have tasks it may be late by 100 ms.
func (c *Consumer[T]) DequeueBatch(ctx context.Context, n int) ([]*Item[T], error) {
	return c.q.dequeueBatch(ctx, c.fetch, "DequeueBatch", n)
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
		return nil, invalidArgument("%s: n: %d, must be at least 1", name, n)
	}
	if err := q.call(ctx, name); err != nil {
		return nil, err
	}
	k := &waiter[T]{min(n, MaxBatch), make(chan fetchResult[T], 1)}
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

// waiter is a call that waits for tasks.
type waiter[T any] struct {
	n    int
	gets chan fetchResult[T] // has room for one
}

type fetchResult[T any] struct {
	items []*Item[T]
	err   error
}

// fetcher fetches tasks for all calls of a process that wait for those of the same tenants: one call of the engine for all of them.
type fetcher[T any] struct {
	q      *Queue[T]
	source Source // of the goroutine that fetches

	mu      sync.Mutex
	waiters []*waiter[T]
	running bool
}

// add lets a call wait; false: the queue is closed.
func (f *fetcher[T]) add(k *waiter[T]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.running {
		if !f.q.start(f.work) {
			return false
		}
		f.running = true
	}
	f.waiters = append(f.waiters, k)
	return true
}

// remove takes a call out that does not wait any more; false: it was handed something.
func (f *fetcher[T]) remove(k *waiter[T]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.waiters, k)
	if i >= 0 {
		f.waiters = slices.Delete(f.waiters, i, i+1)
	}
	return i >= 0
}

// wanted returns for how many tasks calls wait; 0, too, once the queue is closed.
func (f *fetcher[T]) wanted() (n int) {
	if f.q.over() {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.waiters {
		n += k.n
	}
	return min(n, MaxBatch)
}

// work fetches while a call waits.
func (f *fetcher[T]) work() {
	for {
		ds, err := f.source.Pop(f.q.alive, f.wanted)
		if len(ds) == 0 && err == nil {
			if f.end() {
				return
			}
			continue
		}
		its, bad := f.q.read(ds)
		for _, x := range bad {
			failed := f.q.nack(context.Background(), x.lease, Retry{After: -1, Reason: x.why, Dead: true})
			if failed != nil && err == nil && len(its) == 0 {
				err = failed // else it comes back when its lease has run out
			}
		}
		f.hand(its, err)
	}
}

// end ends the work if no call waits, or the queue is closed: calls that wait notice that, and take themselves out.
func (f *fetcher[T]) end() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiters) > 0 && !f.q.over() {
		return false
	}
	f.running = false
	return true
}

// hand gives the fetched tasks to the calls, in the order in which these came. An error goes to all of them.
func (f *fetcher[T]) hand(its []*Item[T], err error) {
	f.mu.Lock()
	for len(f.waiters) > 0 && (len(its) > 0 || err != nil) {
		k := f.waiters[0]
		n := min(k.n, len(its))
		f.waiters = f.waiters[1:]
		if n > 0 {
			k.gets <- fetchResult[T]{items: its[:n:n]}
		} else {
			k.gets <- fetchResult[T]{err: err}
		}
		its = its[n:]
	}
	f.mu.Unlock()
	if len(its) > 0 { // a caller has left in between
		f.q.giveBack(its)
	}
}

// unreadable is a delivery that becomes a dead letter.
type unreadable struct {
	lease Lease
	why   string
}

// read returns deliveries with their payloads decoded, and those that the codec, or the engine, cannot read.
func (q *Queue[T]) read(ds []Delivery) (its []*Item[T], bad []unreadable) {
	at := 0
	read := func() {
		for ; at < len(ds); at++ {
			it, err := q.item(&ds[at], q.decode)
			if err != nil {
				bad = append(bad, unreadable{LeaseOf(it), err.Error()})
				continue
			}
			its = append(its, it)
		}
	}
	for at < len(ds) {
		if exits(read) { // the codec did, and this goroutine fetches for all consumers
			bad = append(bad, unreadable{LeaseOf(&ds[at].Item), "payload: " + errExits.Error()})
			at++
		}
	}
	return its, bad
}

// item returns a delivery with its payload; without it if the codec cannot read that.
func (q *Queue[T]) item(d *Delivery, decode func([]byte) (T, error)) (it *Item[T], err error) {
	it = &Item[T]{Task: withPayload(&d.Task, *new(T)), Attempt: d.Attempt, Wait: d.Wait, Token: d.Token, LeaseUntil: d.LeaseUntil, room: q.cfg.MaxPayload}
	if d.Err != nil {
		return it, d.Err
	}
	if it.Payload, err = decode(d.Payload); err != nil {
		return it, fmt.Errorf("payload: %w", err)
	}
	return it, nil
}

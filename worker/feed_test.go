package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

// feed is a consumer for tests in a synctest bubble: a channel, and which tasks are Done.
// The cores cannot be used there: they keep time by the processor's counter.
type feed struct {
	firq.Consumer[string, int] // nil: the pool calls nothing but Dequeue
	items                      chan firq.Item[string, int]
	fail                       error         // what Dequeue answers when items is closed
	late                       time.Duration // how long Dequeue takes, whatever its context says
	doneTakes                  time.Duration

	mu   sync.Mutex
	done []int // payloads, in the order of Done
}

type settler struct{ f *feed }

func (s settler) SettleDone(token uint64) {
	time.Sleep(s.f.doneTakes)
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.done = append(s.f.done, int(token))
}
func (s settler) SettleCharge(uint64, int64) {}

// newFeed returns a feed of the payloads 0 to n-1 of tenant "a".
func newFeed(n int) *feed {
	f := &feed{items: make(chan firq.Item[string, int], n+100), fail: firq.ErrClosed}
	for i := range n {
		f.put(i, time.Time{})
	}
	return f
}

func (f *feed) put(payload int, deadline time.Time) {
	it := firq.Item[string, int]{Tenant: "a", Payload: payload, Cost: 1, Deadline: deadline, Wait: time.Second}
	it.Bind(settler{f}, uint64(payload))
	f.items <- it
}

func (f *feed) Dequeue(ctx context.Context) (firq.Item[string, int], error) {
	time.Sleep(f.late)
	select { // as the cores do, it delivers what it has though ctx is done
	case it, ok := <-f.items:
		if ok {
			return it, nil
		}
		return it, f.fail
	default:
	}
	select {
	case it, ok := <-f.items:
		if !ok {
			return it, f.fail
		}
		return it, nil
	case <-ctx.Done():
		return firq.Item[string, int]{}, ctx.Err()
	}
}

func (f *feed) isDone() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]int(nil), f.done...)
}

type (
	options = worker.Options[string, int]
	event   = worker.Event[string, int]
	item    = *firq.Item[string, int]
)

// started runs a pool in the background; the function waits for Run's error.
func started(t *testing.T, ctx context.Context, f firq.Consumer[string, int], h worker.Handler[string, int], o options) (*worker.Pool[string, int], func() error) {
	t.Helper()
	p, err := worker.New(f, h, o)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- p.Run(ctx) }()
	return p, func() error { return <-end }
}

// record keeps events in the order in which the hook was called.
type record struct {
	mu     sync.Mutex
	events []event
}

func (r *record) hook(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// elapsed returns by payload when, since the start of the handler, the hook came.
func (r *record) elapsed() map[int]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := map[int]time.Duration{}
	for _, e := range r.events {
		if _, twice := m[e.Payload]; twice {
			m[e.Payload] = -1
			continue
		}
		m[e.Payload] = e.Elapsed
	}
	return m
}

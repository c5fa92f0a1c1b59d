package contest

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
)

// channel makes a Queue of a Go channel: first in, first out, whichever goroutine sends.
// It does per task what a scheduler has to do anyway: one stamp when the task
// comes in, one when it goes out, the deadline checked, the queue time recorded
// in a histogram that any goroutine could snapshot.
type channel struct {
	ch     chan entry
	waits  *hist.Histogram
	onDrop func(tenant string, payload uint64, why firq.DropReason)
}

// entry is a task in the channel.
type entry struct {
	tenant   string
	task     Task
	at       time.Duration // Now() when it came in
	deadline time.Duration // on the same clock; 0: none
}

func newChannel(cfg Config) (Queue, error) {
	cfg, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	return newChannelOf(cfg, cfg.MaxGlobal), nil
}

func newUnbuffered(cfg Config) (Queue, error) { return newChannelOf(cfg, 0), nil }

func newChannelOf(cfg Config, size int) *channel {
	return &channel{ch: make(chan entry, size), waits: hist.New(), onDrop: cfg.OnDrop}
}

func (c *channel) entry(tenant string, t *Task, now time.Duration) entry {
	e := entry{tenant: tenant, task: *t, at: now}
	if !t.Deadline.IsZero() {
		e.deadline = max(1, OnClock(t.Deadline))
	}
	return e
}

func (c *channel) Enqueue(tenant string, t Task) error {
	if err := t.Validate(); err != nil {
		return err
	}
	select {
	case c.ch <- c.entry(tenant, &t, Now()):
		return nil
	default:
		return firq.ErrGlobalFull
	}
}

func (c *channel) EnqueueWait(ctx context.Context, tenant string, t Task) error {
	if err := t.Validate(); err != nil {
		return err
	}
	e := c.entry(tenant, &t, Now())
	select { // one case and a default cost far less than two cases
	case c.ch <- e:
		return nil
	default:
	}
	select {
	case c.ch <- e:
		return nil
	case <-ctx.Done():
		return firq.ErrTimeout
	}
}

// Len returns how many tasks are in the channel.
func (c *channel) Len() int { return len(c.ch) }

func (c *channel) EnqueueBatch(tenant string, ts []Task) (int, error) {
	now := Now()
	for i := range ts {
		if err := ts[i].Validate(); err != nil {
			return i, err
		}
		select {
		case c.ch <- c.entry(tenant, &ts[i], now):
		default:
			return i, firq.ErrGlobalFull
		}
	}
	return len(ts), nil
}

func (c *channel) TryDequeue() (Item, bool) {
	for {
		select {
		case e, ok := <-c.ch:
			if !ok {
				return Item{}, false
			}
			if it, ok := c.deliver(&e, Now()); ok {
				return it, true
			}
		default:
			return Item{}, false
		}
	}
}

func (c *channel) Dequeue(ctx context.Context) (Item, error) {
	for {
		e, err := c.receive(ctx)
		if err != nil {
			return Item{}, err
		}
		if it, ok := c.deliver(&e, Now()); ok {
			return it, nil
		}
	}
}

func (c *channel) DequeueBatch(ctx context.Context, dst []Item) (int, error) {
	for {
		e, err := c.receive(ctx)
		if err != nil {
			return 0, err
		}
		if n := c.fill(dst, e); n > 0 {
			return n, nil
		}
	}
}

// fill delivers first and what else is there into dst, with one clock read.
func (c *channel) fill(dst []Item, first entry) (n int) {
	now := Now()
	for e := first; ; {
		if it, ok := c.deliver(&e, now); ok {
			dst[n] = it
			n++
		}
		if n == len(dst) {
			return n
		}
		var ok bool
		select {
		case e, ok = <-c.ch:
			if !ok {
				return n
			}
		default:
			return n
		}
	}
}

func (c *channel) receive(ctx context.Context) (entry, error) {
	select { // as in EnqueueWait
	case e, ok := <-c.ch:
		return e, closedUnless(ok)
	default:
	}
	select {
	case e, ok := <-c.ch:
		return e, closedUnless(ok)
	case <-ctx.Done():
		return entry{}, ctx.Err()
	}
}

func closedUnless(ok bool) error {
	if ok {
		return nil
	}
	return firq.ErrClosed
}

// deliver makes an item of e, or drops it because its deadline has passed.
func (c *channel) deliver(e *entry, now time.Duration) (Item, bool) {
	if e.deadline != 0 && now > e.deadline {
		if c.onDrop != nil {
			c.onDrop(e.tenant, e.task.Payload, firq.DropExpired)
		}
		return Item{}, false
	}
	// The stamp can be a little in the future where two processors' clocks differ.
	wait := max(0, now-e.at)
	c.waits.Record(wait)
	return Item{
		Tenant: e.tenant, Payload: e.task.Payload, Cost: max(1, e.task.Cost),
		Priority: e.task.Priority, Deadline: e.task.Deadline, Wait: wait,
	}, true
}

// Shutdown closes the channel; receivers get what is left in it, then ErrClosed.
func (c *channel) Shutdown(context.Context) error {
	close(c.ch)
	return nil
}

// Close wakes no caller: the driver cancels the context of those that wait.
func (c *channel) Close() error { return nil }

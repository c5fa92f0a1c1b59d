package contest

import (
	"context"
	"sync"
	"unsafe"

	"github.com/firq-go/firq"
)

// What makes a Queue of simple.

func newSimple(cfg Config) (Queue, error) {
	cfg, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	s := &simple{tenants: make(map[string]*simpleTenant), most: cfg.MaxGlobal}
	s.work.L, s.room.L = &s.mu, &s.mu
	return s, nil
}

func (s *simple) Enqueue(name string, t Task) error {
	if err := t.Validate(); err != nil {
		return err
	}
	_, err := s.enqueue(name, unsafe.Slice(&t, 1))
	return err
}

func (s *simple) EnqueueBatch(name string, ts []Task) (int, error) {
	for i := range ts {
		if err := ts[i].Validate(); err != nil {
			n, full := s.enqueue(name, ts[:i])
			if full != nil {
				err = full
			}
			return n, err
		}
	}
	return s.enqueue(name, ts)
}

func (s *simple) EnqueueWait(ctx context.Context, name string, t Task) error {
	for {
		err := s.Enqueue(name, t)
		if err != firq.ErrGlobalFull {
			return err
		}
		s.mu.Lock()
		for s.queued >= s.most && ctx.Err() == nil && !s.closed {
			s.sleep(ctx, &s.room)
		}
		s.mu.Unlock()
		if ctx.Err() != nil {
			return firq.ErrTimeout
		}
	}
}

func (s *simple) TryDequeue() (it Item, ok bool) {
	n, _ := s.dequeue(nil, unsafe.Slice(&it, 1)) //nolint:staticcheck // no context: it does not wait
	return it, n == 1
}

func (s *simple) Dequeue(ctx context.Context) (it Item, err error) {
	_, err = s.dequeue(ctx, unsafe.Slice(&it, 1))
	return it, err
}

func (s *simple) DequeueBatch(ctx context.Context, dst []Item) (int, error) {
	return s.dequeue(ctx, dst)
}

// sleep waits for c, or for the end of ctx, which wakes all callers. Under mu.
func (s *simple) sleep(ctx context.Context, c *sync.Cond) {
	if s.ctx != ctx { // the driver has one for all
		s.ctx = ctx
		context.AfterFunc(ctx, s.wakeAll)
	}
	c.Wait()
}

func (s *simple) wakeAll() {
	s.mu.Lock() // so that a consumer that has looked sleeps by now
	defer s.mu.Unlock()
	s.work.Broadcast()
	s.room.Broadcast()
}

// Shutdown lets consumers end when nothing is left. It does not wait for them.
func (s *simple) Shutdown(context.Context) error { return s.Close() }

// Close is Shutdown: what is queued is forgotten with the queue.
func (s *simple) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wakeAll()
	return nil
}

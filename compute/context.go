package compute

import (
	"context"
	"sync"
	"time"
)

// execCtx is the context of exec: the flight itself, so that it costs no allocation. It
// has the values of the leader's context, and ends when nobody waits any more, after
// ExecTimeout, with Close, and when exec has returned. What ends it is not watched before
// exec asks: then it becomes a context of package context, so that what is derived from
// it needs no goroutine.
type execCtx[T, K comparable, V any] flight[T, K, V]

// execState is guarded by mu.
type execState struct {
	mu     sync.Mutex
	inner  context.Context // nil: exec has not asked yet
	stop   context.CancelFunc
	unhook [2]func() bool // what watches the server, and the leader
	ended  bool
}

// Deadline returns that of ExecTimeout.
func (c *execCtx[T, K, V]) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Done returns what is closed when it ends. What has ended already is closed at once.
func (c *execCtx[T, K, V]) Done() <-chan struct{} {
	_ = c.Err()
	return c.ctx().Done()
}

// Err says why it has ended. It looks at the leader's context itself: whatever watches that
// may not have run yet.
func (c *execCtx[T, K, V]) Err() error {
	inner := c.ctx()
	if c.watched && inner.Err() == nil && c.leader.Err() != nil {
		(*flight[T, K, V])(c).leaderEnded()
	}
	return inner.Err()
}

// Value returns the leader's.
func (c *execCtx[T, K, V]) Value(key any) any { return c.ctx().Value(key) }

// ctx returns the context that it becomes.
func (c *execCtx[T, K, V]) ctx() context.Context {
	x := &c.exec
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.inner != nil {
		return x.inner
	}
	base := context.WithoutCancel(c.leader)
	if c.deadline.IsZero() {
		x.inner, x.stop = context.WithCancel(base)
	} else {
		x.inner, x.stop = context.WithDeadline(base, c.deadline)
	}
	if x.ended {
		x.stop()
		return x.inner
	}
	if c.s.life.root.Err() != nil {
		x.stop()
		return x.inner
	}
	x.unhook[0] = context.AfterFunc(c.s.life.root, x.stop)
	if c.watched {
		x.unhook[1] = context.AfterFunc(c.leader, (*flight[T, K, V])(c).leaderEnded)
	}
	return x.inner
}

// cancel ends the context.
func (f *flight[T, K, V]) cancel() {
	x := &f.exec
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	if x.stop == nil {
		return
	}
	x.stop()
	for _, unhook := range x.unhook {
		if unhook != nil {
			unhook()
		}
	}
}

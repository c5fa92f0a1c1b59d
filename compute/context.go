package compute

import (
	"context"
	"sync"
	"time"
)

// execCtx is the context of exec: the flight itself, so that it costs no allocation. It
// has the values of the leader's context, and ends when no call waits any more, after
// ExecTimeout, with Close, and when exec has returned. Nothing watches for these ends
// until exec first needs it: then execCtx makes a context of package context, so that contexts
// derived from it need no goroutine.
type execCtx[T, K comparable, V any] flight[T, K, V]

// execState is what an execCtx becomes.
type execState struct {
	inner context.Context // immutable
	stop  context.CancelFunc

	mu     sync.Mutex
	unhook [2]func() bool // stop the watches on the server and the leader
	ended  bool
}

// execOver marks an execCtx that had ended before exec used it.
var execOver = new(execState)

// Deadline returns the deadline that ExecTimeout sets, if there is one.
func (c *execCtx[T, K, V]) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return time.Time{}, false
	}
	return c.p.s.base.Add(c.deadline), true
}

// Done returns a channel that is closed once the context has ended.
func (c *execCtx[T, K, V]) Done() <-chan struct{} {
	_ = c.Err()
	return c.ctx().Done()
}

// Err returns why the context has ended, or nil. It looks at the leader's context itself, because
// the function that watches it may not have run yet.
func (c *execCtx[T, K, V]) Err() error {
	inner := c.ctx()
	if c.watched && inner.Err() == nil && c.leader.Err() != nil {
		(*flight[T, K, V])(c).leaderEnded()
	}
	return inner.Err()
}

// Value returns the leader's value, except for the key of the origin of calls: that is the flight.
func (c *execCtx[T, K, V]) Value(key any) any {
	if _, is := key.(originKey); is {
		return (*flight[T, K, V])(c)
	}
	return c.ctx().Value(key)
}

// ctx returns the context of package context behind c, and makes it on first use.
func (c *execCtx[T, K, V]) ctx() context.Context {
	was := c.exec.Load()
	if was != nil && was != execOver {
		return was.inner
	}
	x := new(execState)
	base := context.WithoutCancel(c.leader)
	if deadline, has := c.Deadline(); has {
		x.inner, x.stop = context.WithDeadline(base, deadline)
	} else {
		x.inner, x.stop = context.WithCancel(base)
	}
	if was == execOver || c.p.s.life.root.Err() != nil {
		x.stop()
	}
	if !c.exec.CompareAndSwap(was, x) { // another goroutine was first, or c has ended
		x.stop()
		return c.ctx()
	}
	if was == nil {
		c.watch(x)
	}
	return x.inner
}

// watch arranges that x ends when the server closes or the leader's context ends.
func (c *execCtx[T, K, V]) watch(x *execState) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.unhook[0] = context.AfterFunc(c.p.s.life.root, x.stop)
	if c.watched {
		x.unhook[1] = context.AfterFunc(c.leader, (*flight[T, K, V])(c).leaderEnded)
	}
}

// cancel ends the context.
func (f *flight[T, K, V]) cancel() {
	if f.exec.CompareAndSwap(nil, execOver) {
		return // exec has not used it
	}
	x := f.exec.Load()
	if x == execOver {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	x.stop()
	for _, unhook := range x.unhook {
		if unhook != nil {
			unhook()
		}
	}
}

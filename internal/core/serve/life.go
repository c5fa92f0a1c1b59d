package serve

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The states of a scheduler. It only moves forward.
const (
	Open     = iota
	Draining // Shutdown: nothing is admitted any more
	Drained  // and everything was delivered
	Closed   // Close
)

// Life is a scheduler's way from open to closed. Make it with Init; safe for
// concurrent use.
type Life struct {
	state  atomic.Uint32 // one of the above; read by every call, written hardly ever
	once   sync.Once
	over   chan struct{} // closed once the state is Drained or Closed
	wakeUp func()        // wakes all that sleep; immutable
}

// Init sets what wakes every sleeping producer and consumer.
func (l *Life) Init(wakeUp func()) { l.over, l.wakeUp = make(chan struct{}), wakeUp }

// State returns the state.
func (l *Life) State() uint32 { return l.state.Load() }

// Over reports whether nothing will be delivered any more.
func (l *Life) Over() bool { return l.state.Load() >= Drained }

// Shutdown is firq.Scheduler's. drain is called once, when the state is
// Draining: it has to see to it that TryFinish is called when nothing is left.
func (l *Life) Shutdown(ctx context.Context, drain func()) error {
	if ctx == nil {
		return ErrNilContext
	}
	failpoint.At("shutdown")
	if l.state.CompareAndSwap(Open, Draining) {
		failpoint.At("shutdown drain")
		drain()
	}
	failpoint.At("shutdown wait")
	select {
	case <-l.over:
	case <-ctx.Done():
		select {
		case <-l.over:
		default:
			return ctx.Err()
		}
	}
	if l.state.Load() == Closed {
		return firq.ErrClosed
	}
	return nil
}

// TryFinish ends a Shutdown whose backlog is gone.
func (l *Life) TryFinish() {
	failpoint.At("finish")
	if l.state.CompareAndSwap(Draining, Drained) {
		l.Finish()
	}
}

// Close moves to Closed and reports whether this call did. The caller then drops
// what is queued and calls Finish. After a Shutdown that was finished there is
// nothing to do.
func (l *Life) Close() bool {
	for {
		was := l.state.Load()
		if was >= Drained {
			return false
		}
		failpoint.At("close")
		if l.state.CompareAndSwap(was, Closed) {
			return true
		}
	}
}

// Finish closes over, and wakes all that sleep.
func (l *Life) Finish() {
	l.once.Do(func() { close(l.over) })
	l.wakeUp()
}

package compute

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/firq-go/firq"
)

// life is the end of a Server or Batcher: how many calls are at work, and whether another may begin.
//
//	open ──Shutdown──> closing ──the last one leaves──> idle
//	  └──────Close──────┴──> killed
//
// A caller that is at work is counted in word, with closing as its top bit, so that after closing
// is set no call begins unseen.
type life struct {
	closing atomic.Bool // for calls that are not counted: hits
	word    atomic.Int64
	idle    chan struct{} // closed when closing and no call is at work; after onEnd
	killed  chan struct{} // closed by Close
	root    context.Context
	cancel  context.CancelFunc
	onEnd   func()      // called once, by the caller that makes it idle or killed
	over    atomic.Bool // idle or killed, or about to be
}

const closingBit = 1 << 62

func (l *life) init(onEnd func()) {
	l.idle, l.killed = make(chan struct{}), make(chan struct{})
	l.root, l.cancel = context.WithCancel(context.Background())
	l.onEnd = onEnd
}

// enter counts one call that is at work, unless it is too late.
func (l *life) enter() bool {
	if l.word.Add(1)&closingBit != 0 {
		l.leave()
		return false
	}
	return true
}

// hold counts another one, for a call that is counted.
func (l *life) hold() { l.word.Add(1) }

func (l *life) leave() {
	if l.word.Add(-1) == closingBit {
		l.rest()
	}
}

// rest is called when, after closing, the last call has left.
func (l *life) rest() {
	if l.over.CompareAndSwap(false, true) {
		l.onEnd()
		l.cancel()
		close(l.idle)
	}
}

// isKilled reports whether Close has been called.
func (l *life) isKilled() bool {
	select {
	case <-l.killed:
		return true
	default:
		return false
	}
}

func (l *life) shutdown(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	l.closing.Store(true)
	if l.word.Or(closingBit)&^closingBit == 0 {
		l.rest()
	}
	select {
	case <-l.idle:
	case <-l.killed:
	case <-ctx.Done():
	}
	select {
	case <-l.killed:
		return firq.ErrClosed
	default:
	}
	select {
	case <-l.idle:
		return nil
	default:
		return ended(ctx)
	}
}

// kill ends everything immediately, unless it has ended. A second call may return before the
// first has finished.
func (l *life) kill() {
	l.closing.Store(true)
	l.word.Or(closingBit)
	if l.over.CompareAndSwap(false, true) {
		close(l.killed)
		l.cancel()
		l.onEnd()
	}
}

// ended is the error of a context that has ended.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled // it is done, whatever it says
}

var errNilContext = fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)

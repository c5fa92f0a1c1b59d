package load

import (
	"sync/atomic"
	"testing"
	"time"
)

// A consumer that has reported more than its producers have does not wait for them unless
// there is a backlog to keep: they may be waiting for it, to take the next task from them.
func TestHold(t *testing.T) {
	w := newWindow(4096, false, 2)
	w.finished(w.chunk)
	over := make(chan struct{})
	var phase atomic.Int32
	go func() { defer close(over); w.hold(&phase) }()
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Error("it waits")
	}
	phase.Store(stopping)
	<-over
}

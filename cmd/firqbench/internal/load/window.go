package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// window keeps producers from running away: they stop at high unfinished tasks
// and go on at low. The gap makes the waiting rare, hundreds of tasks apart, so
// that it costs next to nothing per task, and it is small compared with high, so that
// the backlog stays about the same instead of swinging between full and empty.
//
// Producers and consumers report in chunks, not per task, to keep the shared
// word out of the measurement. low is at least what all consumers together may
// hold back, hence the crossing of low is always reported.
type window struct {
	low, high, chunk int64 // immutable
	floor            int64 // consumers pause below it; immutable, below low; see keepDeep

	_           [64]byte
	outstanding atomic.Int64
	_           [64]byte

	mu      sync.Mutex
	reopen  sync.Cond
	stopped bool // guarded by mu
}

func newWindow(size int, burst bool, consumers int) *window {
	const gap = 512
	w := &window{high: int64(size), low: max(int64(size)/2, int64(size)-gap), chunk: 32}
	if burst { // down to nearly nothing
		w.low = min(int64(size)/2, w.chunk*int64(consumers))
	}
	w.chunk = max(1, min(w.chunk, w.low/int64(consumers)))
	w.reopen.L = &w.mu
	return w
}

// sent reports n more tasks on their way, and waits while there are too many.
func (w *window) sent(n int64) {
	if w.outstanding.Add(n) < w.high {
		return
	}
	w.mu.Lock()
	for w.outstanding.Load() > w.low && !w.stopped {
		w.reopen.Wait() // finished takes mu after the word went down: no lost wake-up
	}
	w.mu.Unlock()
}

// finished reports n tasks delivered or dropped. The caller that reopens the window gives
// way: with more goroutines than processors the consumers would otherwise run
// until the queue is empty, for the 10 ms that Go lets them, before a producer
// gets its turn, and every queue time would be that of Go's scheduler.
func (w *window) finished(n int64) {
	left := w.outstanding.Add(-n)
	if left <= w.low && left+n > w.low {
		w.mu.Lock()
		w.reopen.Broadcast()
		w.mu.Unlock()
		runtime.Gosched()
	}
}

// keepDeep has consumers pause as far below low as low is below high. It is called
// before a goroutine uses the window.
func (w *window) keepDeep() { w.floor = max(0, 2*w.low-w.high) }

// hold is called by a consumer between two tasks: it waits while less than floor is
// under way. Without a floor it does not: outstanding is below 0 while consumers have
// reported tasks that their producers have not, and a producer that hands each task to a
// consumer cannot report before one is free.
//
// It lets others run instead of sleeping: a producer is most likely among them, and
// consumers that sleep would be woken all together.
func (w *window) hold(phase *atomic.Int32) {
	for w.floor > 0 && w.outstanding.Load() < w.floor && phase.Load() < stopping {
		runtime.Gosched()
	}
}

// fill waits until the floor is reached for the first time.
func (w *window) fill(ctx context.Context, phase *atomic.Int32) {
	for w.outstanding.Load() < w.floor && phase.Load() < stopping && ctx.Err() == nil {
		time.Sleep(100 * time.Microsecond)
	}
}

// stop lets all goroutines go on, to find out that the run is over.
func (w *window) stop() {
	w.mu.Lock()
	w.stopped = true
	w.reopen.Broadcast()
	w.mu.Unlock()
}

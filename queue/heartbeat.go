package queue

import (
	"context"
	"errors"
	"time"
)

// beat extends the leases of running handlers until over is closed.
func (r *runner[T]) beat(over <-chan struct{}) {
	t := time.NewTicker(r.opts.Heartbeat)
	defer t.Stop()
	for {
		select {
		case <-over:
			return
		case <-t.C:
		}
		r.heartbeat(time.Now())
	}
}

// heartbeat extends the leases once.
func (r *runner[T]) heartbeat(now time.Time) {
	var its []*Item[T]
	r.mu.Lock()
	for it, h := range r.held {
		if h.ctx.Err() != nil && h.ended.IsZero() {
			h.ended = now
		}
		if h.ended.IsZero() || now.Sub(h.ended) < r.opts.StuckAfter { // else it is stuck: another worker shall have it
			its = append(its, it)
		}
	}
	r.mu.Unlock()
	if len(its) == 0 {
		return
	}
	quiet := func(*Item[T], time.Time) {} // LeaseUntil is the handler's to read, so it stays what it was
	if lost := r.tell(r.q.extend(context.Background(), 0, false, its, quiet), its); len(lost) > 0 {
		r.q.extend(context.Background(), 0, true, lost, quiet) // to be counted
	}
}

// tell cancels the handlers whose leases are lost, or whose tasks are cancelled, and returns the former. A delivery that has been
// settled since the heartbeat began has lost nothing, though the server does not know its lease any more.
func (r *runner[T]) tell(errs []error, its []*Item[T]) (lost []*Item[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, it := range its {
		h := r.held[it]
		if h == nil || h.acked {
			continue
		}
		for _, cause := range []error{ErrLeaseLost, ErrCancelled} {
			if errors.Is(errs[i], cause) {
				h.cancel(cause)
			}
		}
		if errors.Is(errs[i], ErrLeaseLost) && !h.lost {
			h.lost = true
			lost = append(lost, it)
		}
	}
	return lost
}

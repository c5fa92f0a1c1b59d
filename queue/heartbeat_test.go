package queue

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A heartbeat that names a task which was acked or nacked a moment before has lost nothing. A lease that is lost counts once, however
// many heartbeats find that out.
func TestOnlyLossesCount(t *testing.T) {
	t.Parallel()
	q, _ := open(t)
	ctx := bounded(t)
	put(t, q, "0", "1", "2")
	its := now(t, q, 3)
	r := &runner[string]{q: q, opts: RunOptions[string]{StuckAfter: time.Hour}, held: map[*Item[string]]*holding{}}
	hold := func(it *Item[string]) *holding {
		ctx, cancel := context.WithCancelCause(ctx)
		h := &holding{ctx: ctx, cancel: cancel}
		r.held[it] = h
		return h
	}
	lost := func() uint64 { return must(q.Stats(ctx)).LeaseLost }
	acked := hold(its[0])
	acked.acked = true // its Ack is through, and the reply is on its way
	ok(t, q.Ack(ctx, its[0]))
	r.heartbeat(time.Now())
	same(t, "acked", lost(), 0)
	if context.Cause(acked.ctx) != nil {
		t.Error("its context has ended")
	}
	r.drop(its[0])
	hold(its[1])
	ok(t, q.Nack(ctx, its[1], Retry{}))
	errs := q.extend(ctx, 0, false, its[1:2], func(*Item[string], time.Time) {}) // the heartbeat was under way
	r.drop(its[1])
	same(t, "of the nacked", len(r.tell(errs, its[1:2])), 0)
	same(t, "nacked", lost(), 0)
	gone := hold(its[2])
	ok(t, q.Release(ctx, its[2]))
	for range 3 {
		r.heartbeat(time.Now())
	}
	same(t, "lost", lost(), 1)
	want(t, context.Cause(gone.ctx), ErrLeaseLost)
	if r.ack(its[2]) || r.drop(its[2]) {
		t.Error("it is settled once more")
	}
	if !errors.Is(q.Extend(ctx, 0, its[2]), ErrLeaseLost) || lost() != 2 {
		t.Errorf("Extend counts: %d", lost())
	}
}

// What a handler has settled by an engine's own means is left alone, if the handler returns nil.
func TestSettledElsewhere(t *testing.T) {
	t.Parallel()
	q, f := open(t)
	put(t, q, "0", "1")
	ctx, cancel := context.WithCancel(bounded(t))
	n := 0
	ok(t, Run(ctx, q, func(_ context.Context, it *Item[string]) error {
		_, err := f.end([]Lease{LeaseOf(it)}, false)
		Settled(it)
		if n++; n == 2 {
			cancel()
			return errors.New("and failed then")
		}
		return err
	}, RunOptions[string]{Concurrency: 1, OnError: func(Event[string]) {}}))
	st := must(q.Stats(bounded(t)))
	same(t, "lost", st.LeaseLost, 1) // the Nack of the second
	same(t, "in flight", st.InFlight, 0)
}

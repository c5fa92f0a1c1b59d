package firqredis

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A heartbeat that names a task which was acked or nacked a moment before has lost nothing. A lease that is lost counts once, however
// many heartbeats find that out.
func TestOnlyLossesCount(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, many("a", 3)...)
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
	})
}

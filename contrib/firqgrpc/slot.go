package firqgrpc

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// visit is a call, or a message, on its way to a slot.
type visit struct {
	i       *Interceptor
	ctx     context.Context
	call    *Call
	tenant  string
	began   time.Time // to wait; zero: not yet, or there is no Observe
	counted bool      // it is counted, or goes on

	took  int64         // from Config.Rate; to be given back
	after time.Duration // if the rate refused it: when it would pass
}

// wait waits for the rate, and then for the turn.
func (v *visit) wait(req gate.Request) (gate.Permit[string], error) {
	v.i.waiting.Add(1)
	defer v.i.waiting.Add(-1)
	if v.i.cfg.Rate != nil {
		if err := v.take(req); err != nil {
			return gate.Permit[string]{}, err
		}
		defer v.giveBack()
	}
	if v.i.cfg.Observe != nil {
		v.began = time.Now()
	}
	p, err := v.i.gate.Acquire(v.ctx, v.tenant, req)
	if err == nil {
		v.took = 0 // for good
	}
	return p, err
}

// take takes what the call costs from its rate.
func (v *visit) take(req gate.Request) error {
	cost, wait := req.Cost, v.i.cfg.RateWait
	if cost == 0 {
		cost = 1
	}
	if !req.Deadline.IsZero() {
		wait = max(0, min(wait, time.Until(req.Deadline)))
	}
	res, err := v.i.cfg.Rate.Take(v.ctx, v.tenant, cost, wait)
	if err != nil {
		v.after = res.RetryAfter
		return err
	}
	v.took = cost
	return nil
}

// giveBack gives back what the call took from its rate.
func (v *visit) giveBack() {
	if cost := v.took; cost > 0 {
		v.took = 0
		rate.Undo(context.WithoutCancel(v.ctx), v.i.cfg.Rate, v.tenant, cost)
	}
}

func (v *visit) waited() time.Duration {
	if v.began.IsZero() {
		return 0
	}
	return time.Since(v.began)
}

var errUnfinished = errors.New("firq: firqgrpc: a function of Config panicked, or ended its goroutine")

// end counts a call that a function of Config ended.
func (v *visit) end() {
	if v.counted {
		return
	}
	v.i.rejected[internal].Add(1)
	if observe := v.i.cfg.Observe; observe != nil {
		observe(v.ctx, v.call, Outcome{Tenant: v.tenant, Reason: Internal, Err: errUnfinished, Waited: v.waited(), Aborted: true})
	}
}

// slot is a permit that a call, or a message, holds. A nil slot is none.
type slot struct {
	in      *Interceptor
	permit  gate.Permit[string]
	tenant  string       // immutable
	outer   adapter.Slot // immutable; of the innermost adapter outside; nil: there is none
	holders adapter.Holders
	watch   *watch // immutable; nil: there is no Observe
}

// watch collects the arguments for Config.Observe.
type watch struct {
	ctx    context.Context
	call   *Call
	tenant string
	waited time.Duration
	since  time.Time // it has the slot
}

// Gate, Outer, Join and Leave implement adapter.Slot.

func (s *slot) Gate() any           { return s.in.gate }
func (s *slot) Outer() adapter.Slot { return s.outer }
func (s *slot) Join() bool          { return s.holders.Join() }

func (s *slot) Leave() {
	if s.holders.Leave() {
		s.free(false)
	}
}

// end is called when the handler has returned, or was aborted.
func (s *slot) end(returned bool) {
	if returned {
		s.Leave()
	} else if s.holders.Abandon() {
		s.free(true)
	}
}

// free gives the slot back. It is called once.
func (s *slot) free(aborted bool) {
	if s == nil {
		return
	}
	s.in.inFlight.Add(-1)
	s.permit.Release()
	if o := s.watch; o != nil {
		s.in.cfg.Observe(o.ctx, o.call, Outcome{Tenant: o.tenant, Waited: o.waited, Held: time.Since(o.since), Aborted: aborted})
	}
}

// Charge charges the call.
func (s *slot) Charge(ctx context.Context, delta int64) {
	if s == nil {
		return
	}
	s.permit.Charge(delta)
	if limit := s.in.cfg.Rate; limit != nil {
		_ = limit.Charge(context.WithoutCancel(ctx), s.tenant, delta) // a server that is away: the call was served all the same
	}
}

// Waited is how long it waited.
func (s *slot) Waited() time.Duration {
	if s == nil {
		return 0
	}
	return s.permit.Waited()
}

// Outcome is the result of a call, or of a message of a stream that is gated by
// message; Config.Observe gets it.
type Outcome struct {
	// Tenant is the one that the gate knew it by; empty if a function of Config
	// panicked before that was known.
	Tenant string
	// Reason is why it was rejected; empty: it was served.
	Reason Reason
	// Err is the gate's error (the client gets a status); nil if it was served.
	Err error
	// Waited is how long it waited for its turn.
	Waited time.Duration
	// Held is how long it held its slot; 0 if it got none.
	Held time.Duration
	// Aborted says that its handler, or a function of Config, panicked or ended its
	// goroutine (runtime.Goexit).
	Aborted bool
}

// inProgress is a call that is being served: a slot, or messages.
type inProgress interface {
	adapter.Slot
	Charge(ctx context.Context, delta int64)
	Waited() time.Duration
}

// Charge says that the call that is being served cost delta more than Config.Cost
// said, or less: to the gate (gate.Permit.Charge), and to Config.Rate, to that also after
// the call has ended; of a stream that is gated by message, the
// message in progress. ctx is the call's. It reports whether ctx is that of a call
// behind an Interceptor; with several, the innermost counts.
func Charge(ctx context.Context, delta int64) bool {
	c, ok := adapter.InnermostSlot[inProgress](ctx)
	if ok {
		c.Charge(ctx, delta)
	}
	return ok
}

// Waited returns how long the call that is being served waited for its turn, 0 if it
// did not have to; of a stream that is gated by message, the message in progress.
// ctx is the call's, as its handler, and interceptors inside of this one, see it.
// After the slot was given back it is 0. It reports whether ctx is that of a call
// behind an Interceptor; with several, the innermost counts.
func Waited(ctx context.Context) (time.Duration, bool) {
	c, ok := adapter.InnermostSlot[inProgress](ctx)
	if !ok {
		return 0, false
	}
	return c.Waited(), true
}

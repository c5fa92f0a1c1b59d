package firqgrpc

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/gate"
)

// visit is a call, or a message, on its way to a slot.
type visit struct {
	i       *Interceptor
	ctx     context.Context
	call    *Call
	tenant  string
	began   time.Time // to wait; zero: not yet, or there is no Observe
	counted bool      // it is counted, or goes on
}

// wait waits for the turn.
func (v *visit) wait(req gate.Request) (gate.Permit[string], error) {
	v.i.waiting.Add(1)
	defer v.i.waiting.Add(-1)
	if v.i.cfg.Observe != nil {
		v.began = time.Now()
	}
	return v.i.gate.Acquire(v.ctx, v.tenant, req)
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
func (s *slot) Charge(delta int64) {
	if s != nil {
		s.permit.Charge(delta)
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
	// Tenant is whose it was, as the gate was told; empty if a function of Config
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
	Charge(delta int64)
	Waited() time.Duration
}

// Charge says that the call that is being served cost delta more than Config.Cost
// said, or less (gate.Permit.Charge); of a stream that is gated by message, the
// message in progress. ctx is the call's. It reports whether ctx is that of a call
// behind an Interceptor; with several, the innermost counts.
func Charge(ctx context.Context, delta int64) bool {
	c, ok := adapter.InnermostSlot[inProgress](ctx)
	if ok {
		c.Charge(delta)
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

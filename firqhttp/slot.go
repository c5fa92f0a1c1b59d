package firqhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/gate"
)

// slot is a permit that a handler, and maybe a connection that it hijacked, hold.
type slot struct {
	m       *Middleware
	permit  gate.Permit[string]
	tenant  string          // immutable
	outer   adapter.Slot    // immutable; of the innermost adapter outside; nil: there is none
	holders adapter.Holders // the slot is free when none is left, or it is abandoned
	watch   *watch          // immutable; nil: there is no watchdog
}

// watch collects the arguments for Config.Observe.
type watch struct {
	r      *http.Request
	tenant string
	waited time.Duration
	since  time.Time // it has the slot
}

// serve runs the handler. If that panics, or ends its goroutine, no handler is left that
// would close a connection that it hijacked.
func (s *slot) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	returned := false
	defer func() {
		if returned {
			s.Leave()
		} else if s.holders.Abandon() {
			s.free(true)
		}
	}()
	next.ServeHTTP(s.wrap(w), r)
	returned = true
}

// Gate, Outer, Join and Leave implement adapter.Slot.

func (s *slot) Gate() any           { return s.m.gate }
func (s *slot) Outer() adapter.Slot { return s.outer }
func (s *slot) Join() bool          { return s.holders.Join() }

func (s *slot) Leave() {
	if s.holders.Leave() {
		s.free(false)
	}
}

func (s *slot) free(aborted bool) {
	s.m.inFlight.Add(-1)
	s.permit.Release()
	if o := s.watch; o != nil {
		s.m.cfg.Observe(o.r, Outcome{Tenant: o.tenant, Waited: o.waited, Held: time.Since(o.since), Aborted: aborted})
	}
}

// Outcome is the result of a request; Config.Observe gets it.
type Outcome struct {
	// Tenant is the request's tenant, as the gate knows it; empty if a function of
	// Config panicked before that was known.
	Tenant string
	// Reason is why it was rejected; empty: it was served.
	Reason Reason
	// Err belongs to the Reason (Rejection.Err); nil if it was served.
	Err error
	// Waited is how long it waited for its turn; the time in which its body was read
	// (Config.BufferBody), and that for its rate (Config.RateWait), do not count.
	Waited time.Duration
	// Held is how long it held its slot; 0 if it got none.
	Held time.Duration
	// Aborted says that its handler, or a function of Config, panicked or ended its
	// goroutine (runtime.Goexit).
	Aborted bool
}

// Charge says that the request that is being served cost delta more than
// Config.Cost said, or less: to the gate (gate.Permit.Charge), and to Config.Rate, to that
// also after the request has ended. ctx is the request's. It reports
// whether ctx is that of a request behind a Middleware; with several, the
// innermost counts.
func Charge(ctx context.Context, delta int64) bool {
	s, ok := adapter.InnermostSlot[*slot](ctx)
	if ok {
		s.permit.Charge(delta)
		if limit := s.m.cfg.Rate; limit != nil {
			_ = limit.Charge(context.WithoutCancel(ctx), s.tenant, delta) // a server that is away: the request was served all the same
		}
	}
	return ok
}

// Waited returns how long the request that is being served waited for its turn, 0
// if it did not have to; for access logs and Server-Timing. ctx is the request's, as
// its handler, and middleware inside of this one, see it. After the slot was given
// back it is 0. It reports whether ctx is that of a request behind a Middleware;
// with several, the innermost counts.
func Waited(ctx context.Context) (time.Duration, bool) {
	s, ok := adapter.InnermostSlot[*slot](ctx)
	if !ok {
		return 0, false
	}
	return s.permit.Waited(), true
}

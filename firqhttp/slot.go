package firqhttp

import (
	"context"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/gate"
)

// slot is a permit that a handler, and maybe a connection that it hijacked, hold.
type slot struct {
	m       *Middleware
	permit  gate.Permit[string]
	outer   *slot        // immutable; of the innermost middleware outside; nil: there is none
	holders atomic.Int32 // the slot is free when it becomes 0, or abandoned
	watch   *watch       // immutable; nil: nobody is told
}

// watch is what Config.Observe will be told.
type watch struct {
	r      *http.Request
	tenant string
	waited time.Duration
	since  time.Time // it has the slot
}

// abandoned is less than holders can make up for.
const abandoned = math.MinInt32 / 2

// serve runs the handler. If that panics, or ends its goroutine, nobody is left who
// would close a connection that it hijacked.
func (s *slot) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	returned := false
	defer func() {
		if returned {
			s.leave()
		} else if s.holders.Swap(abandoned) > 0 {
			s.free(true)
		}
	}()
	next.ServeHTTP(s.wrap(w), r)
	returned = true
}

func (s *slot) leave() {
	if s.holders.Add(-1) == 0 {
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

// Outcome is what became of a request; Config.Observe gets it.
type Outcome struct {
	// Tenant is the request's tenant, as the gate knows it; empty if a function of
	// Config panicked before that was known.
	Tenant string
	// Reason is why it was rejected; empty: it was served.
	Reason Reason
	// Err belongs to the Reason (Rejection.Err); nil if it was served.
	Err error
	// Waited is how long it waited for its turn; the time in which its body was read
	// (Config.BufferBody) does not count.
	Waited time.Duration
	// Held is how long it held its slot; 0 if it got none.
	Held time.Duration
	// Aborted says that its handler, or a function of Config, panicked or ended its
	// goroutine (runtime.Goexit).
	Aborted bool
}

type slotKey struct{}

// slotOf returns the slot of the innermost middleware that a request of this context came
// through; nil: there is none.
func slotOf(ctx context.Context) *slot {
	s, _ := ctx.Value(slotKey{}).(*slot)
	return s
}

// outer returns the slot of the middleware's gate with which a request comes, held once more;
// nil: it has none. With a slot it must not wait for a second one, which the first may be.
func (m *Middleware) outer(ctx context.Context) *slot {
	for s := slotOf(ctx); s != nil; s = s.outer {
		if s.m.gate == m.gate && s.join() {
			return s
		}
	}
	return nil
}

// join is one holder more, unless the slot is free already: who joins leaves.
func (s *slot) join() bool {
	for {
		n := s.holders.Load()
		if n <= 0 {
			return false
		}
		if s.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Charge says that the request that is being served cost delta more than
// Config.Cost said, or less (gate.Permit.Charge). ctx is the request's. It reports
// whether ctx is that of a request behind a Middleware; with several, the
// innermost counts.
func Charge(ctx context.Context, delta int64) bool {
	s := slotOf(ctx)
	if s != nil {
		s.permit.Charge(delta)
	}
	return s != nil
}

// Waited returns how long the request that is being served waited for its turn, 0
// if it did not have to; for access logs and Server-Timing. ctx is the request's, as
// its handler, and middleware inside of this one, see it. After the slot was given
// back it is 0. It reports whether ctx is that of a request behind a Middleware;
// with several, the innermost counts.
func Waited(ctx context.Context) (time.Duration, bool) {
	s := slotOf(ctx)
	if s == nil {
		return 0, false
	}
	return s.permit.Waited(), true
}

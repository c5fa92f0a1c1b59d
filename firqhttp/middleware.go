package firqhttp

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Config says how requests are told apart. The zero value is useful: a tenant per
// client address. Its functions are called by many goroutines at once, never with
// a lock held; a panic of theirs goes to the server, like a handler's.
type Config struct {
	// Tenant says whose request it is. nil: Remote{}.Tenant, the client's address.
	Tenant TenantFunc
	// Anonymous is the tenant of requests of which Tenant does not know whose they
	// are: they share one turn. Its zero value is a fine name.
	Anonymous string
	// Cost in work units, for fairness: 0 counts as 1; negative answers 500.
	// nil: 1.
	Cost func(*http.Request) int64
	// Priority of the request among those of its tenant (or everybody's, as
	// gate.Config.PriorityScope says). nil: firq.PriorityNormal.
	Priority func(*http.Request) firq.Priority
	// Deadline is when the client stops waiting; the earlier of it and the
	// context's counts. A request that cannot be served by then is refused. nil:
	// only the context's. See Timeout, GRPCTimeout and Earliest.
	Deadline DeadlineFunc
	// Skip lets requests through that need no slot, health checks say. nil: none.
	Skip func(*http.Request) bool
	// Reject answers a request that is not served; it has to write the response.
	// nil: WriteProblem.
	Reject func(http.ResponseWriter, *http.Request, Rejection)
	// RetryAfter is what a rejected client is asked to wait, whole seconds,
	// rounded up; below 1 ns no Retry-After is sent. nil: 1 second.
	RetryAfter func(*http.Request, Rejection) time.Duration
}

// Middleware lets requests into handlers as its gate says. Make it with New; safe
// for concurrent use. Several may share a gate.
type Middleware struct {
	gate *gate.Gate[string]
	cfg  Config

	inFlight, waiting atomic.Int64
	served, skipped   atomic.Uint64
	rejected          [len(reasons)]atomic.Uint64 // by index of reasons
}

// New returns a middleware over a gate, which stays the caller's: to change its
// limit, and to shut it down. A nil gate panics.
func New(g *gate.Gate[string], cfg Config) *Middleware {
	if g == nil {
		panic("firq: firqhttp: gate is nil")
	}
	if cfg.Tenant == nil {
		cfg.Tenant = Remote{}.Tenant
	}
	if cfg.Reject == nil {
		cfg.Reject = WriteProblem
	}
	if cfg.RetryAfter == nil {
		cfg.RetryAfter = func(*http.Request, Rejection) time.Duration { return time.Second }
	}
	return &Middleware{gate: g, cfg: cfg}
}

// Handler returns next behind the middleware.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.cfg.Skip != nil && m.cfg.Skip(r) {
			m.skipped.Add(1)
			next.ServeHTTP(w, r)
			return
		}
		tenant, ok := m.cfg.Tenant(r)
		if !ok {
			tenant = m.cfg.Anonymous
		}
		p, err := m.acquire(r, tenant)
		if err != nil {
			m.reject(w, r, tenant, err)
			return
		}
		s := &slot{m: m, permit: p}
		s.holders.Store(1)
		m.served.Add(1)
		m.inFlight.Add(1)
		defer s.leave() // also if the handler panics
		next.ServeHTTP(s.wrap(w), r.WithContext(context.WithValue(r.Context(), permitKey{}, p)))
	})
}

// acquire waits for the request's turn.
func (m *Middleware) acquire(r *http.Request, tenant string) (p gate.Permit[string], err error) {
	var req gate.Request
	if m.cfg.Cost != nil {
		req.Cost = m.cfg.Cost(r)
	}
	if m.cfg.Priority != nil {
		req.Priority = m.cfg.Priority(r)
	}
	if m.cfg.Deadline != nil {
		if req.Deadline, err = m.cfg.Deadline(r); err != nil {
			return p, &badRequest{err}
		}
	}
	m.waiting.Add(1)
	defer m.waiting.Add(-1)
	return m.gate.Acquire(r.Context(), tenant, req)
}

func (m *Middleware) reject(w http.ResponseWriter, r *http.Request, tenant string, err error) {
	i := reasonOf(err)
	m.rejected[i].Add(1)
	rej := Rejection{Reason: reasons[i].reason, Status: reasons[i].status, Tenant: tenant, Err: err}
	if rej.Status == http.StatusTooManyRequests || rej.Status == http.StatusServiceUnavailable {
		rej.RetryAfter = m.cfg.RetryAfter(r, rej)
	}
	m.cfg.Reject(w, r, rej)
}

// slot is a permit that a handler, and maybe a connection that it hijacked, hold.
type slot struct {
	m       *Middleware
	permit  gate.Permit[string]
	holders atomic.Int32 // the permit is released when it becomes 0
}

func (s *slot) leave() {
	if s.holders.Add(-1) == 0 {
		s.m.inFlight.Add(-1)
		s.permit.Release()
	}
}

type permitKey struct{}

// Charge says that the request that is being served cost delta more than
// Config.Cost said, or less (gate.Permit.Charge). ctx is the request's. It reports
// whether ctx is that of a request behind a Middleware; with several, the
// innermost counts.
func Charge(ctx context.Context, delta int64) bool {
	p, ok := ctx.Value(permitKey{}).(gate.Permit[string])
	if ok {
		p.Charge(delta)
	}
	return ok
}

// Stats is a snapshot of a Middleware. The gate has more (gate.Gate.Stats).
type Stats struct {
	InFlight int               // requests that hold a slot, hijacked connections included
	Waiting  int               // requests that wait for one
	Served   uint64            // requests that got one
	Skipped  uint64            // requests that Config.Skip let through
	Rejected map[Reason]uint64 // requests that got none, by reason; those that there were
}

// Stats returns a snapshot. Every request that came to its end is counted once, in
// Served, Skipped or Rejected.
func (m *Middleware) Stats() Stats {
	s := Stats{
		InFlight: int(m.inFlight.Load()),
		Waiting:  int(m.waiting.Load()),
		Served:   m.served.Load(),
		Skipped:  m.skipped.Load(),
		Rejected: map[Reason]uint64{},
	}
	for i := range reasons {
		if n := m.rejected[i].Load(); n > 0 {
			s.Rejected[reasons[i].reason] += n
		}
	}
	return s
}

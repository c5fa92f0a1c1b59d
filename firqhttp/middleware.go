package firqhttp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// Middleware lets requests into handlers as its gate says. Make it with New or
// Open; safe for concurrent use. Several may share a gate.
type Middleware struct {
	gate gate.Acquirer[string]
	cfg  Config
	hold *holder
	// plain: WriteProblem answers, which reads no body.
	plain bool

	inFlight, waiting atomic.Int64
	readers           readers
	served, skipped   atomic.Uint64
	rejected          [len(reasons)]atomic.Uint64 // by index of reasons
	estimator         adapter.Estimator
}

// New returns a middleware over a gate (gate.Gate, or one that a fleet of processes shares), which stays the caller's: to change its
// limit, and to shut it down. A nil gate panics; see Open.
func New(g gate.Acquirer[string], cfg Config) *Middleware {
	m, err := Open(g, cfg)
	if err != nil {
		panic(err.Error())
	}
	return m
}

// Open is New for what comes from outside the program: a nil gate is an error that
// matches firq.ErrInvalidArgument; a nil pointer as Rate, and a negative RateWait, are
// errors that match firq.ErrInvalidConfig.
func Open(g gate.Acquirer[string], cfg Config) (*Middleware, error) {
	plain := cfg.Reject == nil
	cfg, err := cfg.check(g)
	if err != nil {
		return nil, err
	}
	m := &Middleware{gate: g, cfg: cfg, hold: newHolder(cfg.HoldBack), plain: plain}
	m.readers.init(cfg.MaxReading, cfg.MaxReadingPerTenant)
	return m, nil
}

// Handler returns next behind the middleware.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
}

func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	v := visit{m: m, r: r}
	defer v.end()
	if m.cfg.Skip != nil && m.cfg.Skip(r) {
		v.counted = true
		m.skipped.Add(1)
		next.ServeHTTP(w, r)
		return
	}
	if s := adapter.JoinSlot(r.Context(), m.gate); s != nil {
		v.counted = true
		m.skipped.Add(1)
		defer s.Leave()
		next.ServeHTTP(w, r)
		return
	}
	var ok bool
	if v.tenant, ok = m.cfg.Tenant(r); !ok {
		v.tenant = m.cfg.Anonymous
	}
	v.tenant = ShortName(v.tenant)
	p, err := v.acquire(w.Header())
	v.counted = true
	if err != nil {
		v.reject(w, err)
		return
	}
	s := &slot{m: m, permit: p, tenant: v.tenant, outer: adapter.SlotOf(r.Context())}
	if m.cfg.Observe != nil {
		s.watch = &watch{r, v.tenant, p.Waited(), time.Now()}
	}
	s.holders.Add()
	m.served.Add(1)
	m.inFlight.Add(1)
	s.serve(w, v.request(adapter.WithSlot(r.Context(), s)), next)
}

// visit is a request on its way to a slot. It stays on the stack.
type visit struct {
	m       *Middleware
	r       *http.Request // as it came
	tenant  string
	body    *body     // nil: the request's own
	began   time.Time // to wait; zero: not yet, or there is no Observe
	unread  bool      // too many bodies are being read for this one to be
	counted bool      // it is counted, or was let through

	took  int64         // from Config.Rate; to be given back
	after time.Duration // if the rate refused it: when it would pass
}

// acquire waits for the request's rate, and then, once as much of its body was read as
// should be, for its turn.
func (v *visit) acquire(h http.Header) (p gate.Permit[string], err error) {
	m, r := v.m, v.r
	var req gate.Request
	if m.cfg.Flow != nil {
		req.Flow = m.cfg.Flow(r)
	}
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
	if m.cfg.Rate != nil {
		if err = v.take(h, req); err != nil {
			return p, err
		}
		defer v.giveBack()
	}
	if m.buffers(r) {
		if expects(r) && m.policy(v.tenant) == firq.Reject { // with another one a look costs a waiter its place
			if err = m.glance(r.Context(), v.tenant, req); err != nil {
				return p, err
			}
		}
		if err = v.read(req.Deadline); err != nil {
			return p, err
		}
	}
	if m.cfg.Observe != nil {
		v.began = time.Now()
	}
	if p, err = m.gate.Acquire(r.Context(), v.tenant, req); err == nil {
		v.took = 0 // for good
	}
	return p, err
}

// take takes what the request costs from its rate, and says in h how that stands.
func (v *visit) take(h http.Header, req gate.Request) error {
	m, cost, wait := v.m, req.Cost, v.m.cfg.RateWait
	if cost == 0 {
		cost = 1
	}
	if !req.Deadline.IsZero() {
		wait = max(0, min(wait, time.Until(req.Deadline)))
	}
	res, err := m.cfg.Rate.Take(v.r.Context(), v.tenant, cost, wait)
	if policy, limit := adapter.RateLimit(m.cfg.RateName, res); policy != "" {
		h.Add("RateLimit-Policy", policy) // middleware outside may have a rate too
		h.Add("RateLimit", limit)
	}
	if err != nil {
		v.after = res.RetryAfter
		return err
	}
	v.took = cost
	return nil
}

// giveBack gives back what the request took from its rate.
func (v *visit) giveBack() {
	if cost := v.took; cost > 0 {
		v.took = 0
		rate.Undo(context.WithoutCancel(v.r.Context()), v.m.cfg.Rate, v.tenant, cost)
	}
}

// policy returns what the gate does at a limit of the queue; one that does not say so rejects.
func (m *Middleware) policy(tenant string) firq.Policy {
	if g, ok := m.gate.(interface{ Policy(string) firq.Policy }); ok {
		return g.Policy(tenant)
	}
	return firq.Reject
}

// read reads the beginning of the body. What reading it ended with is the handler's to see,
// except for a read deadline: http.Server.ReadTimeout, or that of middleware outside.
// HTTP/1.1 then ends the request's context; HTTP/2 does not.
func (v *visit) read(deadline time.Time) error {
	m := v.m
	if err := m.readers.enter(v.tenant); err != nil {
		v.unread = true
		return err
	}
	defer m.readers.leave(v.tenant)
	v.body = &body{rest: v.r.Body}
	v.body.read(v.r.Context(), m.cfg.BufferBody, v.r.ContentLength, deadline)
	var late net.Error
	if errors.As(v.body.err, &late) && late.Timeout() {
		return fmt.Errorf("%w: the body has not come in time: %w", context.Canceled, v.body.err)
	}
	return nil
}

// request returns the request with another context, and with its body as it came.
func (v *visit) request(ctx context.Context) *http.Request {
	r := v.r.WithContext(ctx)
	if v.body != nil {
		r.Body = v.body // in a copy: net/http looks at its own
	}
	return r
}

func (v *visit) reject(w http.ResponseWriter, err error) {
	m, i := v.m, reasonOf(err)
	m.rejected[i].Add(1)
	waited := v.waited()
	rej := Rejection{Reason: reasons[i].reason, Status: reasons[i].status, Tenant: v.tenant, Err: err}
	answered := false
	if m.cfg.Observe != nil {
		defer func() {
			m.cfg.Observe(v.r, Outcome{Tenant: v.tenant, Reason: rej.Reason, Err: err, Waited: waited, Aborted: !answered})
		}()
	}
	if rej.immediate() {
		if m.plain {
			v.body = nil // no handler will read it
		}
		m.hold.wait(v.r, place(m.hold, v.tenant))
	}
	r := v.r
	if v.body != nil {
		r = v.request(r.Context())
	}
	rej.RetryAfter = v.after
	if rej.Status == http.StatusTooManyRequests || rej.Status == http.StatusServiceUnavailable {
		rej.RetryAfter = m.retryAfter(r, rej)
	}
	if v.unread { // else net/http reads it before it answers, however slowly it comes
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	m.cfg.Reject(w, r, rej)
	answered = true
}

func (v *visit) waited() time.Duration {
	if v.began.IsZero() {
		return 0
	}
	return time.Since(v.began)
}

var errUnfinished = errors.New("firq: firqhttp: a function of Config panicked, or ended its goroutine")

// end counts a request that a function of Config ended.
func (v *visit) end() {
	if v.counted {
		return
	}
	v.m.rejected[internal].Add(1)
	if observe := v.m.cfg.Observe; observe != nil {
		observe(v.r, Outcome{Tenant: v.tenant, Reason: Internal, Err: errUnfinished, Waited: v.waited(), Aborted: true})
	}
}

// retryAfter calls Config.RetryAfter, or its default.
func (m *Middleware) retryAfter(r *http.Request, rej Rejection) time.Duration {
	if m.cfg.RetryAfter != nil {
		return m.cfg.RetryAfter(r, rej)
	}
	switch rej.Reason {
	case Closed:
		return 0 // it is no use to come back to this server
	case RateLimited:
		return max(rej.RetryAfter, 1) // which becomes a second
	}
	now := time.Now()
	queued := int(m.waiting.Load()) - m.readers.count()
	return adapter.SpreadSeconds(m.estimator.Estimate(now, queued, m.served.Load()), rand.Float64()) //nolint:gosec // chance, not a secret
}

// Stats is a snapshot of a Middleware. The gate has more (gate.Gate.Stats).
type Stats struct {
	InFlight int               // requests that hold a slot, hijacked connections included
	Waiting  int               // requests that wait for one, those included that wait for their rate, or whose bodies are read first
	Reading  int               // those of Waiting whose bodies are being read (Config.BufferBody)
	Served   uint64            // requests that got one
	Skipped  uint64            // requests that Config.Skip let through, or that came with a slot of the gate
	Rejected map[Reason]uint64 // requests that got none, by reason; only reasons that have occurred
}

// Stats returns a snapshot. Every request that came to its end is counted once, in
// Served, Skipped or Rejected; also if a function of Config or the handler panicked.
func (m *Middleware) Stats() Stats {
	s := Stats{
		InFlight: int(m.inFlight.Load()),
		Waiting:  int(m.waiting.Load()),
		Reading:  m.readers.count(),
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

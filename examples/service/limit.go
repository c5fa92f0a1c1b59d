package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// limiter lets some calls in at a time. The service asks no more of firq than this, so
// that it can run with and without firq. (Package firqhttp is the ready-made middleware.)
type limiter interface {
	// acquire waits until the call may go on; release is called when it has ended.
	acquire(ctx context.Context, tenant string) (release func(), err error)
	inUse() int
	waiting() int
}

func newLimiter(c config) (limiter, error) {
	if !c.fair {
		return &semaphore{slots: make(chan bool, c.slots), queue: int64(c.queue)}, nil
	}
	g, err := gate.Open(c.slots, gate.Config[string]{MaxPerTenant: c.queue})
	return fair{g}, err
}

// fair is the service with firq.
type fair struct{ g *gate.Gate[string] }

func (f fair) acquire(ctx context.Context, tenant string) (func(), error) {
	p, err := f.g.Acquire(ctx, tenant, gate.Request{})
	return p.Release, err
}

func (f fair) inUse() int   { return f.g.InUse() }
func (f fair) waiting() int { return f.g.Waiting() }

// semaphore is the service without firq: first come, first served, up to a number of calls.
type semaphore struct {
	slots   chan bool
	queue   int64
	waiters atomic.Int64
}

func (s *semaphore) acquire(ctx context.Context, _ string) (func(), error) {
	if s.waiters.Add(1) > s.queue+int64(cap(s.slots)) {
		s.waiters.Add(-1)
		return nil, firq.ErrGlobalFull
	}
	select {
	case s.slots <- true:
		return func() {
			<-s.slots
			s.waiters.Add(-1)
		}, nil
	case <-ctx.Done():
		s.waiters.Add(-1)
		return nil, ctx.Err()
	}
}

func (s *semaphore) inUse() int   { return len(s.slots) }
func (s *semaphore) waiting() int { return max(int(s.waiters.Load())-len(s.slots), 0) }

// limited passes calls to next as the limiter allows. A real service would take the tenant
// from its authentication.
func limited(limit limiter, m *metrics, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant := r.Header.Get("Tenant")
		if tenant == "" {
			tenant = "anonymous"
		}
		start := time.Now()
		release, err := limit.acquire(r.Context(), tenant)
		m.waited(time.Since(start), err)
		switch {
		case errors.Is(err, firq.ErrTenantFull):
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many calls of yours are waiting", http.StatusTooManyRequests)
		case errors.Is(err, firq.ErrRejected):
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many calls are waiting", http.StatusServiceUnavailable)
		case err == nil:
			defer release()
			next.ServeHTTP(w, r)
		}
	})
}

// Package proxy is firqproxy's handler: httputil.ReverseProxy behind firqhttp's middleware,
// with a configuration that may change while requests are served.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/contrib/firqproxy/internal/config"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/rate"
)

// Proxy is a handler that forwards requests to the upstream as slots and rates allow. Make it
// with New.
type Proxy struct {
	current  atomic.Pointer[settings]
	shared   shared
	handler  http.Handler
	traffic  *firqhttp.Middleware
	registry *prometheus.Registry
	reloads  *prometheus.CounterVec // by result
	errors   upstreamErrors
	draining atomic.Bool
}

// settings are a configuration, and what was made of it.
type settings struct {
	*config.Config
	tenant firqhttp.TenantFunc
}

// New returns a proxy. If the configuration names a fleet, the proxy joins it. The caller closes the proxy.
func New(ctx context.Context, cfg *config.Config, log *slog.Logger) (*Proxy, error) {
	p := &Proxy{
		registry: prometheus.NewRegistry(),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "firqproxy_reloads_total", Help: "How often the configuration was read again, by result: ok, or failed, after which it stayed as it was.",
		}, []string{"result"}),
		errors: upstreamErrors{log: log, count: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "firqproxy_upstream_errors_total", Help: "Requests that the upstream did not answer, and that got 502.",
		})},
	}
	p.reloads.WithLabelValues("ok")
	p.reloads.WithLabelValues("failed")
	p.current.Store(&settings{cfg, tenantOf(cfg)})
	var err error
	if cfg.Fleet != nil {
		p.shared, err = p.fleet(ctx, cfg)
	} else {
		p.shared, err = p.local(cfg)
	}
	if err != nil {
		return nil, err
	}
	p.traffic, err = firqhttp.Open(p.shared.gate, firqhttp.Config{
		Tenant:   func(r *http.Request) (string, bool) { return visitOf(r).tenantOf(r), true },
		Cost:     func(r *http.Request) int64 { return visitOf(r).cost },
		Skip:     func(r *http.Request) bool { return slices.Contains(visitOf(r).Skip, r.URL.Path) },
		Rate:     patient{p.shared.rates, func() time.Duration { return p.current.Load().Rate.Wait }},
		RateWait: math.MaxInt64, // patient knows how long
	})
	if err != nil {
		p.Close()
		return nil, err
	}
	p.handler = p.traffic.Handler(p.forward())
	opts := firqprom.Options[string]{Scheduler: "proxy"}
	p.registry.MustRegister(p.shared.source, firqprom.Must(firqprom.NewHTTP(p.traffic, opts)), p.reloads, p.errors.count,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p, nil
}

// visit is what a request knows of the configuration: the same from its beginning to its end.
type visit struct {
	*settings
	cost   int64       // as it was estimated
	header http.Header // of the response, as the middleware has it; nil: it says nothing
}

type visitKey struct{}

func visitOf(r *http.Request) *visit { return r.Context().Value(visitKey{}).(*visit) }

// ServeHTTP forwards a request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 { // a client that begins with HTTP/2 sends what looks like a request
		w.Header().Set("Connection", "close")
		http.Error(w, "HTTP/1.1 only", http.StatusHTTPVersionNotSupported)
		return
	}
	s := p.current.Load()
	v := &visit{settings: s, cost: s.costOf(r)}
	p.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
}

// costOf returns what a request costs, as far as that is known beforehand. A header that makes
// no sense does not count.
func (s *settings) costOf(r *http.Request) int64 {
	if s.Cost.Header != "" {
		if n, err := strconv.ParseInt(r.Header.Get(s.Cost.Header), 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return max(1, s.Cost.Default)
}

// tenantOf returns the tenant of a request.
func (v *visit) tenantOf(r *http.Request) string {
	name, ok := v.tenant(r)
	if !ok {
		name = v.Anonymous
	}
	if strings.ContainsAny(name, "\r\n") { // a path may have them, a fleet refuses them
		name = strings.NewReplacer("\r", " ", "\n", " ").Replace(name)
	}
	return name
}

// tenantOf returns the function that finds the tenant.
func tenantOf(cfg *config.Config) firqhttp.TenantFunc {
	var fs []firqhttp.TenantFunc
	for _, s := range cfg.Tenant {
		switch {
		case s.APIKey != nil:
			fs = append(fs, firqhttp.Known(firqhttp.APIKey(), func(name string) bool { return s.APIKey.Known[name] }))
		case s.Header != "":
			fs = append(fs, firqhttp.Header(s.Header))
		case s.JWTClaim != "":
			fs = append(fs, firqhttp.UnverifiedJWTClaim(s.JWTClaim))
		case s.PathSegments > 0:
			fs = append(fs, firqhttp.PathSegments(s.PathSegments))
		default:
			fs = append(fs, firqhttp.Remote{Trusted: s.Remote.Prefixes}.Tenant)
		}
	}
	if len(fs) == 0 {
		return firqhttp.Remote{}.Tenant
	}
	return firqhttp.FirstOf(fs...)
}

// patient is a Taker whose calls wait as long as the configuration says now.
type patient struct {
	rate.Taker[string]
	wait func() time.Duration
}

func (t patient) Take(ctx context.Context, tenant string, cost int64, maxWait time.Duration) (rate.Result, error) {
	return t.Taker.Take(ctx, tenant, cost, min(maxWait, t.wait()))
}

// Reload changes the configuration, or nothing.
func (p *Proxy) Reload(ctx context.Context, cfg *config.Config) error {
	err := p.reload(ctx, cfg)
	if err != nil {
		p.ReloadFailed()
		return err
	}
	p.reloads.WithLabelValues("ok").Inc()
	return nil
}

// ReloadFailed counts a configuration that could not be read.
func (p *Proxy) ReloadFailed() { p.reloads.WithLabelValues("failed").Inc() }

func (p *Proxy) reload(ctx context.Context, cfg *config.Config) error {
	old := p.current.Load()
	if ms := config.Fixed(old.Config, cfg); len(ms) > 0 {
		return ms
	}
	if p.shared.unlimited && cfg.LimitsInFlight() {
		return config.Mistakes{{Field: "limits.in_flight_per_tenant", Text: "the first limit of a tenant's slots in a fleet needs a restart"}}
	}
	if cfg.Limits.Slots != old.Limits.Slots {
		if err := p.shared.setLimit(ctx, cfg.Limits.Slots); err != nil {
			return fmt.Errorf("limits.slots: %w", err)
		}
	}
	p.current.Store(&settings{cfg, tenantOf(cfg)})
	for _, c := range []*config.Config{old.Config, cfg} {
		for tenant := range c.Tenants {
			p.shared.reset(tenant)
		}
	}
	return nil
}

// Drain makes Admin say that this process is not ready.
func (p *Proxy) Drain() { p.draining.Store(true) }

// Shutdown waits until all requests have ended, upgraded connections included, and gives the
// slots back.
func (p *Proxy) Shutdown(ctx context.Context) error {
	err := p.shared.shutdown(ctx)
	if errors.Is(err, firq.ErrClosed) {
		return nil
	}
	return err
}

// Close gives back the slots that are free.
func (p *Proxy) Close() { p.shared.close() }

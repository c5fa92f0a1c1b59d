package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
)

// metrics counts calls and serves the counts in the text format that Prometheus reads.
// It has no rows per tenant, because the number of tenants is not bounded. It is written
// by hand, because the service also runs without firq and has no dependencies; a program
// with a gate and client_golang would use contrib/firqprom instead: NewGate and NewHTTP.
type metrics struct {
	limit             limiter
	admitted, refused atomic.Uint64
	gone              atomic.Uint64 // the client went away while its call waited
	waits             *hist.Histogram
}

func newMetrics(limit limiter) *metrics { return &metrics{limit: limit, waits: hist.New()} }

// waited counts a call that waited for d with the outcome err.
func (m *metrics) waited(d time.Duration, err error) {
	switch {
	case err == nil:
		m.admitted.Add(1)
		m.waits.Record(d)
	case errors.Is(err, firq.ErrRejected):
		m.refused.Add(1)
	default:
		m.gone.Add(1)
	}
}

func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	row := func(format string, values ...any) { _, _ = fmt.Fprintf(w, format+"\n", values...) } // the client may have gone
	row("# HELP service_calls_total Calls by what became of them at the limit.")
	row("# TYPE service_calls_total counter")
	row(`service_calls_total{outcome="admitted"} %d`, m.admitted.Load())
	row(`service_calls_total{outcome="refused"} %d`, m.refused.Load())
	row(`service_calls_total{outcome="gone"} %d`, m.gone.Load())
	row("# HELP service_calls Calls now.")
	row("# TYPE service_calls gauge")
	row(`service_calls{state="running"} %d`, m.limit.inUse())
	row(`service_calls{state="waiting"} %d`, m.limit.waiting())
	s := m.waits.Snapshot()
	row("# HELP service_wait_seconds How long admitted calls waited.")
	row("# TYPE service_wait_seconds summary")
	for _, q := range []float64{0.5, 0.95, 0.99, 0.999} {
		row(`service_wait_seconds{quantile="%g"} %g`, q, s.Quantile(q).Seconds())
	}
	row("service_wait_seconds_sum %g", s.Sum().Seconds())
	row("service_wait_seconds_count %d", s.Count())
}

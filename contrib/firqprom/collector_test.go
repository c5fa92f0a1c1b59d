package firqprom_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/metrics/metricstest"
)

// Both cores are sources, as is every firq.Scheduler.
var (
	_ firqprom.Source[string] = firq.Scheduler[string, string](nil)
	_ firqprom.Source[string] = (*lockfree.Scheduler[string, string])(nil)
	_ firqprom.Source[string] = (*baseline.Scheduler[string, string])(nil)
	_ prometheus.Collector    = (*firqprom.Collector[string])(nil)
)

// exposition is metricstest.Queue() with Scheduler "api", without HELP.
const exposition = `
# TYPE firq_cancelled_total counter
firq_cancelled_total{scheduler="api"} 104
# TYPE firq_closed_total counter
firq_closed_total{scheduler="api"} 105
# TYPE firq_dequeued_total counter
firq_dequeued_total{scheduler="api"} 102
# TYPE firq_dropped_policy_total counter
firq_dropped_policy_total{scheduler="api"} 110
# TYPE firq_dropped_total counter
firq_dropped_total{scheduler="api"} 106
# TYPE firq_enqueued_total counter
firq_enqueued_total{scheduler="api"} 101
# TYPE firq_expired_total counter
firq_expired_total{scheduler="api"} 103
# TYPE firq_in_flight gauge
firq_in_flight{scheduler="api"} 113
# TYPE firq_lag_rounds gauge
firq_lag_rounds{scheduler="api"} 12.5
# TYPE firq_max_global_config gauge
firq_max_global_config{scheduler="api"} 112
# TYPE firq_overload_total counter
firq_overload_total{scheduler="api"} 123
# TYPE firq_queue_len_estimate gauge
firq_queue_len_estimate{scheduler="api"} 111
# TYPE firq_queue_saturation_ratio gauge
firq_queue_saturation_ratio{scheduler="api"} 0.115
# TYPE firq_queue_time_ns histogram
firq_queue_time_ns_bucket{scheduler="api",le="1000"} 100
firq_queue_time_ns_bucket{scheduler="api",le="2000"} 100
firq_queue_time_ns_bucket{scheduler="api",le="3.6e+12"} 122
firq_queue_time_ns_bucket{scheduler="api",le="+Inf"} 122
firq_queue_time_ns_sum{scheduler="api"} 1.16e+11
firq_queue_time_ns_count{scheduler="api"} 122
# TYPE firq_queue_time_p95_ns gauge
firq_queue_time_p95_ns{scheduler="api"} 1.18e+08
# TYPE firq_queue_time_p99_ns gauge
firq_queue_time_p99_ns{scheduler="api"} 1.19e+08
# TYPE firq_queue_time_samples counter
firq_queue_time_samples{scheduler="api"} 122
# TYPE firq_queue_time_sum_ns counter
firq_queue_time_sum_ns{scheduler="api"} 1.16e+11
# TYPE firq_rejected_global_total counter
firq_rejected_global_total{scheduler="api"} 107
# TYPE firq_rejected_tenant_total counter
firq_rejected_tenant_total{scheduler="api"} 108
# TYPE firq_tenant_dequeued_total counter
firq_tenant_dequeued_total{scheduler="api",tenant="a"} 60
firq_tenant_dequeued_total{scheduler="api",tenant="b"} 30
firq_tenant_dequeued_total{scheduler="api",tenant="c"} 12
# TYPE firq_tenant_lag_rounds gauge
firq_tenant_lag_rounds{scheduler="api",tenant="a"} 0
firq_tenant_lag_rounds{scheduler="api",tenant="b"} 12.5
firq_tenant_lag_rounds{scheduler="api",tenant="c"} 0
# TYPE firq_tenants gauge
firq_tenants{scheduler="api"} 114
# TYPE firq_timeout_rejected_total counter
firq_timeout_rejected_total{scheduler="api"} 109
`

func collector[K comparable](t *testing.T, src firqprom.Source[K], opts firqprom.Options[K]) *firqprom.Collector[K] {
	t.Helper()
	c, err := firqprom.New(src, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pedantic returns a registry that compares what is collected with what is
// described.
func pedantic(t *testing.T, cs ...prometheus.Collector) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	for _, c := range cs {
		if err := reg.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	return reg
}

// scrape returns what g serves to a client that accepts such a format; empty: text.
func scrape(t *testing.T, g prometheus.Gatherer, accept string) string {
	t.Helper()
	h := promhttp.HandlerFor(g, promhttp.HandlerOpts{EnableOpenMetrics: true})
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestDescribeIsComplete(t *testing.T) {
	for kind, want := range map[string]int{"scheduler": 24, "gate": 31, "http": 6, "grpc": 6, "pool": 11, "watchdog": 16} {
		for _, native := range []bool{false, true} {
			m := everyKind(t, firqprom.Options[string]{NativeHistogram: native})[kind]
			descs := make(chan *prometheus.Desc, 100)
			m.c.Describe(descs)
			if m.calls.Load() != 0 {
				t.Errorf("%s: Describe asked the source", kind)
			}
			metrics := make(chan prometheus.Metric, 100)
			m.c.Collect(metrics)
			close(descs)
			close(metrics)
			described, collected := map[string]bool{}, map[string]bool{}
			for d := range descs {
				described[d.String()] = true
			}
			for m := range metrics {
				collected[m.Desc().String()] = true
			}
			if len(described) != want || len(collected) != want {
				t.Errorf("%s: %d metrics described and %d collected, want %d", kind, len(described), len(collected), want)
			}
			for d := range collected {
				if !described[d] {
					t.Errorf("%s: collected and not described: %s", kind, d)
				}
			}
		}
	}
}

// Schedulers of any types share a registry if each has its own name.
func TestSeveralSchedulers(t *testing.T) {
	a := collector(t, metricstest.Of(firq.Stats[string]{Enqueued: 1}), firqprom.Options[string]{Scheduler: "a"})
	b := collector(t, metricstest.Of(firq.Stats[int]{Enqueued: 2}), firqprom.Options[int]{Scheduler: "b"})
	reg := pedantic(t, a, b)
	err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP firq_enqueued_total Tasks accepted.
# TYPE firq_enqueued_total counter
firq_enqueued_total{scheduler="a"} 1
firq_enqueued_total{scheduler="b"} 2
`), "firq_enqueued_total")
	if err != nil {
		t.Error(err)
	}
	again := collector(t, metricstest.Of(firq.Stats[string]{}), firqprom.Options[string]{Scheduler: "a"})
	if err := reg.Register(again); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		t.Errorf("a second scheduler of the same name: %v", err)
	}
	wrapped := prometheus.WrapRegistererWith(prometheus.Labels{"zone": "x"}, prometheus.NewPedanticRegistry())
	if err := wrapped.Register(again); err != nil {
		t.Errorf("with another label: %v", err)
	}
}

// Both exposition formats keep the names, although two counters lack the suffix
// that OpenMetrics wants.
func TestOpenMetricsKeepsNames(t *testing.T) {
	reg := pedantic(t, collector(t, metricstest.Of(metricstest.Queue()), firqprom.Options[string]{Scheduler: "api"}))
	text := scrape(t, reg, "application/openmetrics-text; version=1.0.0")
	if !strings.HasSuffix(text, "# EOF\n") {
		t.Fatalf("not OpenMetrics:\n%s", text)
	}
	for line := range strings.Lines(exposition) {
		if strings.HasPrefix(line, "firq_") {
			name, _, _ := strings.Cut(line, " ")
			if !strings.Contains(text, "\n"+strings.Split(name, "le=")[0]) {
				t.Errorf("%s is missing in\n%s", name, text)
			}
		}
	}
}

package main

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/embedded"
)

// A queue fits into the collector and the registration for it, neither of which knows firqredis; and a trace
// travels with a task. It is here because no other module has all three.
func TestMetricsOfAQueue(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	q, err := embedded.New(ctx, firqredis.Config[[]byte]{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	headers := firqotel.Inject(trace.ContextWithSpanContext(ctx, span), nil)
	for range 3 {
		if _, err := q.Enqueue(ctx, firqredis.Task[[]byte]{Headers: headers}); err != nil {
			t.Fatal(err)
		}
	}
	it, err := q.Dequeue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := trace.SpanContextFromContext(firqotel.Extract(ctx, it.Headers)); got.TraceID() != span.TraceID() || got.SpanID() != span.SpanID() {
		t.Errorf("trace %v, want %v", got, span)
	}

	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(firqprom.Must(firqprom.NewQueue(q, firqprom.Options[string]{Scheduler: "mail"})))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		if l := m.GetLabel()[0]; l.GetName() != "engine" || l.GetValue() != "redis" {
			t.Errorf("%s has the label %s", f.GetName(), l)
		}
		if got[f.GetName()] = m.GetGauge().GetValue(); f.GetType() == dto.MetricType_COUNTER {
			got[f.GetName()] = m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"firq_queue_up": 1, "firq_queue_pushed_total": 3, "firq_queue_delivered_total": 1, "firq_queue_queued": 2, "firq_queue_in_flight": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}

	reader := sdkmetric.NewManualReader()
	r, err := firqotel.RegisterQueue(q, firqotel.Options[string]{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Unregister() }()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "firq.queue.pushed" {
			if v := sum.DataPoints[0].Value; v != 3 {
				t.Errorf("%s is %v", m.Name, v)
			}
			return
		}
	}
	t.Error("firq.queue.pushed is missing")
}

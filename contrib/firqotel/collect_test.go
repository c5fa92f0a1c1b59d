package firqotel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/lockfree"
)

// Both cores are sources, as is every firq.Scheduler.
var (
	_ firqotel.Source[string] = firq.Scheduler[string, string](nil)
	_ firqotel.Source[string] = (*lockfree.Scheduler[string, string])(nil)
	_ firqotel.Source[string] = (*baseline.Scheduler[string, string])(nil)
)

// pipeline is a provider with a reader that collects when asked to.
type pipeline struct {
	*metric.MeterProvider
	reader   *metric.ManualReader
	producer *firqotel.Producer
}

func newPipeline(t *testing.T, opts ...metric.ManualReaderOption) *pipeline {
	t.Helper()
	p := &pipeline{producer: firqotel.NewProducer()}
	p.reader = metric.NewManualReader(append(opts, metric.WithProducer(p.producer))...)
	p.MeterProvider = metric.NewMeterProvider(metric.WithReader(p.reader))
	t.Cleanup(func() { _ = p.Shutdown(t.Context()) })
	return p
}

func register[K comparable](t *testing.T, src firqotel.Source[K], opts firqotel.Options[K]) *firqotel.Registration {
	t.Helper()
	r, err := firqotel.Register(src, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// collect returns a line for each data point, without times, in order: name,
// unit, kind, attributes and value.
func (p *pipeline) collect(t *testing.T) []string {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := p.reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, scope := range rm.ScopeMetrics {
		if scope.Scope.Name != firqotel.ScopeName {
			t.Errorf("scope %q", scope.Scope.Name)
		}
		for _, m := range scope.Metrics {
			if m.Description == "" {
				t.Errorf("%s has no description", m.Name)
			}
			for _, point := range points(t, m.Data) {
				lines = append(lines, fmt.Sprintf("%s %s %s", m.Name, m.Unit, point))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func points(t *testing.T, data metricdata.Aggregation) []string {
	t.Helper()
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		return numbers(fmt.Sprintf("sum monotonic=%v", data.IsMonotonic), data.DataPoints)
	case metricdata.Sum[float64]:
		return numbers(fmt.Sprintf("sum monotonic=%v", data.IsMonotonic), data.DataPoints)
	case metricdata.Gauge[float64]:
		return numbers("gauge", data.DataPoints)
	case metricdata.Histogram[float64]:
		var lines []string
		for _, p := range data.DataPoints {
			var top any = "none"
			if v, known := p.Max.Value(); known {
				top = v
			}
			lines = append(lines, fmt.Sprintf("histogram %v [%s] count=%d sum=%v max=%v bounds=%v counts=%v",
				data.Temporality, encode(p.Attributes), p.Count, p.Sum, top, p.Bounds, p.BucketCounts))
			if p.StartTime.IsZero() || p.Time.Before(p.StartTime) {
				t.Errorf("from %v to %v", p.StartTime, p.Time)
			}
		}
		return lines
	}
	t.Fatalf("unknown kind of data: %T", data)
	return nil
}

func numbers[N int64 | float64](kind string, points []metricdata.DataPoint[N]) []string {
	var lines []string
	for _, p := range points {
		lines = append(lines, fmt.Sprintf("%s [%s] %v", kind, encode(p.Attributes), p.Value))
	}
	return lines
}

// encode is not attribute.DefaultEncoder, which repairs what is not UTF-8.
func encode(set attribute.Set) string {
	var pairs []string
	for _, kv := range set.ToSlice() {
		pairs = append(pairs, string(kv.Key)+"="+kv.Value.AsString())
	}
	return strings.Join(pairs, ",")
}

// only returns the lines of one metric.
func only(lines []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return !strings.HasPrefix(s, name+" ") })
}

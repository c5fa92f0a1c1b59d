package firqotel_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"pgregory.net/rapid"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/metrics/metricstest"
)

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHistogram: of any samples the histogram has the buckets, count and sum.
func TestHistogram(t *testing.T) {
	p := newPipeline(t)
	src := metricstest.Of(firq.Stats[string]{})
	register(t, src, firqotel.Options[string]{MeterProvider: p, Producer: p.producer})
	rapid.Check(t, func(t *rapid.T) {
		local, snap := hist.NewLocal(), hist.NewSnapshot()
		for _, v := range rapid.SliceOfN(rapid.Int64Range(0, int64(2*time.Hour)), 0, 50).Draw(t, "waits") {
			local.Record(time.Duration(v >> rapid.IntRange(0, 40).Draw(t, "shift")))
		}
		local.AddTo(snap)
		q := snap.QueueTime()
		src.Says = firq.Stats[string]{QueueTime: q}
		scopes, err := p.producer.Produce(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		point := scopes[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints[0]
		if point.Count != q.Samples || point.Sum != q.Sum.Seconds() {
			t.Fatalf("count %d and sum %v of %d samples of sum %v", point.Count, point.Sum, q.Samples, q.Sum)
		}
		if top, ok := point.Max.Value(); ok != (q.Samples > 0) || top != q.Max.Seconds() {
			t.Fatalf("maximum %v, %v, want %v", top, ok, q.Max)
		}
		if len(point.Bounds) != len(q.Buckets) || len(point.BucketCounts) != len(q.Buckets)+1 || point.BucketCounts[len(q.Buckets)] != 0 {
			t.Fatalf("bounds %v, counts %v", point.Bounds, point.BucketCounts)
		}
		for i, b := range q.Buckets {
			if point.BucketCounts[i] != b.Count || point.Bounds[i] != b.UpperBound.Seconds() {
				t.Fatalf("%d up to %v, want %d up to %v", point.BucketCounts[i], point.Bounds[i], b.Count, b.UpperBound)
			}
		}
	})
}

// A cancelled collection asks no source.
func TestProduceCancelled(t *testing.T) {
	p := newPipeline(t)
	src := metricstest.Of(metricstest.Queue())
	register(t, src, firqotel.Options[string]{MeterProvider: p, Producer: p.producer})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.producer.Produce(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if n := src.Calls.Load(); n != 0 {
		t.Errorf("Stats was called %d times", n)
	}
}

// One Producer serves the readers it is given to, the zero value too.
func TestZeroProducer(t *testing.T) {
	var producer firqotel.Producer
	if scopes, err := producer.Produce(t.Context()); len(scopes) != 0 || err != nil {
		t.Errorf("without sources: %v, %v", scopes, err)
	}
	p := newPipeline(t)
	register(t, metricstest.Of(metricstest.Queue()), firqotel.Options[string]{MeterProvider: p, Producer: &producer})
	for range 2 {
		if scopes, err := producer.Produce(t.Context()); len(scopes) != 1 || err != nil {
			t.Errorf("with a source: %v, %v", scopes, err)
		}
	}
}

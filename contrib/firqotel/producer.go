package firqotel

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/firq-go/firq"
)

// Producer yields the histograms of every source that was registered with it. It goes to a reader, with metric.WithProducer; given to
// several readers it serves all of them. The zero value is ready. Safe for
// concurrent use.
type Producer struct {
	mu  sync.Mutex
	all []*times // protected by mu; a change makes a new slice
}

var _ metric.Producer = (*Producer)(nil)

// times are the histograms of one source. Immutable after add.
type times struct {
	start time.Time
	read  func(send func(name, text string, q firq.QueueTime, attrs attribute.Set))
}

// NewProducer returns a Producer without sources.
func NewProducer() *Producer { return new(Producer) }

func (p *Producer) add(t *times) *times {
	t.start = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(slices.Clone(p.all), t)
	return t
}

func (p *Producer) remove(t *times) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(slices.Clone(p.all), func(x *times) bool { return x == t })
}

// Produce implements metric.Producer: it calls Stats of each source once. The
// error is that of the context; without sources there is nothing.
func (p *Producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	all := p.all
	p.mu.Unlock()
	if len(all) == 0 {
		return nil, ctx.Err()
	}
	var metrics []metricdata.Metrics // one for each name, in the order of registration
	points := map[string][]metricdata.HistogramDataPoint[float64]{}
	for _, t := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.read(func(name, text string, q firq.QueueTime, attrs attribute.Set) {
			if points[name] == nil {
				metrics = append(metrics, metricdata.Metrics{Name: name, Description: text, Unit: "s"})
			}
			points[name] = append(points[name], point(&q, attrs, t.start))
		})
	}
	if len(metrics) == 0 { // nothing was recorded
		return nil, nil
	}
	for i := range metrics {
		m := &metrics[i]
		m.Data = metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: points[m.Name]}
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: ScopeName}, Metrics: metrics}}, nil
}

// point converts one histogram. Its buckets hold all samples: if the last one has a
// bound, nothing is above it.
func point(q *firq.QueueTime, attrs attribute.Set, start time.Time) metricdata.HistogramDataPoint[float64] {
	p := metricdata.HistogramDataPoint[float64]{
		Attributes:   attrs,
		StartTime:    start,
		Time:         time.Now(),
		Sum:          q.Sum.Seconds(),
		Bounds:       make([]float64, 0, len(q.Buckets)),
		BucketCounts: make([]uint64, 0, len(q.Buckets)+1),
	}
	for _, b := range q.Buckets {
		p.Count += b.Count
		p.BucketCounts = append(p.BucketCounts, b.Count)
		if b.UpperBound < math.MaxInt64 { // which is no bound
			p.Bounds = append(p.Bounds, b.UpperBound.Seconds())
		}
	}
	if len(p.BucketCounts) == len(p.Bounds) {
		p.BucketCounts = append(p.BucketCounts, 0)
	}
	if q.Samples > 0 { // else the longest is not known
		p.Max = metricdata.NewExtrema(q.Max.Seconds())
	}
	return p
}

package firqotel

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/firq-go/firq"
)

// Producer yields the metric firq.queue.time, a histogram, of every source that
// was registered with it. It goes to a reader, with metric.WithProducer; given to
// several readers it serves all of them. The zero value is ready. Safe for
// concurrent use.
type Producer struct {
	mu  sync.Mutex
	all []*times // protected by mu; a change makes a new slice
}

var _ metric.Producer = (*Producer)(nil)

// times are the queue times of one source. Immutable.
type times struct {
	attrs attribute.Set
	start time.Time
	read  func() firq.QueueTime
}

// NewProducer returns a Producer without sources.
func NewProducer() *Producer { return new(Producer) }

func (p *Producer) add(attrs attribute.Set, read func() firq.QueueTime) *times {
	t := &times{attrs, time.Now(), read}
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
	data := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, t := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data.DataPoints = append(data.DataPoints, t.point())
	}
	return []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: ScopeName},
		Metrics: []metricdata.Metrics{{
			Name:        "firq.queue.time",
			Description: "How long delivered tasks had waited.",
			Unit:        "s",
			Data:        data,
		}},
	}}, nil
}

// point converts one QueueTime. Its buckets have as many bounds as counts and
// hold all samples: what is above the last bound is never any.
func (t *times) point() metricdata.HistogramDataPoint[float64] {
	q := t.read()
	p := metricdata.HistogramDataPoint[float64]{
		Attributes:   t.attrs,
		StartTime:    t.start,
		Time:         time.Now(),
		Sum:          q.Sum.Seconds(),
		Bounds:       make([]float64, 0, len(q.Buckets)),
		BucketCounts: make([]uint64, 0, len(q.Buckets)+1),
	}
	for _, b := range q.Buckets {
		p.Count += b.Count
		p.Bounds = append(p.Bounds, b.UpperBound.Seconds())
		p.BucketCounts = append(p.BucketCounts, b.Count)
	}
	p.BucketCounts = append(p.BucketCounts, 0)
	if p.Count > 0 {
		p.Max = metricdata.NewExtrema(q.Max.Seconds())
	}
	return p
}

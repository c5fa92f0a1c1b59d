package firqotel_test

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/lockfree"
)

// A program has a periodic reader with an exporter; this one collects by hand.
func Example() {
	times := firqotel.NewProducer()
	reader := metric.NewManualReader(metric.WithProducer(times))
	provider := metric.NewMeterProvider(metric.WithReader(reader))

	s, err := lockfree.New(firq.Config[string, string]{MaxPerTenant: 2})
	if err != nil {
		panic(err)
	}
	r, err := firqotel.Register(s, firqotel.Options[string]{MeterProvider: provider, Producer: times, Scheduler: "api"})
	if err != nil {
		panic(err)
	}
	for range 3 { // one more than a tenant may have
		_ = s.Enqueue("alice", firq.Task[string]{})
	}
	s.TryDequeue()

	ctx := context.Background()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		panic(err)
	}
	var lines []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if p.Value != 0 && data.IsMonotonic {
						lines = append(lines, fmt.Sprint(m.Name, " ", p.Attributes.ToSlice(), " ", p.Value))
					}
				}
			case metricdata.Histogram[float64]:
				lines = append(lines, fmt.Sprint(m.Name, " of ", data.DataPoints[0].Count, " task in ", m.Unit))
			}
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	if err := r.Unregister(); err != nil {
		panic(err)
	}
	// Output:
	// firq.dequeued [{firq.scheduler api}] 1
	// firq.dropped [{firq.reason tenant} {firq.scheduler api}] 1
	// firq.enqueued [{firq.scheduler api}] 2
	// firq.queue.time of 1 task in s
	// firq.queue.time_samples [{firq.scheduler api}] 1
	// firq.tenant.dequeued [{firq.scheduler api} {firq.tenant alice}] 1
}

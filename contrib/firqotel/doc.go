// Package firqotel exports the [firq.Stats] of schedulers as OpenTelemetry
// metrics.
//
// # Usage
//
// The histogram of queue times needs a [Producer], which is given to the reader;
// all else are observable instruments of a meter:
//
//	times := firqotel.NewProducer()
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(times))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//	r, err := firqotel.Register(s, firqotel.Options[string]{
//		MeterProvider: provider, Producer: times, Scheduler: "api",
//	})
//	if err != nil {
//		return err
//	}
//	defer r.Unregister()
//
// Anything that has Stats() firq.Stats[K] can be registered: see [Source].
// Several schedulers share meter and Producer, each with an Options.Scheduler of
// its own.
//
// # Metrics
//
// Times are in seconds. Every metric has the attribute firq.scheduler, if
// Options.Scheduler is set. The last column is the name that package firqprom
// has for the same number, there in nanoseconds where it is a time.
//
//	name                     instrument, unit          firq.Stats         Prometheus
//	firq.enqueued            Counter {task}            Enqueued           firq_enqueued_total
//	firq.dequeued            Counter {task}            Dequeued           firq_dequeued_total
//	firq.expired             Counter {task}            Expired            firq_expired_total
//	firq.cancelled           Counter {task}            Cancelled          firq_cancelled_total
//	firq.closed              Counter {task}            Closed             firq_closed_total
//	firq.dropped             Counter {task}            Dropped            firq_dropped_total (sum over firq.reason)
//	  firq.reason=global                               RejectedGlobal     firq_rejected_global_total
//	  firq.reason=tenant                               RejectedTenant     firq_rejected_tenant_total
//	  firq.reason=timeout                              TimeoutRejected    firq_timeout_rejected_total
//	  firq.reason=policy                               DroppedPolicy      firq_dropped_policy_total
//	firq.queue.length        UpDownCounter {task}      QueueLen           firq_queue_len_estimate
//	firq.queue.limit         UpDownCounter {task}      MaxGlobal          firq_max_global_config
//	firq.queue.saturation    Gauge 1                   QueueSaturation    firq_queue_saturation_ratio
//	firq.in_flight           UpDownCounter {task}      InFlight           firq_in_flight
//	firq.tenants             UpDownCounter {tenant}    Tenants            firq_tenants
//	firq.queue.time          Histogram s               QueueTime.Buckets  firq_queue_time_ns
//	firq.queue.time_sum      Counter s                 QueueTime.Sum      firq_queue_time_sum_ns
//	firq.queue.time_samples  Counter {task}            QueueTime.Samples  firq_queue_time_samples
//	firq.queue.time_p95      Gauge s                   QueueTime.P95      firq_queue_time_p95_ns
//	firq.queue.time_p99      Gauge s                   QueueTime.P99      firq_queue_time_p99_ns
//	firq.tenant.dequeued     Counter {task}            TopTenants         firq_tenant_dequeued_total
//
// The two quantiles are exact to 0.1 % and over all tasks since the scheduler
// was built; for what happens now use the histogram.
//
// An EnqueueBatch that is cut short counts as one rejection, however many tasks
// it leaves.
//
// # The histogram
//
// OpenTelemetry has no observable histogram, and to record each wait in a
// synchronous one would put the SDK into the path of every task. So the Producer
// hands the SDK a finished histogram with the bounds of QueueTime.Buckets (1, 2,
// 5, 10 us and so on up to 1 h) and their exact counts, and as its maximum that
// of all tasks since the scheduler was built. It does not go through the SDK's
// aggregation: views do not apply to it, and its temporality is always
// cumulative, even on a reader that asks for delta.
//
// Its start time is when Register was called, as the SDK has it for the counters.
// What the scheduler had delivered before then is counted all the same.
//
// # Series of tenants
//
// firq.tenant.dequeued, with the attribute firq.tenant, exists only for the
// tenants of Stats.TopTenants: an approximate ranking, which changes. With
// cumulative temporality the series of a tenant that drops out ends, and goes on
// from its whole count when the tenant comes back. With delta temporality the
// SDK reports the whole count, not the difference, of a tenant that comes in or
// comes back: the sum of the deltas is then too high. Set TopTenants below 0
// there, or keep to cumulative temporality.
//
// # Concurrency properties
//
// Everything is safe for concurrent use. A collection calls Stats once for the
// instruments and, with a Producer, once more for the histogram; the two may
// differ by what was delivered in between. Stats waits for each shard of the
// scheduler in turn.
package firqotel

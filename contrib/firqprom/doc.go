// Package firqprom exports the [firq.Stats] of schedulers to Prometheus.
//
// # Usage
//
//	c, err := firqprom.New(s, firqprom.Options[string]{Scheduler: "api"})
//	if err != nil {
//		return err
//	}
//	prometheus.MustRegister(c)
//
// Anything that has Stats() firq.Stats[K] can be collected: see [Source].
// Several schedulers go into one registry with a different Options.Scheduler
// each. More labels come from prometheus.WrapRegistererWith.
//
// # Metrics
//
// Times are in nanoseconds, as the names say. All counters are those of
// [firq.Stats], which says what each of them counts. An EnqueueBatch that is cut
// short counts as one rejection, however many tasks it leaves.
//
//	name                           type       field of firq.Stats
//	firq_enqueued_total            counter    Enqueued
//	firq_dequeued_total            counter    Dequeued
//	firq_expired_total             counter    Expired
//	firq_cancelled_total           counter    Cancelled
//	firq_closed_total              counter    Closed
//	firq_dropped_total             counter    Dropped (the sum of the next four)
//	firq_rejected_global_total     counter    RejectedGlobal
//	firq_rejected_tenant_total     counter    RejectedTenant
//	firq_timeout_rejected_total    counter    TimeoutRejected
//	firq_dropped_policy_total      counter    DroppedPolicy
//	firq_queue_len_estimate        gauge      QueueLen
//	firq_max_global_config         gauge      MaxGlobal
//	firq_queue_saturation_ratio    gauge      QueueSaturation
//	firq_in_flight                 gauge      InFlight
//	firq_tenants                   gauge      Tenants
//	firq_queue_time_ns             histogram  QueueTime.Buckets
//	firq_queue_time_sum_ns         counter    QueueTime.Sum
//	firq_queue_time_samples        counter    QueueTime.Samples
//	firq_queue_time_p95_ns         gauge      QueueTime.P95
//	firq_queue_time_p99_ns         gauge      QueueTime.P99
//	firq_tenant_dequeued_total     counter    TopTenants, by label tenant
//
// The two quantiles are exact to 0.1 % and over all tasks since the scheduler
// was built: after a day they hardly move any more. For an alert or a graph use
// the histogram, over a window:
//
//	histogram_quantile(0.99, sum by (le) (rate(firq_queue_time_ns_bucket[5m])))
//
// # Series of tenants
//
// firq_tenant_dequeued_total exists only for the tenants of Stats.TopTenants, at
// most Config.TopTenants of them (16 by default), and fewer with
// Options.TopTenants. That ranking is approximate, and it changes:
//
//   - A tenant that drops out of it loses its series. Prometheus marks the series
//     stale, and rate() over a window that still holds two samples of it goes on
//     until they leave the window.
//   - A tenant that comes in appears with its whole count so far. rate() and
//     increase() need two samples: what it was served before the first of them is
//     not seen. They understate newcomers.
//   - A tenant that comes back while the window still holds its last sample goes
//     on as if it had not been away, what it was served meanwhile included.
//   - A tenant that was idle for Config.TenantIdle is forgotten, and its count can
//     begin at 0 again. rate() takes that for the reset of a counter, which it is.
//   - If TenantLabel gives several tenants one label, their series is the sum of
//     those that are in the ranking at the moment, and falls when one leaves it:
//     rate() takes the fall for a reset and then overstates, by up to the sum that
//     is left. Use such labels for graphs, not for alerts or bills.
//
// The sum over these series is not the total; that is firq_dequeued_total.
//
// # Concurrency properties
//
// A [Collector] is immutable. Collect may run in any number of goroutines at a
// time; each run calls Stats once, so that what one scrape says fits together as
// far as one Stats does, and Stats waits for each shard of the scheduler in turn.
package firqprom

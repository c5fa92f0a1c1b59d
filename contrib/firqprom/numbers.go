package firqprom

import (
	"fmt"
	"strings"

	"github.com/firq-go/firq"
)

// queueTable is about a scheduler, or the queue of a gate.
func queueTable[K comparable](opts Options[K]) table[firq.Stats[K]] {
	type stats = firq.Stats[K]
	label := opts.TenantLabel
	if label == nil {
		label = func(tenant K) string { return fmt.Sprint(tenant) }
	}
	return table[stats]{
		{name: "firq_enqueued_total", kind: counter, help: "Tasks accepted.",
			value: func(s *stats) float64 { return float64(s.Enqueued) }},
		{name: "firq_dequeued_total", kind: counter, help: "Tasks delivered to a consumer.",
			value: func(s *stats) float64 { return float64(s.Dequeued) }},
		{name: "firq_expired_total", kind: counter, help: "Tasks dropped because their deadline had passed.",
			value: func(s *stats) float64 { return float64(s.Expired) }},
		{name: "firq_cancelled_total", kind: counter, help: "Tasks taken out through their ticket.",
			value: func(s *stats) float64 { return float64(s.Cancelled) }},
		{name: "firq_closed_total", kind: counter, help: "Tasks that were queued when the scheduler was closed.",
			value: func(s *stats) float64 { return float64(s.Closed) }},
		{name: "firq_overload_total", kind: counter, help: "Tasks dropped because their tenant's had waited for too long.",
			value: func(s *stats) float64 { return float64(s.Overload) }},
		{name: "firq_dropped_total", kind: counter, help: "Tasks rejected for any reason, or evicted.",
			value: func(s *stats) float64 { return float64(s.Dropped) }},
		{name: "firq_rejected_global_total", kind: counter, help: "Tasks rejected because the scheduler was full.",
			value: func(s *stats) float64 { return float64(s.RejectedGlobal) }},
		{name: "firq_rejected_tenant_total", kind: counter, help: "Tasks rejected at a limit of their tenant, or of the number of tenants.",
			value: func(s *stats) float64 { return float64(s.RejectedTenant) }},
		{name: "firq_timeout_rejected_total", kind: counter, help: "Tasks rejected after waiting for capacity in vain.",
			value: func(s *stats) float64 { return float64(s.TimeoutRejected) }},
		{name: "firq_dropped_policy_total", kind: counter, help: "Tasks accepted, then evicted to make room for another one.",
			value: func(s *stats) float64 { return float64(s.DroppedPolicy) }},

		{name: "firq_queue_len_estimate", kind: gauge, help: "Tasks queued, places reserved by calls in progress included.",
			value: func(s *stats) float64 { return float64(s.QueueLen) }},
		{name: "firq_max_global_config", kind: gauge, help: "How many tasks may be queued.",
			value: func(s *stats) float64 { return float64(s.MaxGlobal) }},
		{name: "firq_queue_saturation_ratio", kind: gauge, help: "Tasks queued as a share of how many may be, from 0 to 1.",
			value: func(s *stats) float64 { return s.QueueSaturation }},
		{name: "firq_in_flight", kind: gauge, help: "Tasks delivered and not yet done; 0 without a limit of them.",
			value: func(s *stats) float64 { return float64(s.InFlight) }},
		{name: "firq_tenants", kind: gauge, help: "Tenants known: queued, in flight, or idle for a short time.",
			value: func(s *stats) float64 { return float64(s.Tenants) }},

		{name: "firq_lag_rounds", kind: gauge, help: "By how many rounds the tenant that is furthest behind its fair share is.",
			value: func(s *stats) float64 { return s.Lag.Max }},

		{name: "firq_queue_time_sum_ns", kind: counter, help: "Sum of the waiting times of delivered tasks, in nanoseconds.",
			value: func(s *stats) float64 { return float64(s.QueueTime.Sum) }},
		{name: "firq_queue_time_samples", kind: counter, help: "Delivered tasks whose waiting time was recorded.",
			value: func(s *stats) float64 { return float64(s.QueueTime.Samples) }},
		{name: "firq_queue_time_p95_ns", kind: gauge, help: "95th percentile of the waiting times since the start, in nanoseconds.",
			value: func(s *stats) float64 { return float64(s.QueueTime.P95) }},
		{name: "firq_queue_time_p99_ns", kind: gauge, help: "99th percentile of the waiting times since the start, in nanoseconds.",
			value: func(s *stats) float64 { return float64(s.QueueTime.P99) }},
		{name: "firq_queue_time_ns", help: "How long delivered tasks had waited, in nanoseconds.",
			unit: 1, hist: func(s *stats) firq.QueueTime { return s.QueueTime }},

		// TopTenants has the most delivered first.
		{name: "firq_tenant_dequeued_total", kind: counter, help: "Tasks delivered, by tenant, for the top tenants only.",
			labels: []string{"tenant"}, each: func(s *stats, send sender) {
				for _, row := range opts.top(s.TopTenants) {
					send(float64(row.Dequeued), label(row.Tenant))
				}
			}},
		{name: "firq_tenant_lag_rounds", kind: gauge, help: "By how many rounds the tenant is behind its fair share, for the top tenants only.",
			labels: []string{"tenant"}, each: func(s *stats, send sender) {
				most := map[string]float64{} // of those that have one label
				for _, row := range opts.top(s.TopTenants) {
					name := strings.ToValidUTF8(label(row.Tenant), "\uFFFD")
					most[name] = max(most[name], row.Lag)
				}
				for name, lag := range most {
					send(lag, name)
				}
			}},
	}
}

// top returns those of the top tenants that there are series for.
func (o *Options[K]) top(rows []firq.TenantCount[K]) []firq.TenantCount[K] {
	if n := o.TopTenants; n != 0 {
		rows = rows[:min(max(n, 0), len(rows))]
	}
	return rows
}

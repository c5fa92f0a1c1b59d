package firqprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
)

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// number is a metric that is one field of Stats.
type number[K comparable] struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*firq.Stats[K]) float64
	desc       *prometheus.Desc // of name and help; New fills it in
}

// numbers lists the metrics that are one field of Stats each, without desc.
func numbers[K comparable]() []number[K] {
	type stats = firq.Stats[K]
	return []number[K]{
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

		{name: "firq_queue_time_sum_ns", kind: counter, help: "Sum of the waiting times of delivered tasks, in nanoseconds.",
			value: func(s *stats) float64 { return float64(s.QueueTime.Sum) }},
		{name: "firq_queue_time_samples", kind: counter, help: "Delivered tasks whose waiting time was recorded.",
			value: func(s *stats) float64 { return float64(s.QueueTime.Samples) }},
		{name: "firq_queue_time_p95_ns", kind: gauge, help: "95th percentile of the waiting times since the start, in nanoseconds.",
			value: func(s *stats) float64 { return float64(s.QueueTime.P95) }},
		{name: "firq_queue_time_p99_ns", kind: gauge, help: "99th percentile of the waiting times since the start, in nanoseconds.",
			value: func(s *stats) float64 { return float64(s.QueueTime.P99) }},
	}
}

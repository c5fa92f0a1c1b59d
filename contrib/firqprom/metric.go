package firqprom

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/metrics"
)

// metric is a row of a table, as Prometheus has it.
type metric[S any] struct {
	*metrics.Metric[S]
	desc *prometheus.Desc
	kind prometheus.ValueType
	unit time.Duration // of a histogram
}

// add describes a table's metrics with the constant labels of c, and returns what sends
// their values.
func add[K comparable, S any](c *Collector[K], t metrics.Table[S], native bool) func(chan<- prometheus.Metric, *S) {
	all := make([]metric[S], len(t))
	for i := range t {
		m := &t[i]
		desc := prometheus.NewDesc(nameOf(m), m.Text, m.Labels, c.constant)
		c.descs = append(c.descs, desc)
		all[i] = metric[S]{m, desc, prometheus.GaugeValue, time.Second}
		if rises(m.Kind) {
			all[i].kind = prometheus.CounterValue
		}
		if m.Unit == "ns" {
			all[i].unit = time.Nanosecond
		}
	}
	return func(ch chan<- prometheus.Metric, s *S) {
		for i := range all {
			all[i].send(ch, s, native)
		}
	}
}

func (m *metric[S]) send(ch chan<- prometheus.Metric, s *S, native bool) {
	if m.IsHistogram() {
		m.Histograms(s, func(q firq.QueueTime, labels ...string) {
			ch <- newHistogram(m.desc, &q, m.unit, native, labels...)
		})
		return
	}
	m.Series(s, func(v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
	})
}

func rises(k metrics.Kind) bool { return k == metrics.Counter || k == metrics.Seconds }

// nameOf returns a metric's name by the rules of Prometheus: with the unit of a time,
// and with _total if it only rises.
func nameOf[S any](m *metrics.Metric[S]) string {
	if m.Prometheus != "" {
		return m.Prometheus
	}
	name := "firq_" + strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if rises(m.Kind) {
		name += "_total"
	}
	return name
}

// queueTable returns the metrics of a scheduler, or of the queue of a gate.
func queueTable[K comparable](opts Options[K]) metrics.Table[firq.Stats[K]] {
	type stats = firq.Stats[K]
	return append(metrics.Queue(opts.TopTenants, opts.TenantLabel), metrics.Table[stats]{
		{Prometheus: "firq_dropped_total", Kind: metrics.Counter, Text: "Tasks rejected for any reason, or evicted.",
			Value: func(s *stats) float64 { return float64(s.Dropped) }},
		{Prometheus: "firq_rejected_global_total", Kind: metrics.Counter, Text: "Tasks rejected because the scheduler was full.",
			Value: func(s *stats) float64 { return float64(s.RejectedGlobal) }},
		{Prometheus: "firq_rejected_tenant_total", Kind: metrics.Counter, Text: "Tasks rejected at a limit of their tenant, or of the number of tenants.",
			Value: func(s *stats) float64 { return float64(s.RejectedTenant) }},
		{Prometheus: "firq_timeout_rejected_total", Kind: metrics.Counter, Text: "Tasks rejected after waiting for capacity in vain.",
			Value: func(s *stats) float64 { return float64(s.TimeoutRejected) }},
		{Prometheus: "firq_dropped_policy_total", Kind: metrics.Counter, Text: "Tasks accepted, then evicted to make room for another one.",
			Value: func(s *stats) float64 { return float64(s.DroppedPolicy) }},

		{Prometheus: "firq_queue_time_sum_ns", Kind: metrics.Counter, Text: "Sum of the waiting times of delivered tasks, in nanoseconds.",
			Value: func(s *stats) float64 { return float64(s.QueueTime.Sum) }},
		{Prometheus: "firq_queue_time_p95_ns", Text: "95th percentile of the waiting times since the start, in nanoseconds.",
			Value: func(s *stats) float64 { return float64(s.QueueTime.P95) }},
		{Prometheus: "firq_queue_time_p99_ns", Text: "99th percentile of the waiting times since the start, in nanoseconds.",
			Value: func(s *stats) float64 { return float64(s.QueueTime.P99) }},
		{Prometheus: "firq_queue_time_ns", Unit: "ns", Text: "How long delivered tasks had waited, in nanoseconds.",
			Times: func(s *stats) firq.QueueTime { return s.QueueTime }},
	}...)
}

package firqotel

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/metrics"
	"github.com/firq-go/firq/worker"
)

// setup collects the instruments of one registration. Registrations on one meter
// get instruments of the same names, which the SDK makes one.
type setup struct {
	meter metric.Meter
	fixed []attribute.KeyValue // that every metric of the registration has
	all   []metric.Observable
	errs  []error
}

// named returns the attributes of a series.
func named(names, values []string) []attribute.KeyValue {
	all := make([]attribute.KeyValue, len(values))
	for i, v := range values {
		all[i] = attribute.String("firq."+names[i], v)
	}
	return all
}

// attributes returns the fixed ones and more.
func (s *setup) attributes(more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(more, s.fixed...)...)
}

// instruments makes the instruments of a table, without its histograms, and returns what observes a
// snapshot.
func instruments[S any](s *setup, t metrics.Table[S]) func(metric.Observer, *S) {
	var all []func(metric.Observer, *S)
	for i := range t {
		m := &t[i]
		if m.IsHistogram() {
			continue
		}
		in, observe, err := s.instrument("firq."+m.Name, m.Unit, m.Text, m.Kind)
		if err != nil {
			s.errs = append(s.errs, err)
			continue
		}
		s.all = append(s.all, in)
		all = append(all, func(o metric.Observer, st *S) {
			m.Series(st, func(v float64, labels ...string) {
				observe(o, v, metric.WithAttributeSet(s.attributes(named(m.Labels, labels)...)))
			})
		})
	}
	return func(o metric.Observer, st *S) {
		for _, observe := range all {
			observe(o, st)
		}
	}
}

// instrument makes one instrument, and returns a function that observes a value of it. A level is an up-down
// counter: adding it up over schedulers makes sense, which it does not for a gauge.
func (s *setup) instrument(name, unit, text string, kind metrics.Kind) (in metric.Observable, observe func(metric.Observer, float64, ...metric.ObserveOption), err error) {
	var whole metric.Int64Observable
	var float metric.Float64Observable
	switch kind {
	case metrics.Counter:
		whole, err = s.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	case metrics.Level:
		whole, err = s.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	case metrics.Seconds:
		float, err = s.meter.Float64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	default:
		float, err = s.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	}
	if whole != nil {
		return whole, func(o metric.Observer, v float64, opts ...metric.ObserveOption) {
			o.ObserveInt64(whole, toInt64(v), opts...)
		}, err
	}
	return float, func(o metric.Observer, v float64, opts ...metric.ObserveOption) { o.ObserveFloat64(float, v, opts...) }, err
}

// toInt64 returns v, or the largest whole number that a float64 and an int64 have in
// common if it is more: the SDK adds up in float64.
func toInt64(v float64) int64 { return int64(min(v, 1<<63-1024)) }

// histograms returns those of a table for a Producer; nil: it has none.
func histograms[S any](s *setup, t metrics.Table[S], read func() S) *times {
	if !slices.ContainsFunc(t, func(m metrics.Metric[S]) bool { return m.IsHistogram() }) {
		return nil
	}
	return &times{read: func(send func(name, text string, q firq.QueueTime, attrs attribute.Set)) {
		st := read()
		for i := range t {
			if m := &t[i]; m.IsHistogram() {
				m.Histograms(&st, func(q firq.QueueTime, labels ...string) {
					send("firq."+m.Name, m.Text, q, s.attributes(named(m.Labels, labels)...))
				})
			}
		}
	}}
}

// queueTable returns the metrics of a scheduler, or of the queue of a gate.
func queueTable[K comparable](opts Options[K]) metrics.Table[firq.Stats[K]] {
	type stats = firq.Stats[K]
	return append(metrics.Queue(opts.TopTenants, opts.TenantLabel), metrics.Table[stats]{
		// The reasons add up to Stats.Dropped.
		{Name: "dropped", Unit: "{task}", Kind: metrics.Counter, Text: "Tasks rejected for any reason, or evicted.",
			Labels: []string{"reason"}, Each: func(s *stats, send metrics.Send) {
				send(float64(s.RejectedGlobal), "global")
				send(float64(s.RejectedTenant), "tenant")
				send(float64(s.TimeoutRejected), "timeout")
				send(float64(s.DroppedPolicy), "policy")
			}},
		{Name: "queue.time_p95", Unit: "s", Text: "95th percentile of the waiting times since the start.",
			Value: func(s *stats) float64 { return s.QueueTime.P95.Seconds() }},
		{Name: "queue.time_p99", Unit: "s", Text: "99th percentile of the waiting times since the start.",
			Value: func(s *stats) float64 { return s.QueueTime.P99.Seconds() }},
		{Name: "queue.time_sum", Unit: "s", Kind: metrics.Seconds, Text: "Sum of the waiting times of delivered tasks.",
			Value: func(s *stats) float64 { return s.QueueTime.Sum.Seconds() }},
		{Name: "queue.time", Unit: "s", Text: "How long delivered tasks had waited.",
			Times: func(s *stats) firq.QueueTime { return s.QueueTime }},
	}...)
}

// poolTable returns the metrics of a pool of workers.
func poolTable() metrics.Table[worker.Stats] {
	return append(metrics.Pool(), metrics.Metric[worker.Stats]{
		Name: "pool.handler_time_sum", Unit: "s", Kind: metrics.Seconds, Text: "Sum of how long finished handlers ran.",
		Value: func(s *worker.Stats) float64 { q := metrics.HandlerTime(s); return q.Sum.Seconds() },
	})
}

// computeTable returns the metrics of a compute server.
func computeTable[K comparable]() metrics.Table[compute.Stats[K]] {
	return append(metrics.Compute[K](), metrics.Metric[compute.Stats[K]]{
		Name: "compute.exec_sum", Unit: "s", Kind: metrics.Seconds, Text: "Sum of how long executions took.",
		Value: func(s *compute.Stats[K]) float64 { return s.ExecTime.Sum.Seconds() },
	})
}

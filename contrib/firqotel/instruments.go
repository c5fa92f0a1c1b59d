package firqotel

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/firq-go/firq"
)

// instruments are those of one registration. Registrations on one meter get
// instruments of the same names, which the SDK makes one.
type instruments[K comparable] struct {
	meter   metric.Meter
	opts    Options[K]
	all     []metric.Observable
	observe []func(metric.Observer, *firq.Stats[K])
	errs    []error
}

// attributes returns those of the scheduler and more.
func (in *instruments[K]) attributes(more ...attribute.KeyValue) attribute.Set {
	if in.opts.Scheduler != "" {
		more = append(more, SchedulerKey.String(in.opts.Scheduler))
	}
	return attribute.NewSet(more...)
}

func (in *instruments[K]) addAll() {
	type stats = firq.Stats[K]
	for _, c := range []struct {
		name, text string
		value      func(*stats) uint64
	}{
		{"firq.enqueued", "Tasks accepted.", func(s *stats) uint64 { return s.Enqueued }},
		{"firq.dequeued", "Tasks delivered to a consumer.", func(s *stats) uint64 { return s.Dequeued }},
		{"firq.expired", "Tasks dropped because their deadline had passed.", func(s *stats) uint64 { return s.Expired }},
		{"firq.cancelled", "Tasks taken out through their ticket.", func(s *stats) uint64 { return s.Cancelled }},
		{"firq.closed", "Tasks that were queued when the scheduler was closed.", func(s *stats) uint64 { return s.Closed }},
		{"firq.queue.time_samples", "Delivered tasks whose waiting time was recorded.", func(s *stats) uint64 { return s.QueueTime.Samples }},
	} {
		in.counter(c.name, c.text, c.value)
	}
	in.dropped()
	for _, l := range []struct {
		name, unit, text string
		value            func(*stats) int
	}{
		{"firq.queue.length", "{task}", "Tasks queued, places reserved by calls in progress included.", func(s *stats) int { return s.QueueLen }},
		{"firq.queue.limit", "{task}", "How many tasks may be queued.", func(s *stats) int { return s.MaxGlobal }},
		{"firq.in_flight", "{task}", "Tasks delivered and not yet done; 0 without a limit of them.", func(s *stats) int { return s.InFlight }},
		{"firq.tenants", "{tenant}", "Tenants known: queued, in flight, or idle for a short time.", func(s *stats) int { return s.Tenants }},
	} {
		in.level(l.name, l.unit, l.text, l.value)
	}
	for _, g := range []struct {
		name, unit, text string
		value            func(*stats) float64
	}{
		{"firq.queue.saturation", "1", "Tasks queued as a share of how many may be, from 0 to 1.", func(s *stats) float64 { return s.QueueSaturation }},
		{"firq.queue.time_p95", "s", "95th percentile of the waiting times since the start.", func(s *stats) float64 { return s.QueueTime.P95.Seconds() }},
		{"firq.queue.time_p99", "s", "99th percentile of the waiting times since the start.", func(s *stats) float64 { return s.QueueTime.P99.Seconds() }},
	} {
		in.gauge(g.name, g.unit, g.text, g.value)
	}
	in.timeSum()
	in.tenants()
}

func (in *instruments[K]) add(i metric.Observable, err error, observe func(metric.Observer, *firq.Stats[K])) {
	if err != nil {
		in.errs = append(in.errs, err)
		return
	}
	in.all = append(in.all, i)
	in.observe = append(in.observe, observe)
}

func (in *instruments[K]) counter(name, text string, value func(*firq.Stats[K]) uint64) {
	attrs := metric.WithAttributeSet(in.attributes())
	i, err := in.meter.Int64ObservableCounter(name, metric.WithUnit("{task}"), metric.WithDescription(text))
	in.add(i, err, func(o metric.Observer, st *firq.Stats[K]) { o.ObserveInt64(i, toInt64(value(st)), attrs) })
}

// level makes an up-down counter: adding it up over schedulers makes sense, which
// it does not for a gauge.
func (in *instruments[K]) level(name, unit, text string, value func(*firq.Stats[K]) int) {
	attrs := metric.WithAttributeSet(in.attributes())
	i, err := in.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	in.add(i, err, func(o metric.Observer, st *firq.Stats[K]) { o.ObserveInt64(i, int64(value(st)), attrs) })
}

func (in *instruments[K]) gauge(name, unit, text string, value func(*firq.Stats[K]) float64) {
	attrs := metric.WithAttributeSet(in.attributes())
	i, err := in.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	in.add(i, err, func(o metric.Observer, st *firq.Stats[K]) { o.ObserveFloat64(i, value(st), attrs) })
}

func (in *instruments[K]) timeSum() {
	attrs := metric.WithAttributeSet(in.attributes())
	i, err := in.meter.Float64ObservableCounter("firq.queue.time_sum", metric.WithUnit("s"),
		metric.WithDescription("Sum of the waiting times of delivered tasks."))
	in.add(i, err, func(o metric.Observer, st *firq.Stats[K]) { o.ObserveFloat64(i, st.QueueTime.Sum.Seconds(), attrs) })
}

// dropped has the reasons as an attribute: they add up to Stats.Dropped.
func (in *instruments[K]) dropped() {
	reason := func(value string) metric.MeasurementOption {
		return metric.WithAttributeSet(in.attributes(ReasonKey.String(value)))
	}
	global, tenant, timeout, policy := reason("global"), reason("tenant"), reason("timeout"), reason("policy")
	i, err := in.meter.Int64ObservableCounter("firq.dropped", metric.WithUnit("{task}"),
		metric.WithDescription("Tasks rejected for any reason, or evicted."))
	in.add(i, err, func(o metric.Observer, st *firq.Stats[K]) {
		o.ObserveInt64(i, toInt64(st.RejectedGlobal), global)
		o.ObserveInt64(i, toInt64(st.RejectedTenant), tenant)
		o.ObserveInt64(i, toInt64(st.TimeoutRejected), timeout)
		o.ObserveInt64(i, toInt64(st.DroppedPolicy), policy)
	})
}

func (in *instruments[K]) tenants() {
	i, err := in.meter.Int64ObservableCounter("firq.tenant.dequeued", metric.WithUnit("{task}"),
		metric.WithDescription("Tasks delivered, by tenant, for the top tenants only."))
	in.add(i, err, func(o metric.Observer, st *firq.Stats[K]) {
		for label, n := range in.opts.tenants(st.TopTenants) {
			o.ObserveInt64(i, toInt64(n), metric.WithAttributeSet(in.attributes(TenantKey.String(label))))
		}
	})
}

// toInt64 returns n, or the largest int64 if it is more.
func toInt64(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

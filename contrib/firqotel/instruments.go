package firqotel

import (
	"fmt"
	"math"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/firq-go/firq"
)

// setup collects the instruments of one registration. Registrations on one meter
// get instruments of the same names, which the SDK makes one.
type setup struct {
	meter metric.Meter
	fixed []attribute.KeyValue // that every metric of the registration has
	all   []metric.Observable
	errs  []error
}

// attributes returns the fixed ones and more.
func (s *setup) attributes(more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(more, s.fixed...)...)
}

// instruments are those that are read from snapshots of type S.
type instruments[S any] struct {
	*setup
	observe []func(metric.Observer, *S)
}

// from observes a snapshot.
func (in *instruments[S]) from(o metric.Observer, st *S) {
	for _, observe := range in.observe {
		observe(o, st)
	}
}

func (in *instruments[S]) add(i metric.Observable, err error, observe func(metric.Observer, *S)) {
	if err != nil {
		in.errs = append(in.errs, err)
		return
	}
	in.all = append(in.all, i)
	in.observe = append(in.observe, observe)
}

// send takes the value of one series and its attributes.
type send[N int64 | float64] func(v N, more ...attribute.KeyValue)

func (in *instruments[S]) counter(name, unit, text string, value func(*S) uint64) {
	in.counters(name, unit, text, func(st *S, to send[int64]) { to(toInt64(value(st))) })
}

// counters has as many series as observe sends.
func (in *instruments[S]) counters(name, unit, text string, observe func(*S, send[int64])) {
	i, err := in.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	in.add(i, err, func(o metric.Observer, st *S) {
		observe(st, func(v int64, more ...attribute.KeyValue) {
			o.ObserveInt64(i, v, metric.WithAttributeSet(in.attributes(more...)))
		})
	})
}

// level makes an up-down counter: adding it up over schedulers makes sense, which
// it does not for a gauge.
func (in *instruments[S]) level(name, unit, text string, value func(*S) int) {
	in.levels(name, unit, text, func(st *S, to send[int64]) { to(int64(value(st))) })
}

// levels has as many series as observe sends.
func (in *instruments[S]) levels(name, unit, text string, observe func(*S, send[int64])) {
	i, err := in.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	in.add(i, err, func(o metric.Observer, st *S) {
		observe(st, func(v int64, more ...attribute.KeyValue) {
			o.ObserveInt64(i, v, metric.WithAttributeSet(in.attributes(more...)))
		})
	})
}

func (in *instruments[S]) gauge(name, unit, text string, value func(*S) float64) {
	in.gauges(name, unit, text, func(st *S, to send[float64]) { to(value(st)) })
}

// gauges has as many series as observe sends.
func (in *instruments[S]) gauges(name, unit, text string, observe func(*S, send[float64])) {
	i, err := in.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	in.add(i, err, func(o metric.Observer, st *S) {
		observe(st, func(v float64, more ...attribute.KeyValue) {
			o.ObserveFloat64(i, v, metric.WithAttributeSet(in.attributes(more...)))
		})
	})
}

// seconds is a counter of time.
func (in *instruments[S]) seconds(name, text string, value func(*S) float64) {
	in.times(name, text, func(st *S, to send[float64]) { to(value(st)) })
}

// times is seconds with as many series as observe sends.
func (in *instruments[S]) times(name, text string, observe func(*S, send[float64])) {
	i, err := in.meter.Float64ObservableCounter(name, metric.WithUnit("s"), metric.WithDescription(text))
	in.add(i, err, func(o metric.Observer, st *S) {
		observe(st, func(v float64, more ...attribute.KeyValue) {
			o.ObserveFloat64(i, v, metric.WithAttributeSet(in.attributes(more...)))
		})
	})
}

// queueInstruments are about a scheduler, or the queue of a gate.
func queueInstruments[K comparable](s *setup, opts Options[K]) *instruments[firq.Stats[K]] {
	type stats = firq.Stats[K]
	in := &instruments[stats]{setup: s}
	for _, c := range []struct {
		name, text string
		value      func(*stats) uint64
	}{
		{"firq.enqueued", "Tasks accepted.", func(s *stats) uint64 { return s.Enqueued }},
		{"firq.dequeued", "Tasks delivered to a consumer.", func(s *stats) uint64 { return s.Dequeued }},
		{"firq.expired", "Tasks dropped because their deadline had passed.", func(s *stats) uint64 { return s.Expired }},
		{"firq.cancelled", "Tasks taken out through their ticket.", func(s *stats) uint64 { return s.Cancelled }},
		{"firq.closed", "Tasks that were queued when the scheduler was closed.", func(s *stats) uint64 { return s.Closed }},
		{"firq.overload", "Tasks dropped because their tenant's had waited for too long.", func(s *stats) uint64 { return s.Overload }},
		{"firq.queue.time_samples", "Delivered tasks whose waiting time was recorded.", func(s *stats) uint64 { return s.QueueTime.Samples }},
	} {
		in.counter(c.name, "{task}", c.text, c.value)
	}
	// The reasons add up to Stats.Dropped.
	in.counters("firq.dropped", "{task}", "Tasks rejected for any reason, or evicted.", func(s *stats, to send[int64]) {
		to(toInt64(s.RejectedGlobal), ReasonKey.String("global"))
		to(toInt64(s.RejectedTenant), ReasonKey.String("tenant"))
		to(toInt64(s.TimeoutRejected), ReasonKey.String("timeout"))
		to(toInt64(s.DroppedPolicy), ReasonKey.String("policy"))
	})
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
		{"firq.lag", "{round}", "By how many rounds the tenant that is furthest behind its fair share is.", func(s *stats) float64 { return s.Lag.Max }},
		{"firq.queue.time_p95", "s", "95th percentile of the waiting times since the start.", func(s *stats) float64 { return s.QueueTime.P95.Seconds() }},
		{"firq.queue.time_p99", "s", "99th percentile of the waiting times since the start.", func(s *stats) float64 { return s.QueueTime.P99.Seconds() }},
	} {
		in.gauge(g.name, g.unit, g.text, g.value)
	}
	in.seconds("firq.queue.time_sum", "Sum of the waiting times of delivered tasks.", func(s *stats) float64 { return s.QueueTime.Sum.Seconds() })
	in.counters("firq.tenant.dequeued", "{task}", "Tasks delivered, by tenant, for the top tenants only.", func(s *stats, to send[int64]) {
		for label, n := range opts.tenants(s.TopTenants) {
			to(toInt64(n), TenantKey.String(label))
		}
	})
	in.gauges("firq.tenant.lag", "{round}", "By how many rounds the tenant is behind its fair share, for the top tenants only.", func(s *stats, to send[float64]) {
		for label, lag := range opts.lags(s.TopTenants) {
			to(lag, TenantKey.String(label))
		}
	})
	return in
}

// tenants returns the counts by label of the first rows of top, which has the
// most delivered first.
func (o *Options[K]) tenants(top []firq.TenantCount[K]) map[string]uint64 {
	sums := make(map[string]uint64, len(top))
	o.each(top, func(label string, row *firq.TenantCount[K]) { sums[label] += row.Dequeued })
	return sums
}

// lags returns the largest lag by label of the same rows.
func (o *Options[K]) lags(top []firq.TenantCount[K]) map[string]float64 {
	most := make(map[string]float64, len(top))
	o.each(top, func(label string, row *firq.TenantCount[K]) { most[label] = max(most[label], row.Lag) })
	return most
}

func (o *Options[K]) each(top []firq.TenantCount[K], do func(label string, row *firq.TenantCount[K])) {
	if n := o.TopTenants; n != 0 {
		top = top[:min(max(n, 0), len(top))]
	}
	label := o.TenantLabel
	if label == nil {
		label = func(tenant K) string { return fmt.Sprint(tenant) }
	}
	for i := range top {
		do(valid(label(top[i].Tenant)), &top[i])
	}
}

// valid makes what OTLP takes of any string.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// toInt64 returns n, or the largest int64 if it is more.
func toInt64(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

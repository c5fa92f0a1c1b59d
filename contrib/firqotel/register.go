package firqotel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/firq-go/firq"
)

// ScopeName is the name of the instrumentation scope of all metrics.
const ScopeName = "github.com/firq-go/firq/contrib/firqotel"

// The attributes of the metrics.
const (
	SchedulerKey = attribute.Key("firq.scheduler") // Options.Scheduler
	ReasonKey    = attribute.Key("firq.reason")    // of firq.dropped: global, tenant, timeout or policy
	TenantKey    = attribute.Key("firq.tenant")    // of firq.tenant.dequeued: Options.TenantLabel
)

// Source is what metrics are read from. Every firq.Scheduler is one, and so is
// what is built on top of a scheduler and hands on its Stats.
type Source[K comparable] interface {
	// Stats returns a snapshot that the caller may keep. It is called by several
	// goroutines at a time if collections overlap.
	Stats() firq.Stats[K]
}

// Options of Register. The zero value works, but has no histogram.
type Options[K comparable] struct {
	// MeterProvider makes the meter. nil: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// Producer yields the histogram of queue times; it belongs to a reader of the
	// MeterProvider. nil: no firq.queue.time.
	Producer *Producer
	// Scheduler is the value of the attribute firq.scheduler, which tells several
	// schedulers apart. It must be valid UTF-8, which OTLP demands. Empty: no such
	// attribute. Two schedulers with the same one spoil each other's metrics: the SDK
	// adds up counters and keeps the last value of gauges.
	Scheduler string
	// TenantLabel gives the value of the attribute firq.tenant. It is called for
	// each top tenant on each collection, with no lock of firq's held; it must neither
	// panic nor use the MeterProvider, whose lock the SDK may hold. What is not valid UTF-8 in the result becomes U+FFFD. The counts of
	// tenants with the same label are added up. nil: the tenant as fmt.Sprint
	// prints it.
	TenantLabel func(K) string
	// TopTenants is for how many tenants at most there are series. 0: for as many
	// as Stats names (Config.TopTenants); below 0: for none.
	TopTenants int
}

// Registration is what Register has registered.
type Registration struct {
	once     sync.Once
	callback metric.Registration
	producer *Producer // nil: none
	times    *times    // what producer has of the source
	err      error     // of Unregister; written under once
}

// Unregister ends the export of the source; a collection in progress may still
// read it. Further calls do nothing and return what the first one did, which is
// the error of the MeterProvider, if any.
func (r *Registration) Unregister() error {
	r.once.Do(func() {
		if r.producer != nil {
			r.producer.remove(r.times)
		}
		r.err = r.callback.Unregister()
	})
	return r.err
}

// Register exports source until the Registration is unregistered. The error is
// firq.ErrInvalidArgument for a nil source, firq.ErrInvalidConfig, naming the
// field, for options that make no sense, or that of the MeterProvider.
func Register[K comparable](source Source[K], opts Options[K]) (*Registration, error) {
	if source == nil {
		return nil, fmt.Errorf("%w: firqotel: nil source", firq.ErrInvalidArgument)
	}
	if !utf8.ValidString(opts.Scheduler) {
		return nil, fmt.Errorf("%w: firqotel: Options.Scheduler: %q is not valid UTF-8", firq.ErrInvalidConfig, opts.Scheduler)
	}
	if opts.TenantLabel == nil {
		opts.TenantLabel = func(tenant K) string { return fmt.Sprint(tenant) }
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	in := &instruments[K]{meter: opts.MeterProvider.Meter(ScopeName), opts: opts}
	in.addAll()
	if len(in.errs) != 0 {
		return nil, fmt.Errorf("firqotel: %w", errors.Join(in.errs...))
	}
	callback, err := in.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		st := source.Stats()
		for _, observe := range in.observe {
			observe(o, &st)
		}
		return nil
	}, in.all...)
	if err != nil {
		if callback != nil { // for the instruments that were fine
			err = errors.Join(err, callback.Unregister())
		}
		return nil, fmt.Errorf("firqotel: %w", err)
	}
	r := &Registration{callback: callback, producer: opts.Producer}
	if r.producer != nil {
		r.times = r.producer.add(in.attributes(), func() firq.QueueTime { return source.Stats().QueueTime })
	}
	return r, nil
}

// tenants returns the counts by label of the first rows of top, which has the
// most delivered first.
func (o *Options[K]) tenants(top []firq.TenantCount[K]) map[string]uint64 {
	if n := o.TopTenants; n != 0 {
		top = top[:min(max(n, 0), len(top))]
	}
	sums := make(map[string]uint64, len(top))
	for _, row := range top {
		sums[strings.ToValidUTF8(o.TenantLabel(row.Tenant), "\uFFFD")] += row.Dequeued
	}
	return sums
}

package firqprom

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// Source is what New reads. Every firq.Scheduler is one, and so is what is built
// on top of a scheduler and hands on its Stats.
type Source[K comparable] interface {
	// Stats returns a snapshot that the caller may keep. It is called once per
	// scrape, by several goroutines at a time if scrapes overlap.
	Stats() firq.Stats[K]
}

// The sources of the other collectors. What Source says of Stats holds for their
// methods too.
type (
	// GateSource is a *gate.Gate, or what hands on its Stats.
	GateSource[K comparable] interface{ Stats() gate.Stats[K] }
	// TrafficSource is a *firqhttp.Middleware, a *firqgrpc.Interceptor, or a
	// middleware of your own over a gate.
	TrafficSource interface{ Traffic() gate.Traffic }
	// PoolSource is a *worker.Pool.
	PoolSource interface{ Stats() worker.Stats }
	// WatchdogSource is a *watchdog.Watchdog.
	WatchdogSource interface{ Status() watchdog.Status }
)

// Options of a Collector; the same may serve for a scheduler or gate, and for all
// that is around it. The zero value is a working one. K is the type of the
// tenants; for NewPool and NewWatchdog any will do.
type Options[K comparable] struct {
	// Scheduler is the value of the constant label "scheduler", which tells
	// several schedulers in one registry apart, and several gates, middlewares,
	// pools, watchdogs and compute servers. It must be valid UTF-8. Empty: no such label; Prometheus
	// treats the two alike in queries, but a registry wants the label on all
	// Collectors of one kind or on none.
	Scheduler string
	// TenantLabel gives the value of the label "tenant", for New and NewGate. It is
	// called for each top tenant on each scrape, by several goroutines at a time if
	// scrapes overlap, with no lock held; it must not panic. What is not valid UTF-8
	// in the result becomes U+FFFD. The counts of tenants with the same label are
	// added up. nil: the tenant as fmt.Sprint prints it.
	TenantLabel func(K) string
	// TopTenants is for how many tenants at most there are series, for New and
	// NewGate. 0: for as many as Stats names (Config.TopTenants); below 0: for none.
	TopTenants int
	// NativeHistogram adds the buckets of a native histogram to
	// firq_queue_time_ns, firq_pool_handler_duration_seconds and firq_compute_exec_seconds. They go only to a
	// server that asks for the protobuf format, and one that ingests native
	// histograms then drops the classic buckets, firq_queue_time_ns_bucket for one,
	// unless it is told to keep both (always_scrape_classic_histograms,
	// scrape_classic_histograms before 3.0).
	//
	// They are made from the classic buckets, and are no finer than these: each
	// sample counts as the upper bound of its classic bucket, rounded up to the
	// next bound of schema 3 (a factor of 2^(1/8), 9 %). A quantile read from them
	// is never below the true one by more than that, and may be above it by the
	// width of a classic bucket, a factor of 2 to 2.5, and 9 %. Prometheus 3 makes
	// native histograms with the exact bounds out of the classic ones by itself
	// (convert_classic_histograms_to_nhcb), which is better; leave this off then, as
	// it prefers the native ones that it is sent.
	NativeHistogram bool
}

// Collector exports the numbers of one source. It is a prometheus.Collector; New
// and its siblings make it. It never changes and is safe for concurrent use.
type Collector[K comparable] struct {
	constant prometheus.Labels
	descs    []*prometheus.Desc
	collect  func(chan<- prometheus.Metric) // takes one snapshot and sends it
}

// Must returns c, and panics if there is an error: for a registration in one line,
// where the error could only be a mistake in the program.
func Must[K comparable](c *Collector[K], err error) *Collector[K] {
	if err != nil {
		panic(err.Error())
	}
	return c
}

// New returns a Collector for source, to be registered by the caller. The error
// is firq.ErrInvalidArgument for a nil source and firq.ErrInvalidConfig, naming
// the field, for options that make no sense; so it is with NewGate and the others.
func New[K comparable](source Source[K], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(source, opts)
	if err != nil {
		return nil, err
	}
	all := add(c, queueTable(opts))
	c.collect = func(ch chan<- prometheus.Metric) {
		st := source.Stats()
		all.send(ch, &st, opts.NativeHistogram)
	}
	return c, nil
}

// NewGate returns a Collector for a gate: its slots, and its Queue with the
// metrics that New has for a scheduler.
func NewGate[K comparable](g GateSource[K], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(g, opts)
	if err != nil {
		return nil, err
	}
	own, queue := add(c, gateTable[K]()), add(c, queueTable(opts))
	c.collect = func(ch chan<- prometheus.Metric) {
		st := g.Stats()
		own.send(ch, &st, opts.NativeHistogram)
		queue.send(ch, &st.Queue, opts.NativeHistogram)
	}
	return c, nil
}

// NewHTTP returns a Collector for the requests of a firqhttp.Middleware, with the
// constant label protocol="http". Its gate has a Collector of its own: NewGate.
func NewHTTP[K comparable](m TrafficSource, opts Options[K]) (*Collector[K], error) {
	return newTraffic("http", m, opts)
}

// NewGRPC returns a Collector for the calls of a firqgrpc.Interceptor, with the
// constant label protocol="grpc". Its gate has a Collector of its own: NewGate.
func NewGRPC[K comparable](i TrafficSource, opts Options[K]) (*Collector[K], error) {
	return newTraffic("grpc", i, opts)
}

func newTraffic[K comparable](protocol string, source TrafficSource, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(source, opts)
	if err != nil {
		return nil, err
	}
	c.constant["protocol"] = protocol
	all := add(c, trafficTable())
	c.collect = func(ch chan<- prometheus.Metric) {
		tr := source.Traffic()
		all.send(ch, &tr, opts.NativeHistogram)
	}
	return c, nil
}

// NewPool returns a Collector for a worker.Pool. The constant label pool has its
// name, worker.Options.Name, for which NewPool calls Stats once; what is not valid
// UTF-8 in it becomes U+FFFD.
func NewPool[K comparable](p PoolSource, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(p, opts)
	if err != nil {
		return nil, err
	}
	c.constant["pool"] = strings.ToValidUTF8(p.Stats().Name, "\uFFFD")
	all := add(c, poolTable())
	c.collect = func(ch chan<- prometheus.Metric) {
		st := p.Stats()
		all.send(ch, &st, opts.NativeHistogram)
	}
	return c, nil
}

// NewWatchdog returns a Collector for a watchdog.Watchdog.
func NewWatchdog[K comparable](w WatchdogSource, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(w, opts)
	if err != nil {
		return nil, err
	}
	all := add(c, watchdogTable())
	c.collect = func(ch chan<- prometheus.Metric) {
		st := w.Status()
		all.send(ch, &st, opts.NativeHistogram)
	}
	return c, nil
}

// newCollector checks what all of them have, and begins one.
func newCollector[K comparable](source any, opts Options[K]) (*Collector[K], error) {
	if v := reflect.ValueOf(source); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: firqprom: nil source", firq.ErrInvalidArgument)
	}
	if !utf8.ValidString(opts.Scheduler) {
		return nil, fmt.Errorf("%w: firqprom: Options.Scheduler: %q is not valid UTF-8", firq.ErrInvalidConfig, opts.Scheduler)
	}
	c := &Collector[K]{constant: prometheus.Labels{}}
	if opts.Scheduler != "" {
		c.constant["scheduler"] = opts.Scheduler
	}
	return c, nil
}

// Describe sends the descriptor of every metric that Collect can send.
func (c *Collector[K]) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect takes one snapshot of the source and sends what it says.
func (c *Collector[K]) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

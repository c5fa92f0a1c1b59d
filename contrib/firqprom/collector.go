package firqprom

import (
	"context"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/metrics"
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
	// ComputeSource is a *compute.Server, or what hands on its Stats.
	ComputeSource[K comparable] interface{ Stats() compute.Stats[K] }
	// ActorSource is an *actor.System.
	ActorSource interface{ Stats() actor.Stats }
	// FleetSource is a *firqfleet.Gate.
	FleetSource[S FleetStats] interface{ Stats() S }
	// ClusterSource is a *firqnats.Node. If it has Recorded, as that has, there are histograms of calls and activations.
	ClusterSource[S ClusterStats] interface{ Stats() S }
	// RedisSource is a *queue.Queue, or its Survey. If it has QueueTimes, as that has, there is a histogram of them.
	RedisSource[S RedisStats] interface {
		Stats(ctx context.Context) (S, error)
	}
)

// RedisStats is queue.Stats, or any other struct with the same fields.
type RedisStats interface {
	~struct {
		Enqueued, Requeued, Acked, Cancelled, Expired uint64
		Dead                                          uint64
		Purged                                        uint64
		Delivered, Nacked, Released, LeaseExpired     uint64
		LeaseLost, Duplicates, Rejected               uint64
		Queued, Delayed, InFlight, DeadLetters        int
		Tenants                                       int
		Oldest                                        time.Duration
		Paused                                        bool
		Held                                          int
	}
}

// FleetStats is firqfleet.Stats, or any other struct with the same fields: so this package needs
// neither firqfleet nor a Redis client.
type FleetStats interface {
	~struct {
		Limit, InUse, Idle, Waiting, Members     int
		Immediate, Turns, Reused, Alone          uint64
		RejectedGlobal, RejectedTenant, TimedOut uint64
		Lost, Syncs, Failed                      uint64
	}
}

// ClusterStats is firqnats.Stats, or any other struct with the same fields: so this package needs
// neither firqnats nor a NATS client.
type ClusterStats interface {
	~struct {
		Activations                                                               int
		Activated, Passivated, Fenced, Moved, Sent, Handled, Lost, Retried, Saves uint64
	}
}

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
	// firq_queue_time_ns, firq_pool_handler_duration_seconds, firq_compute_exec_seconds and
	// firq_queue_queue_seconds. They go only to a
	// server that asks for the protobuf format, and one that ingests native
	// histograms then drops the classic buckets, firq_queue_time_ns_bucket for one,
	// unless its configuration keeps both (always_scrape_classic_histograms,
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
	return one(c, queueTable(opts), opts, source.Stats), nil
}

// NewGate returns a Collector for a gate: its slots, and its Queue with the
// metrics that New has for a scheduler.
func NewGate[K comparable](g GateSource[K], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(g, opts)
	if err != nil {
		return nil, err
	}
	own, queue := add(c, metrics.Gate[K](), opts.NativeHistogram), add(c, queueTable(opts), opts.NativeHistogram)
	c.collect = func(ch chan<- prometheus.Metric) {
		st := g.Stats()
		own(ch, &st)
		queue(ch, &st.Queue)
	}
	return c, nil
}

// NewHTTP returns a Collector for the requests of a firqhttp.Middleware, with the
// constant label protocol="http". Its gate has its own Collector: NewGate.
func NewHTTP[K comparable](m TrafficSource, opts Options[K]) (*Collector[K], error) {
	return newTraffic("http", m, opts)
}

// NewGRPC returns a Collector for the calls of a firqgrpc.Interceptor, with the
// constant label protocol="grpc". Its gate has its own Collector: NewGate.
func NewGRPC[K comparable](i TrafficSource, opts Options[K]) (*Collector[K], error) {
	return newTraffic("grpc", i, opts)
}

func newTraffic[K comparable](protocol string, source TrafficSource, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(source, opts)
	if err != nil {
		return nil, err
	}
	c.constant["protocol"] = protocol
	return one(c, metrics.Traffic(), opts, source.Traffic), nil
}

// NewPool returns a Collector for a worker.Pool. The constant label pool has its
// name, worker.Options.Name, for which NewPool calls Stats once; what is not valid
// UTF-8 in it becomes U+FFFD.
func NewPool[K comparable](p PoolSource, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(p, opts)
	if err != nil {
		return nil, err
	}
	c.constant["pool"] = metrics.Valid(p.Stats().Name)
	return one(c, metrics.Pool(), opts, p.Stats), nil
}

// NewWatchdog returns a Collector for a watchdog.Watchdog.
func NewWatchdog[K comparable](w WatchdogSource, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(w, opts)
	if err != nil {
		return nil, err
	}
	return one(c, metrics.Watchdog(), opts, w.Status), nil
}

// NewCompute returns a Collector for a compute.Server.
func NewCompute[K comparable](s ComputeSource[K], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(s, opts)
	if err != nil {
		return nil, err
	}
	return one(c, metrics.Compute[K](), opts, s.Stats), nil
}

// NewActors returns a Collector for a System of actors. rec is the Recorder that the
// System has as its Config.Metrics; with nil there are only the metrics that come from
// Stats. The label kind is the type of the actors' state; no series is of one actor.
func NewActors[K comparable](s ActorSource, rec *actor.Recorder, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(s, opts)
	if err != nil {
		return nil, err
	}
	one(c, metrics.System(), opts, s.Stats)
	if rec == nil {
		return c, nil
	}
	system, kinds := c.collect, add(c, metrics.Kinds(), opts.NativeHistogram)
	c.collect = func(ch chan<- prometheus.Metric) {
		system(ch)
		got := rec.Recorded()
		kinds(ch, &got)
	}
	return c, nil
}

// NewFleet returns a Collector for a firqfleet.Gate: this process's part of the fleet.
func NewFleet[K comparable, S FleetStats](g FleetSource[S], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(g, opts)
	if err != nil {
		return nil, err
	}
	return one(c, metrics.Fleet(), opts, func() metrics.FleetStats { return metrics.FleetStats(g.Stats()) }), nil
}

// NewCluster returns a Collector for a firqnats.Node: this process's part of the cluster.
func NewCluster[K comparable, S ClusterStats](n ClusterSource[S], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(n, opts)
	if err != nil {
		return nil, err
	}
	one(c, metrics.Cluster(), opts, func() metrics.ClusterStats { return metrics.ClusterStats(n.Stats()) })
	rec, ok := n.(metrics.ClusterRecorder)
	if !ok {
		return c, nil
	}
	stats, times := c.collect, add(c, metrics.ClusterTimes(), opts.NativeHistogram)
	c.collect = func(ch chan<- prometheus.Metric) {
		stats(ch)
		times(ch, &rec)
	}
	return c, nil
}

// NewRedis is NewQueue, by the name from when there was Redis only.
func NewRedis[K comparable, S RedisStats](q RedisSource[S], opts Options[K]) (*Collector[K], error) {
	return NewQueue(q, opts)
}

// NewQueue returns a Collector for a queue.Queue or its Survey, on Redis or PostgreSQL: the constant label engine says on which. Its numbers are of the queue, not of the process: all
// processes that export it say the same, so take the maximum over them, not the sum. If the server does not
// answer within 5 s, firq_queue_up is 0 and all others are missing from the scrape.
func NewQueue[K comparable, S RedisStats](q RedisSource[S], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(q, opts)
	if err != nil {
		return nil, err
	}
	if name := metrics.Engine(q); name != "" {
		c.constant["engine"] = name
	}
	up, all := add(c, metrics.RedisUp(), false), add(c, metrics.Redis(), false)
	waits, waited := q.(metrics.RedisWaiting)
	var times func(chan<- prometheus.Metric, *firq.QueueTime)
	if waited {
		times = add(c, metrics.RedisWaits(), opts.NativeHistogram)
	}
	c.collect = func(ch chan<- prometheus.Metric) {
		ctx, cancel := context.WithTimeout(context.Background(), metrics.RedisPatience)
		defer cancel()
		s, err := q.Stats(ctx)
		var w firq.QueueTime
		if err == nil && waited {
			w.Buckets, w.Sum, err = waits.QueueTimes(ctx)
		}
		answered := err == nil
		up(ch, &answered)
		if !answered {
			return
		}
		st := metrics.RedisStats(s)
		all(ch, &st)
		if waited {
			times(ch, &w)
		}
	}
	return c, nil
}

// one has c collect what a table tells of one snapshot.
func one[K comparable, S any](c *Collector[K], t metrics.Table[S], opts Options[K], read func() S) *Collector[K] {
	send := add(c, t, opts.NativeHistogram)
	c.collect = func(ch chan<- prometheus.Metric) {
		st := read()
		send(ch, &st)
	}
	return c
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

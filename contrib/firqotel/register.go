package firqotel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/metrics"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// ScopeName is the name of the instrumentation scope of all metrics.
const ScopeName = "github.com/firq-go/firq/contrib/firqotel"

// The attributes of the metrics.
const (
	SchedulerKey = attribute.Key("firq.scheduler") // Options.Scheduler
	ReasonKey    = attribute.Key("firq.reason")    // of firq.dropped: global, tenant, timeout or policy; of firq.requests.rejected; of firq.actor.refused and firq.compute.refused
	TenantKey    = attribute.Key("firq.tenant")    // of firq.tenant.dequeued: Options.TenantLabel
	SourceKey    = attribute.Key("firq.source")    // of firq.compute.requests: compute.Source
	ProtocolKey  = attribute.Key("firq.protocol")  // of firq.requests: http or grpc
	PoolKey      = attribute.Key("firq.pool")      // of firq.pool: worker.Options.Name
	SignalKey    = attribute.Key("firq.signal")    // of firq.watchdog.findings: watchdog.Signal
	LevelKey     = attribute.Key("firq.level")     // of firq.watchdog.findings: warning or critical
	AtKey        = attribute.Key("firq.at")        // of a watchdog's latencies: p50, tail or max
	QueueKey     = attribute.Key("firq.queue")     // of firq.watchdog.queue: watchdog.Queue.Name
	ProbeKey     = attribute.Key("firq.probe")     // of firq.watchdog.probe: watchdog.Probe.Name
	KindKey      = attribute.Key("firq.kind")      // of firq.actor: the type of the actors' state; of firq.cluster: the kind's name
	MethodKey    = attribute.Key("firq.method")    // of firq.actor.timeouts and firq.cluster.call: the method's name
	ModeKey      = attribute.Key("firq.mode")      // of firq.actor.timeouts: warn, cancel or stop
	EngineKey    = attribute.Key("firq.engine")    // of firq.queue.up and others of a queue.Queue: redis or postgres
	EndKey       = attribute.Key("firq.end")       // of firq.actor.turns: actor.TurnEnd
)

// Source is what Register reads. Every firq.Scheduler is a Source, and so is what is
// built on top of a scheduler and hands on its Stats.
type Source[K comparable] interface {
	// Stats returns a snapshot that the caller may keep. It is called by several
	// goroutines at a time if collections overlap.
	Stats() firq.Stats[K]
}

// The sources of the other registrations. What Source says of Stats holds for
// their methods too.
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

// Options of a registration; the same may serve for a scheduler or gate, and for
// all that is around it. The zero value works, but has no histogram. K is the type
// of the tenants; for RegisterPool and RegisterWatchdog any will do.
type Options[K comparable] struct {
	// MeterProvider makes the meter. nil: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// Producer yields the histograms, such as firq.queue.time; it belongs to a reader of the
	// MeterProvider. nil: there are none.
	Producer *Producer
	// Scheduler is the value of the attribute firq.scheduler, which tells several
	// schedulers apart, and several gates, middlewares, pools, watchdogs and compute servers. It must
	// be valid UTF-8, which OTLP demands. Empty: no such attribute. Two of a kind
	// with the same one spoil each other's metrics: the SDK adds up counters and keeps
	// the last value of gauges.
	Scheduler string
	// TenantLabel gives the value of the attribute firq.tenant, for Register and
	// RegisterGate. It is called for each top tenant on each collection, with no lock
	// of firq's held; it must neither panic nor use the MeterProvider, whose lock the
	// SDK may hold. What is not valid UTF-8 in the result becomes U+FFFD. The counts
	// of tenants with the same label are added up. nil: the tenant as fmt.Sprint
	// prints it.
	TenantLabel func(K) string
	// TopTenants is for how many tenants at most there are series, for Register and
	// RegisterGate. 0: for as many as Stats names (Config.TopTenants); below 0: for
	// none.
	TopTenants int
}

// Registration is the handle by which Unregister undoes a Register, or one of its siblings.
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
// field, for options that make no sense, or that of the MeterProvider; so it is
// with RegisterGate and the others.
func Register[K comparable](source Source[K], opts Options[K]) (*Registration, error) {
	return register(source, opts, func(s *setup) (func(metric.Observer), *times) {
		return one(s, queueTable(opts), source.Stats)
	})
}

// RegisterGate exports a gate: its slots, and its Queue with the metrics that
// Register has for a scheduler.
func RegisterGate[K comparable](g GateSource[K], opts Options[K]) (*Registration, error) {
	return register(g, opts, func(s *setup) (func(metric.Observer), *times) {
		table := queueTable(opts)
		own, queue := instruments(s, metrics.Gate[K]()), instruments(s, table)
		return func(o metric.Observer) {
			st := g.Stats()
			own(o, &st)
			queue(o, &st.Queue)
		}, histograms(s, table, func() firq.Stats[K] { return g.Stats().Queue })
	})
}

// RegisterHTTP exports the requests of a firqhttp.Middleware, with the attribute
// firq.protocol=http. Its gate has its own registration: RegisterGate.
func RegisterHTTP[K comparable](m TrafficSource, opts Options[K]) (*Registration, error) {
	return registerTraffic("http", m, opts)
}

// RegisterGRPC exports the calls of a firqgrpc.Interceptor, with the attribute
// firq.protocol=grpc. Its gate has its own registration: RegisterGate.
func RegisterGRPC[K comparable](i TrafficSource, opts Options[K]) (*Registration, error) {
	return registerTraffic("grpc", i, opts)
}

func registerTraffic[K comparable](protocol string, source TrafficSource, opts Options[K]) (*Registration, error) {
	return register(source, opts, func(s *setup) (func(metric.Observer), *times) {
		s.fixed = append(s.fixed, ProtocolKey.String(protocol))
		return one(s, metrics.Traffic(), source.Traffic)
	})
}

// RegisterPool exports a worker.Pool. The attribute firq.pool has its name,
// worker.Options.Name, for which RegisterPool calls Stats once.
func RegisterPool[K comparable](p PoolSource, opts Options[K]) (*Registration, error) {
	return register(p, opts, func(s *setup) (func(metric.Observer), *times) {
		if name := p.Stats().Name; name != "" {
			s.fixed = append(s.fixed, PoolKey.String(metrics.Valid(name)))
		}
		return one(s, poolTable(), p.Stats)
	})
}

// RegisterWatchdog exports a watchdog.Watchdog.
func RegisterWatchdog[K comparable](w WatchdogSource, opts Options[K]) (*Registration, error) {
	return register(w, opts, func(s *setup) (func(metric.Observer), *times) {
		return one(s, metrics.Watchdog(), w.Status)
	})
}

// RegisterCompute exports a compute.Server.
func RegisterCompute[K comparable](c ComputeSource[K], opts Options[K]) (*Registration, error) {
	return register(c, opts, func(s *setup) (func(metric.Observer), *times) {
		return one(s, computeTable[K](), c.Stats)
	})
}

// RegisterActors exports a System of actors. rec is the Recorder that the System has as
// its Config.Metrics; with nil there are only the metrics that come from Stats. The
// attribute firq.kind is the type of the actors' state; no series is of one actor.
func RegisterActors[K comparable](sys ActorSource, rec *actor.Recorder, opts Options[K]) (*Registration, error) {
	return register(sys, opts, func(s *setup) (func(metric.Observer), *times) {
		system, _ := one(s, metrics.System(), sys.Stats)
		if rec == nil {
			return system, nil
		}
		kinds, waits := one(s, metrics.Kinds(), rec.Recorded)
		return func(o metric.Observer) {
			system(o)
			kinds(o)
		}, waits
	})
}

// RegisterFleet exports a firqfleet.Gate: this process's part of the fleet.
func RegisterFleet[K comparable, S FleetStats](g FleetSource[S], opts Options[K]) (*Registration, error) {
	return register(g, opts, func(s *setup) (func(metric.Observer), *times) {
		return one(s, metrics.Fleet(), func() metrics.FleetStats { return metrics.FleetStats(g.Stats()) })
	})
}

// RegisterCluster exports a firqnats.Node: this process's part of the cluster.
func RegisterCluster[K comparable, S ClusterStats](n ClusterSource[S], opts Options[K]) (*Registration, error) {
	return register(n, opts, func(s *setup) (func(metric.Observer), *times) {
		stats, _ := one(s, metrics.Cluster(), func() metrics.ClusterStats { return metrics.ClusterStats(n.Stats()) })
		rec, ok := n.(metrics.ClusterRecorder)
		if !ok {
			return stats, nil
		}
		return stats, histograms(s, metrics.ClusterTimes(), func() metrics.ClusterRecorder { return rec })
	})
}

// RegisterRedis is RegisterQueue, by the name from when there was Redis only.
func RegisterRedis[K comparable, S RedisStats](q RedisSource[S], opts Options[K]) (*Registration, error) {
	return RegisterQueue(q, opts)
}

// RegisterQueue exports a queue.Queue or its Survey, on Redis or PostgreSQL: the attribute firq.engine says on which. Its numbers are of the queue, not of the process: all processes that
// export it say the same, so take the maximum over them, not the sum. If the server does not answer within 5 s,
// firq.queue.up is 0 and all others are missing from the collection.
func RegisterQueue[K comparable, S RedisStats](q RedisSource[S], opts Options[K]) (*Registration, error) {
	return register(q, opts, func(s *setup) (func(metric.Observer), *times) {
		if name := metrics.Engine(q); name != "" {
			s.fixed = append(s.fixed, EngineKey.String(name))
		}
		up, all := instruments(s, metrics.RedisUp()), instruments(s, metrics.Redis())
		return func(o metric.Observer) {
			ctx, cancel := context.WithTimeout(context.Background(), metrics.RedisPatience)
			defer cancel()
			st, err := q.Stats(ctx)
			answered := err == nil
			up(o, &answered)
			if answered {
				st := metrics.RedisStats(st)
				all(o, &st)
			}
		}, redisTimes(s, q)
	})
}

// redisTimes is the histogram of a queue, if it has one. While its server is away it stays as it was.
func redisTimes(s *setup, q any) *times {
	w, ok := q.(metrics.RedisWaiting)
	if !ok {
		return nil
	}
	var mu sync.Mutex
	var last firq.QueueTime
	return histograms(s, metrics.RedisWaits(), func() firq.QueueTime {
		ctx, cancel := context.WithTimeout(context.Background(), metrics.RedisPatience)
		defer cancel()
		buckets, sum, err := w.QueueTimes(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			last = firq.QueueTime{Buckets: buckets, Sum: sum}
		}
		return last
	})
}

// one observes what a table tells of one snapshot.
func one[S any](s *setup, t metrics.Table[S], read func() S) (func(metric.Observer), *times) {
	all := instruments(s, t)
	return func(o metric.Observer) {
		st := read()
		all(o, &st)
	}, histograms(s, t, read)
}

// register checks what all of them have. build makes the instruments and returns
// what observes them, of one snapshot, and the histograms, if any.
func register[K comparable](source any, opts Options[K], build func(*setup) (func(metric.Observer), *times)) (*Registration, error) {
	if v := reflect.ValueOf(source); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: firqotel: nil source", firq.ErrInvalidArgument)
	}
	if !utf8.ValidString(opts.Scheduler) {
		return nil, fmt.Errorf("%w: firqotel: Options.Scheduler: %q is not valid UTF-8", firq.ErrInvalidConfig, opts.Scheduler)
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	s := &setup{meter: opts.MeterProvider.Meter(ScopeName)}
	if opts.Scheduler != "" {
		s.fixed = append(s.fixed, SchedulerKey.String(opts.Scheduler))
	}
	observe, histograms := build(s)
	if len(s.errs) != 0 {
		return nil, fmt.Errorf("firqotel: %w", errors.Join(s.errs...))
	}
	callback, err := s.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		observe(o)
		return nil
	}, s.all...)
	if err != nil {
		if callback != nil { // for the instruments that were fine
			err = errors.Join(err, callback.Unregister())
		}
		return nil, fmt.Errorf("firqotel: %w", err)
	}
	r := &Registration{callback: callback}
	if opts.Producer != nil && histograms != nil {
		r.producer, r.times = opts.Producer, opts.Producer.add(histograms)
	}
	return r, nil
}

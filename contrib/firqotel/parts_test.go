package firqotel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/metrics"
	"github.com/firq-go/firq/metrics/metricstest"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// The counts of the parts around a scheduler.
var (
	_ firqotel.GateSource[string] = (*gate.Gate[string])(nil)
	_ firqotel.TrafficSource      = (*firqhttp.Middleware)(nil)
	_ firqotel.PoolSource         = (*worker.Pool[string, string])(nil)
	_ firqotel.WatchdogSource     = (*watchdog.Watchdog)(nil)
)

// kind is a way to register, with what it exports of the part above.
type kind struct {
	register func(firqotel.Options[string]) (*firqotel.Registration, error)
	calls    *atomic.Int64
	times    int // how often a collection asks, with a Producer
	want     string
}

func everyKind() map[string]kind {
	s, g := metricstest.Of(metricstest.Queue()), metricstest.Of(metricstest.Gate())
	h, i := metricstest.Of(metricstest.Traffic()), metricstest.Of(metricstest.Traffic())
	p, w := metricstest.Of(metricstest.Pool()), metricstest.Of(metricstest.Watchdog())
	q := &metricstest.RedisSource{Source: metricstest.Source[metrics.RedisStats]{Says: metricstest.Redis()}}
	c, f, n := metricstest.Of(metricstest.Compute()), metricstest.Of(metricstest.Fleet()), &metricstest.Node{Source: metricstest.Source[metrics.ClusterStats]{Says: metricstest.Cluster()}}
	a, rec := metricstest.Of(metricstest.System()), metricstest.Recorder()
	type options = firqotel.Options[string]
	type registration = *firqotel.Registration
	return map[string]kind{
		"scheduler": {func(o options) (registration, error) { return firqotel.Register(s, o) }, &s.Calls, 2, collected},
		"gate":      {func(o options) (registration, error) { return firqotel.RegisterGate(g, o) }, &g.Calls, 2, gateCollected + collected[1:]},
		"http":      {func(o options) (registration, error) { return firqotel.RegisterHTTP(h, o) }, &h.Calls, 1, strings.ReplaceAll(trafficCollected, "PROTOCOL", "http")},
		"grpc":      {func(o options) (registration, error) { return firqotel.RegisterGRPC(i, o) }, &i.Calls, 1, strings.ReplaceAll(trafficCollected, "PROTOCOL", "grpc")},
		"pool":      {func(o options) (registration, error) { return firqotel.RegisterPool(p, o) }, &p.Calls, 2, poolCollected},
		"watchdog":  {func(o options) (registration, error) { return firqotel.RegisterWatchdog(w, o) }, &w.Calls, 1, watchdogCollected},
		"redis":     {func(o options) (registration, error) { return firqotel.RegisterRedis(q, o) }, &q.Calls, 1, redisCollected},
		"fleet":     {func(o options) (registration, error) { return firqotel.RegisterFleet(f, o) }, &f.Calls, 1, fleetCollected},
		"cluster":   {func(o options) (registration, error) { return firqotel.RegisterCluster(n, o) }, &n.Calls, 1, clusterCollected},
		"compute":   {func(o options) (registration, error) { return firqotel.RegisterCompute(c, o) }, &c.Calls, 2, computeCollected},
		"actors":    {func(o options) (registration, error) { return firqotel.RegisterActors(a, rec, o) }, &a.Calls, 1, actorCollected},
	}
}

// sorted returns the lines of a constant below, in order.
func sorted(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}

// trimmed leaves the bounds out of the histograms of handlers and of actors.
func trimmed(lines []string) []string {
	for i, line := range lines {
		if strings.HasPrefix(line, "firq.pool.handler_time ") || strings.HasPrefix(line, "firq.cluster.") && strings.Contains(line, " bounds=") || strings.HasPrefix(line, "firq.actor.wait ") {
			head, rest, _ := strings.Cut(line, " bounds=")
			_, counts, _ := strings.Cut(rest, "counts=")
			lines[i] = head + " counts=" + counts
		}
	}
	return lines
}

// Each part says what is expected, until it is unregistered.
func TestParts(t *testing.T) {
	for name, k := range everyKind() {
		t.Run(name, func(t *testing.T) {
			p := newPipeline(t)
			r, err := k.register(firqotel.Options[string]{MeterProvider: p, Producer: p.producer, Scheduler: "api"})
			if err != nil {
				t.Fatal(err)
			}
			if n := k.calls.Swap(0); n > 1 || n == 1 && name != "pool" { // whose name is asked for
				t.Errorf("the registration took %d snapshots", n)
			}
			got := trimmed(p.collect(t))
			if want := sorted(k.want); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if n := k.calls.Load(); n != int64(k.times) {
				t.Errorf("one collection took %d snapshots, want %d", n, k.times)
			}
			for range 2 {
				if err := r.Unregister(); err != nil {
					t.Error(err)
				}
			}
			if lines := p.collect(t); len(lines) != 0 || k.calls.Load() != int64(k.times) {
				t.Errorf("after Unregister: %v", lines)
			}
		})
	}
}

// All of them share a provider and a Producer, and each goes alone.
func TestPartsTogether(t *testing.T) {
	p := newPipeline(t)
	all, want := map[string]*firqotel.Registration{}, []string{}
	kinds := everyKind()
	delete(kinds, "scheduler") // the gate's queue has its name
	for name, k := range kinds {
		r, err := k.register(firqotel.Options[string]{MeterProvider: p, Producer: p.producer, Scheduler: "api"})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = r
		want = append(want, sorted(k.want)...)
	}
	slices.Sort(want)
	if got := trimmed(p.collect(t)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := all["pool"].Unregister(); err != nil {
		t.Error(err)
	}
	got := p.collect(t)
	if n := len(want) - len(sorted(poolCollected)); len(got) != n {
		t.Errorf("%d series without the pool, want %d", len(got), n)
	}
	if len(only(got, "firq.pool.handler_time")) != 0 || len(only(got, "firq.queue.time")) != 1 {
		t.Errorf("histograms without the pool's: %v", got)
	}
}

// A server that is away costs the collection nothing but the queue's own numbers.
func TestRedisAway(t *testing.T) {
	p := newPipeline(t)
	q := &metricstest.RedisSource{}
	if _, err := firqotel.RegisterRedis(q, firqotel.Options[string]{MeterProvider: p, Producer: p.producer}); err != nil {
		t.Fatal(err)
	}
	was := only(p.collect(t), "firq.queue.queue_time")
	q.Err = errors.New("connection refused")
	q.Away = q.Err
	got := p.collect(t)
	if len(got) != 2 || got[1] != "firq.queue.up 1 gauge [firq.engine=redis] 0" {
		t.Errorf("%v", got)
	}
	if is := only(got, "firq.queue.queue_time"); len(was) != 1 || !slices.Equal(is, was) { // it only rises
		t.Errorf("%v, then %v", was, is)
	}
}

// A pool that is none, without a name or a histogram, does no harm.
func TestPoolWithoutTimes(t *testing.T) {
	p := newPipeline(t)
	_, err := firqotel.RegisterPool(metricstest.Of(worker.Stats{}), firqotel.Options[string]{MeterProvider: p, Producer: p.producer})
	if err != nil {
		t.Fatal(err)
	}
	if got := only(p.collect(t), "firq.pool.handler_time"); len(got) != 1 || !strings.Contains(got[0], "[] count=0 ") {
		t.Errorf("%v", got)
	}
}

func TestPartsErrors(t *testing.T) {
	p := newPipeline(t)
	none := firqotel.Options[string]{MeterProvider: p, Producer: p.producer}
	for name, err := range map[string]error{
		"nothing":           second(firqotel.Register[string](nil, none)),
		"scheduler":         second(firqotel.Register((*metricstest.Source[firq.Stats[string]])(nil), none)),
		"gate":              second(firqotel.RegisterGate[string](nil, none)),
		"gate that is nil":  second(firqotel.RegisterGate((*gate.Gate[string])(nil), none)),
		"http":              second(firqotel.RegisterHTTP(nil, none)),
		"http that is nil":  second(firqotel.RegisterHTTP((*firqhttp.Middleware)(nil), none)),
		"grpc":              second(firqotel.RegisterGRPC(nil, none)),
		"pool":              second(firqotel.RegisterPool(nil, none)),
		"pool that is nil":  second(firqotel.RegisterPool((*worker.Pool[string, string])(nil), none)),
		"redis":             second(firqotel.RegisterRedis[string, metrics.RedisStats](nil, none)),
		"redis that is nil": second(firqotel.RegisterRedis((*metricstest.RedisSource)(nil), none)),
		"compute":           second(firqotel.RegisterCompute[string](nil, none)),
		"nil as compute":    second(firqotel.RegisterCompute((*compute.Server[string, int, int])(nil), none)),
		"watchdog":          second(firqotel.RegisterWatchdog((*watchdog.Watchdog)(nil), none)),
	} {
		if !errors.Is(err, firq.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), "source") {
			t.Errorf("nil %s: %v", name, err)
		}
	}
	for name, k := range everyKind() {
		_, err := k.register(firqotel.Options[string]{MeterProvider: p, Producer: p.producer, Scheduler: "a\xff"})
		if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(fmt.Sprint(err), "Options.Scheduler") {
			t.Errorf("%s: Scheduler that is not UTF-8: %v", name, err)
		}
	}
	if lines := p.collect(t); len(lines) != 0 {
		t.Errorf("after errors: %v", lines)
	}
}

func second(_ *firqotel.Registration, err error) error { return err }

// What the parts above are exported as, by scheduler "api".
const (
	gateCollected = `
firq.gate.limit {slot} sum monotonic=false [firq.scheduler=api] 201
firq.gate.in_use {slot} sum monotonic=false [firq.scheduler=api] 202
firq.gate.waiting {call} sum monotonic=false [firq.scheduler=api] 203
firq.gate.aside {call} sum monotonic=false [firq.scheduler=api] 206
firq.gate.forgone {call} sum monotonic=true [firq.scheduler=api] 207
firq.gate.immediate {permit} sum monotonic=true [firq.scheduler=api] 204
firq.gate.timed_out {call} sum monotonic=true [firq.scheduler=api] 205
`
	trafficCollected = `
firq.requests.in_flight {request} sum monotonic=false [firq.protocol=PROTOCOL,firq.scheduler=api] 301
firq.requests.waiting {request} sum monotonic=false [firq.protocol=PROTOCOL,firq.scheduler=api] 302
firq.requests.reading {request} sum monotonic=false [firq.protocol=PROTOCOL,firq.scheduler=api] 307
firq.requests.served {request} sum monotonic=true [firq.protocol=PROTOCOL,firq.scheduler=api] 303
firq.requests.skipped {request} sum monotonic=true [firq.protocol=PROTOCOL,firq.scheduler=api] 304
firq.requests.rejected {request} sum monotonic=true [firq.protocol=PROTOCOL,firq.reason=global_full,firq.scheduler=api] 305
firq.requests.rejected {request} sum monotonic=true [firq.protocol=PROTOCOL,firq.reason=timeout,firq.scheduler=api] 306
firq.requests.rejected {request} sum monotonic=true [firq.protocol=PROTOCOL,firq.reason=closed,firq.scheduler=api] 0
`
	poolCollected = `
firq.pool.started {handler} sum monotonic=true [firq.pool=mail,firq.scheduler=api] 401
firq.pool.finished {handler} sum monotonic=true [firq.pool=mail,firq.scheduler=api] 402
firq.pool.failed {handler} sum monotonic=true [firq.pool=mail,firq.scheduler=api] 403
firq.pool.panicked {handler} sum monotonic=true [firq.pool=mail,firq.scheduler=api] 404
firq.pool.slow {handler} sum monotonic=true [firq.pool=mail,firq.scheduler=api] 405
firq.pool.timed_out {handler} sum monotonic=true [firq.pool=mail,firq.scheduler=api] 406
firq.pool.stuck {handler} sum monotonic=true [firq.pool=mail,firq.scheduler=api] 407
firq.pool.running {handler} sum monotonic=false [firq.pool=mail,firq.scheduler=api] 408
firq.pool.stuck_now {handler} sum monotonic=false [firq.pool=mail,firq.scheduler=api] 409
firq.pool.workers {worker} sum monotonic=false [firq.pool=mail,firq.scheduler=api] 410
firq.pool.handler_time_sum s sum monotonic=true [firq.pool=mail,firq.scheduler=api] 3.000001
firq.pool.handler_time s histogram CumulativeTemporality [firq.pool=mail,firq.scheduler=api] count=3 sum=3.000001 max=1.5 counts=[1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0 0 0 0 0]
`
	redisCollected = `
firq.queue.up 1 gauge [firq.engine=redis,firq.scheduler=api] 1
firq.queue.pushed {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 601
firq.queue.requeued {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 602
firq.queue.acked {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 603
firq.queue.cancelled {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 604
firq.queue.expired {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 605
firq.queue.dead {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 606
firq.queue.purged {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 607
firq.queue.delivered {delivery} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 608
firq.queue.retried {delivery} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 609
firq.queue.released {delivery} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 610
firq.queue.reaped {delivery} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 611
firq.queue.lease_lost {call} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 612
firq.queue.duplicates {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 613
firq.queue.rejected {task} sum monotonic=true [firq.engine=redis,firq.scheduler=api] 614
firq.queue.queued {task} gauge [firq.engine=redis,firq.scheduler=api] 615
firq.queue.delayed {task} gauge [firq.engine=redis,firq.scheduler=api] 616
firq.queue.in_flight {task} gauge [firq.engine=redis,firq.scheduler=api] 617
firq.queue.dead_letters {task} gauge [firq.engine=redis,firq.scheduler=api] 618
firq.queue.tenants {tenant} gauge [firq.engine=redis,firq.scheduler=api] 619
firq.queue.oldest s gauge [firq.engine=redis,firq.scheduler=api] 620
firq.queue.paused 1 gauge [firq.engine=redis,firq.scheduler=api] 1
firq.queue.held {tenant} gauge [firq.engine=redis,firq.scheduler=api] 623
firq.queue.queue_time s histogram CumulativeTemporality [firq.engine=redis,firq.scheduler=api] count=2 sum=621 max=none bounds=[1] counts=[1 1]
`
	watchdogCollected = `
firq.watchdog.running 1 gauge [firq.scheduler=api] 1
firq.watchdog.level 1 gauge [firq.scheduler=api] 2
firq.watchdog.level_since s gauge [firq.scheduler=api] 1.7000000005e+09
firq.watchdog.reports {report} sum monotonic=true [firq.scheduler=api] 501
firq.watchdog.reports_missed {report} sum monotonic=true [firq.scheduler=api] 502
firq.watchdog.timer_lateness s gauge [firq.scheduler=api] 0.503
firq.watchdog.scheduling_latency s gauge [firq.at=p50,firq.scheduler=api] 0.504
firq.watchdog.scheduling_latency s gauge [firq.at=tail,firq.scheduler=api] 0.505
firq.watchdog.scheduling_latency s gauge [firq.at=max,firq.scheduler=api] 0.506
firq.watchdog.goroutines {goroutine} sum monotonic=false [firq.scheduler=api] 508
firq.watchdog.goroutines_runnable {goroutine} sum monotonic=false [firq.scheduler=api] 509
firq.watchdog.processors {processor} sum monotonic=false [firq.scheduler=api] 510
firq.watchdog.findings {finding} sum monotonic=false [firq.level=warning,firq.scheduler=api,firq.signal=timer-lateness] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=critical,firq.scheduler=api,firq.signal=timer-lateness] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=warning,firq.scheduler=api,firq.signal=scheduling-latency] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=critical,firq.scheduler=api,firq.signal=scheduling-latency] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=warning,firq.scheduler=api,firq.signal=queue-wait] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=critical,firq.scheduler=api,firq.signal=queue-wait] 2
firq.watchdog.findings {finding} sum monotonic=false [firq.level=warning,firq.scheduler=api,firq.signal=queue-stall] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=critical,firq.scheduler=api,firq.signal=queue-stall] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=warning,firq.scheduler=api,firq.signal=probe-time] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=critical,firq.scheduler=api,firq.signal=probe-time] 0
firq.watchdog.findings {finding} sum monotonic=false [firq.level=warning,firq.scheduler=api,firq.signal=probe-error] 1
firq.watchdog.findings {finding} sum monotonic=false [firq.level=critical,firq.scheduler=api,firq.signal=probe-error] 0
firq.watchdog.queue.length {task} sum monotonic=false [firq.queue=a,firq.scheduler=api] 511
firq.watchdog.queue.stalled s gauge [firq.queue=a,firq.scheduler=api] 0.517
firq.watchdog.queue.wait s gauge [firq.at=p50,firq.queue=a,firq.scheduler=api] 0.514
firq.watchdog.queue.wait s gauge [firq.at=tail,firq.queue=a,firq.scheduler=api] 0.515
firq.watchdog.queue.wait s gauge [firq.at=max,firq.queue=a,firq.scheduler=api] 0.516
firq.watchdog.queue.length {task} sum monotonic=false [firq.queue=b` + "\uFFFD" + `,firq.scheduler=api] 521
firq.watchdog.queue.stalled s gauge [firq.queue=b` + "\uFFFD" + `,firq.scheduler=api] 0
firq.watchdog.queue.wait s gauge [firq.at=p50,firq.queue=b` + "\uFFFD" + `,firq.scheduler=api] 0
firq.watchdog.queue.wait s gauge [firq.at=tail,firq.queue=b` + "\uFFFD" + `,firq.scheduler=api] 0
firq.watchdog.queue.wait s gauge [firq.at=max,firq.queue=b` + "\uFFFD" + `,firq.scheduler=api] 0
firq.watchdog.probe.duration s gauge [firq.probe=db,firq.scheduler=api] 0.531
firq.watchdog.probe.failing 1 gauge [firq.probe=db,firq.scheduler=api] 1
firq.watchdog.probe.duration s gauge [firq.probe=disk,firq.scheduler=api] 0.541
firq.watchdog.probe.failing 1 gauge [firq.probe=disk,firq.scheduler=api] 0
`
)

const clusterCollected = `
firq.cluster.activations {actor} sum monotonic=false [firq.scheduler=api] 901
firq.cluster.activated {actor} sum monotonic=true [firq.scheduler=api] 902
firq.cluster.passivated {actor} sum monotonic=true [firq.scheduler=api] 903
firq.cluster.fenced {life} sum monotonic=true [firq.scheduler=api] 904
firq.cluster.moved {message} sum monotonic=true [firq.scheduler=api] 905
firq.cluster.sent {message} sum monotonic=true [firq.scheduler=api] 906
firq.cluster.handled {message} sum monotonic=true [firq.scheduler=api] 907
firq.cluster.lost {message} sum monotonic=true [firq.scheduler=api] 908
firq.cluster.retried {message} sum monotonic=true [firq.scheduler=api] 909
firq.cluster.saves {save} sum monotonic=true [firq.scheduler=api] 910
firq.cluster.call s histogram CumulativeTemporality [firq.kind=cart,firq.method=Add�,firq.scheduler=api] count=2 sum=3 max=2 counts=[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 0 0 0 0 0 0 0 0 0 0 0]
firq.cluster.activation s histogram CumulativeTemporality [firq.kind=cart,firq.scheduler=api] count=1 sum=3 max=3 counts=[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0]
`

const fleetCollected = `
firq.fleet.limit {slot} gauge [firq.scheduler=api] 801
firq.fleet.in_use {slot} sum monotonic=false [firq.scheduler=api] 802
firq.fleet.idle {slot} sum monotonic=false [firq.scheduler=api] 803
firq.fleet.waiting {call} sum monotonic=false [firq.scheduler=api] 804
firq.fleet.members {process} gauge [firq.scheduler=api] 805
firq.fleet.immediate {permit} sum monotonic=true [firq.scheduler=api] 806
firq.fleet.turns {turn} sum monotonic=true [firq.scheduler=api] 807
firq.fleet.reused {permit} sum monotonic=true [firq.scheduler=api] 808
firq.fleet.alone {permit} sum monotonic=true [firq.scheduler=api] 809
firq.fleet.rejected_global {call} sum monotonic=true [firq.scheduler=api] 810
firq.fleet.rejected_tenant {call} sum monotonic=true [firq.scheduler=api] 811
firq.fleet.timed_out {call} sum monotonic=true [firq.scheduler=api] 812
firq.fleet.leases_lost {lease} sum monotonic=true [firq.scheduler=api] 813
firq.fleet.syncs {round_trip} sum monotonic=true [firq.scheduler=api] 814
firq.fleet.syncs_failed {round_trip} sum monotonic=true [firq.scheduler=api] 815
`

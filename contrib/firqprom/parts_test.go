package firqprom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/metrics"
	"github.com/firq-go/firq/metrics/metricstest"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// The counts of the parts around a scheduler.
var (
	_ firqprom.GateSource[string] = (*gate.Gate[string])(nil)
	_ firqprom.TrafficSource      = (*firqhttp.Middleware)(nil)
	_ firqprom.PoolSource         = (*worker.Pool[string, string])(nil)
	_ firqprom.WatchdogSource     = (*watchdog.Watchdog)(nil)
)

// The series of the parts above, with Scheduler "api", without HELP, the
// gate's queue and most of the buckets.
const (
	gateExposition = `
# TYPE firq_gate_aside gauge
firq_gate_aside{scheduler="api"} 206
# TYPE firq_gate_forgone_total counter
firq_gate_forgone_total{scheduler="api"} 207
# TYPE firq_gate_immediate_total counter
firq_gate_immediate_total{scheduler="api"} 204
# TYPE firq_gate_in_use gauge
firq_gate_in_use{scheduler="api"} 202
# TYPE firq_gate_limit gauge
firq_gate_limit{scheduler="api"} 201
# TYPE firq_gate_timed_out_total counter
firq_gate_timed_out_total{scheduler="api"} 205
# TYPE firq_gate_waiting gauge
firq_gate_waiting{scheduler="api"} 203
`
	trafficExposition = `
# TYPE firq_requests_in_flight gauge
firq_requests_in_flight{protocol="PROTOCOL",scheduler="api"} 301
# TYPE firq_requests_reading gauge
firq_requests_reading{protocol="PROTOCOL",scheduler="api"} 307
# TYPE firq_requests_rejected_total counter
firq_requests_rejected_total{protocol="PROTOCOL",reason="closed",scheduler="api"} 0
firq_requests_rejected_total{protocol="PROTOCOL",reason="global_full",scheduler="api"} 305
firq_requests_rejected_total{protocol="PROTOCOL",reason="timeout",scheduler="api"} 306
# TYPE firq_requests_served_total counter
firq_requests_served_total{protocol="PROTOCOL",scheduler="api"} 303
# TYPE firq_requests_skipped_total counter
firq_requests_skipped_total{protocol="PROTOCOL",scheduler="api"} 304
# TYPE firq_requests_waiting gauge
firq_requests_waiting{protocol="PROTOCOL",scheduler="api"} 302
`
	poolExposition = `
# TYPE firq_pool_failed_total counter
firq_pool_failed_total{pool="mail",scheduler="api"} 403
# TYPE firq_pool_finished_total counter
firq_pool_finished_total{pool="mail",scheduler="api"} 402
# TYPE firq_pool_handler_duration_seconds histogram
firq_pool_handler_duration_seconds_bucket{pool="mail",scheduler="api",le="1e-06"} 1
firq_pool_handler_duration_seconds_bucket{pool="mail",scheduler="api",le="1"} 1
firq_pool_handler_duration_seconds_bucket{pool="mail",scheduler="api",le="2"} 3
firq_pool_handler_duration_seconds_bucket{pool="mail",scheduler="api",le="+Inf"} 3
firq_pool_handler_duration_seconds_sum{pool="mail",scheduler="api"} 3.000001
firq_pool_handler_duration_seconds_count{pool="mail",scheduler="api"} 3
# TYPE firq_pool_panicked_total counter
firq_pool_panicked_total{pool="mail",scheduler="api"} 404
# TYPE firq_pool_running gauge
firq_pool_running{pool="mail",scheduler="api"} 408
# TYPE firq_pool_slow_total counter
firq_pool_slow_total{pool="mail",scheduler="api"} 405
# TYPE firq_pool_started_total counter
firq_pool_started_total{pool="mail",scheduler="api"} 401
# TYPE firq_pool_stuck_now gauge
firq_pool_stuck_now{pool="mail",scheduler="api"} 409
# TYPE firq_pool_stuck_total counter
firq_pool_stuck_total{pool="mail",scheduler="api"} 407
# TYPE firq_pool_timed_out_total counter
firq_pool_timed_out_total{pool="mail",scheduler="api"} 406
# TYPE firq_pool_workers gauge
firq_pool_workers{pool="mail",scheduler="api"} 410
`
	watchdogExposition = `
# TYPE firq_watchdog_findings gauge
firq_watchdog_findings{level="critical",scheduler="api",signal="probe-error"} 0
firq_watchdog_findings{level="critical",scheduler="api",signal="probe-time"} 0
firq_watchdog_findings{level="critical",scheduler="api",signal="queue-stall"} 0
firq_watchdog_findings{level="critical",scheduler="api",signal="queue-wait"} 2
firq_watchdog_findings{level="critical",scheduler="api",signal="scheduling-latency"} 0
firq_watchdog_findings{level="critical",scheduler="api",signal="timer-lateness"} 0
firq_watchdog_findings{level="warning",scheduler="api",signal="probe-error"} 1
firq_watchdog_findings{level="warning",scheduler="api",signal="probe-time"} 0
firq_watchdog_findings{level="warning",scheduler="api",signal="queue-stall"} 0
firq_watchdog_findings{level="warning",scheduler="api",signal="queue-wait"} 0
firq_watchdog_findings{level="warning",scheduler="api",signal="scheduling-latency"} 0
firq_watchdog_findings{level="warning",scheduler="api",signal="timer-lateness"} 0
# TYPE firq_watchdog_goroutines gauge
firq_watchdog_goroutines{scheduler="api"} 508
# TYPE firq_watchdog_goroutines_runnable gauge
firq_watchdog_goroutines_runnable{scheduler="api"} 509
# TYPE firq_watchdog_level gauge
firq_watchdog_level{scheduler="api"} 2
# TYPE firq_watchdog_level_since_timestamp_seconds gauge
firq_watchdog_level_since_timestamp_seconds{scheduler="api"} 1.7000000005e+09
# TYPE firq_watchdog_probe_duration_seconds gauge
firq_watchdog_probe_duration_seconds{probe="db",scheduler="api"} 0.531
firq_watchdog_probe_duration_seconds{probe="disk",scheduler="api"} 0.541
# TYPE firq_watchdog_probe_failing gauge
firq_watchdog_probe_failing{probe="db",scheduler="api"} 1
firq_watchdog_probe_failing{probe="disk",scheduler="api"} 0
# TYPE firq_watchdog_processors gauge
firq_watchdog_processors{scheduler="api"} 510
# TYPE firq_watchdog_queue_length gauge
firq_watchdog_queue_length{queue="a",scheduler="api"} 511
firq_watchdog_queue_length{queue="b` + "\uFFFD" + `",scheduler="api"} 521
# TYPE firq_watchdog_queue_stalled_seconds gauge
firq_watchdog_queue_stalled_seconds{queue="a",scheduler="api"} 0.517
firq_watchdog_queue_stalled_seconds{queue="b` + "\uFFFD" + `",scheduler="api"} 0
# TYPE firq_watchdog_queue_wait_seconds gauge
firq_watchdog_queue_wait_seconds{at="max",queue="a",scheduler="api"} 0.516
firq_watchdog_queue_wait_seconds{at="max",queue="b` + "\uFFFD" + `",scheduler="api"} 0
firq_watchdog_queue_wait_seconds{at="p50",queue="a",scheduler="api"} 0.514
firq_watchdog_queue_wait_seconds{at="p50",queue="b` + "\uFFFD" + `",scheduler="api"} 0
firq_watchdog_queue_wait_seconds{at="tail",queue="a",scheduler="api"} 0.515
firq_watchdog_queue_wait_seconds{at="tail",queue="b` + "\uFFFD" + `",scheduler="api"} 0
# TYPE firq_watchdog_reports_missed_total counter
firq_watchdog_reports_missed_total{scheduler="api"} 502
# TYPE firq_watchdog_reports_total counter
firq_watchdog_reports_total{scheduler="api"} 501
# TYPE firq_watchdog_running gauge
firq_watchdog_running{scheduler="api"} 1
# TYPE firq_watchdog_scheduling_latency_seconds gauge
firq_watchdog_scheduling_latency_seconds{at="max",scheduler="api"} 0.506
firq_watchdog_scheduling_latency_seconds{at="p50",scheduler="api"} 0.504
firq_watchdog_scheduling_latency_seconds{at="tail",scheduler="api"} 0.505
# TYPE firq_watchdog_timer_lateness_seconds gauge
firq_watchdog_timer_lateness_seconds{scheduler="api"} 0.503
`
)

const redisExposition = `
# TYPE firq_queue_acked_total counter
firq_queue_acked_total{engine="redis",scheduler="api"} 603
# TYPE firq_queue_cancelled_total counter
firq_queue_cancelled_total{engine="redis",scheduler="api"} 604
# TYPE firq_queue_dead_letters gauge
firq_queue_dead_letters{engine="redis",scheduler="api"} 618
# TYPE firq_queue_dead_total counter
firq_queue_dead_total{engine="redis",scheduler="api"} 606
# TYPE firq_queue_delayed gauge
firq_queue_delayed{engine="redis",scheduler="api"} 616
# TYPE firq_queue_delivered_total counter
firq_queue_delivered_total{engine="redis",scheduler="api"} 608
# TYPE firq_queue_duplicates_total counter
firq_queue_duplicates_total{engine="redis",scheduler="api"} 613
# TYPE firq_queue_expired_total counter
firq_queue_expired_total{engine="redis",scheduler="api"} 605
# TYPE firq_queue_held gauge
firq_queue_held{engine="redis",scheduler="api"} 623
# TYPE firq_queue_in_flight gauge
firq_queue_in_flight{engine="redis",scheduler="api"} 617
# TYPE firq_queue_lease_lost_total counter
firq_queue_lease_lost_total{engine="redis",scheduler="api"} 612
# TYPE firq_queue_oldest_seconds gauge
firq_queue_oldest_seconds{engine="redis",scheduler="api"} 620
# TYPE firq_queue_paused gauge
firq_queue_paused{engine="redis",scheduler="api"} 1
# TYPE firq_queue_purged_total counter
firq_queue_purged_total{engine="redis",scheduler="api"} 607
# TYPE firq_queue_pushed_total counter
firq_queue_pushed_total{engine="redis",scheduler="api"} 601
# TYPE firq_queue_queue_seconds histogram
firq_queue_queue_seconds_bucket{engine="redis",scheduler="api",le="1"} 1
firq_queue_queue_seconds_bucket{engine="redis",scheduler="api",le="+Inf"} 2
firq_queue_queue_seconds_sum{engine="redis",scheduler="api"} 621
firq_queue_queue_seconds_count{engine="redis",scheduler="api"} 2
# TYPE firq_queue_queued gauge
firq_queue_queued{engine="redis",scheduler="api"} 615
# TYPE firq_queue_reaped_total counter
firq_queue_reaped_total{engine="redis",scheduler="api"} 611
# TYPE firq_queue_rejected_total counter
firq_queue_rejected_total{engine="redis",scheduler="api"} 614
# TYPE firq_queue_released_total counter
firq_queue_released_total{engine="redis",scheduler="api"} 610
# TYPE firq_queue_requeued_total counter
firq_queue_requeued_total{engine="redis",scheduler="api"} 602
# TYPE firq_queue_retried_total counter
firq_queue_retried_total{engine="redis",scheduler="api"} 609
# TYPE firq_queue_tenants gauge
firq_queue_tenants{engine="redis",scheduler="api"} 619
# TYPE firq_queue_up gauge
firq_queue_up{engine="redis",scheduler="api"} 1
`

const clusterExposition = `
# TYPE firq_cluster_activated_total counter
firq_cluster_activated_total{scheduler="api"} 902
# TYPE firq_cluster_activation_seconds histogram
firq_cluster_activation_seconds_bucket{kind="cart",scheduler="api",le="2"} 0
firq_cluster_activation_seconds_bucket{kind="cart",scheduler="api",le="5"} 1
firq_cluster_activation_seconds_sum{kind="cart",scheduler="api"} 3
firq_cluster_activation_seconds_count{kind="cart",scheduler="api"} 1
# TYPE firq_cluster_activations gauge
firq_cluster_activations{scheduler="api"} 901
# TYPE firq_cluster_call_seconds histogram
firq_cluster_call_seconds_bucket{kind="cart",method="Add�",scheduler="api",le="1"} 1
firq_cluster_call_seconds_bucket{kind="cart",method="Add�",scheduler="api",le="2"} 2
firq_cluster_call_seconds_sum{kind="cart",method="Add�",scheduler="api"} 3
firq_cluster_call_seconds_count{kind="cart",method="Add�",scheduler="api"} 2
# TYPE firq_cluster_fenced_total counter
firq_cluster_fenced_total{scheduler="api"} 904
# TYPE firq_cluster_handled_total counter
firq_cluster_handled_total{scheduler="api"} 907
# TYPE firq_cluster_lost_total counter
firq_cluster_lost_total{scheduler="api"} 908
# TYPE firq_cluster_moved_total counter
firq_cluster_moved_total{scheduler="api"} 905
# TYPE firq_cluster_passivated_total counter
firq_cluster_passivated_total{scheduler="api"} 903
# TYPE firq_cluster_retried_total counter
firq_cluster_retried_total{scheduler="api"} 909
# TYPE firq_cluster_saves_total counter
firq_cluster_saves_total{scheduler="api"} 910
# TYPE firq_cluster_sent_total counter
firq_cluster_sent_total{scheduler="api"} 906
`

const fleetExposition = `
# TYPE firq_fleet_alone_total counter
firq_fleet_alone_total{scheduler="api"} 809
# TYPE firq_fleet_idle gauge
firq_fleet_idle{scheduler="api"} 803
# TYPE firq_fleet_immediate_total counter
firq_fleet_immediate_total{scheduler="api"} 806
# TYPE firq_fleet_in_use gauge
firq_fleet_in_use{scheduler="api"} 802
# TYPE firq_fleet_leases_lost_total counter
firq_fleet_leases_lost_total{scheduler="api"} 813
# TYPE firq_fleet_limit gauge
firq_fleet_limit{scheduler="api"} 801
# TYPE firq_fleet_members gauge
firq_fleet_members{scheduler="api"} 805
# TYPE firq_fleet_rejected_global_total counter
firq_fleet_rejected_global_total{scheduler="api"} 810
# TYPE firq_fleet_rejected_tenant_total counter
firq_fleet_rejected_tenant_total{scheduler="api"} 811
# TYPE firq_fleet_reused_total counter
firq_fleet_reused_total{scheduler="api"} 808
# TYPE firq_fleet_syncs_failed_total counter
firq_fleet_syncs_failed_total{scheduler="api"} 815
# TYPE firq_fleet_syncs_total counter
firq_fleet_syncs_total{scheduler="api"} 814
# TYPE firq_fleet_timed_out_total counter
firq_fleet_timed_out_total{scheduler="api"} 812
# TYPE firq_fleet_turns_total counter
firq_fleet_turns_total{scheduler="api"} 807
# TYPE firq_fleet_waiting gauge
firq_fleet_waiting{scheduler="api"} 804
`

// made holds a Collector of each kind, with the series that it exports.
type made struct {
	c     *firqprom.Collector[string]
	calls *atomic.Int64
	want  string
}

func everyKind(t *testing.T, opts firqprom.Options[string]) map[string]made {
	t.Helper()
	must := func(c *firqprom.Collector[string], err error) *firqprom.Collector[string] {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	s := metricstest.Of(metricstest.Queue())
	g, p, w := metricstest.Of(metricstest.Gate()), metricstest.Of(metricstest.Pool()), metricstest.Of(metricstest.Watchdog())
	h, i := metricstest.Of(metricstest.Traffic()), metricstest.Of(metricstest.Traffic())
	q, k := &metricstest.RedisSource{Source: metricstest.Source[metrics.RedisStats]{Says: metricstest.Redis()}}, metricstest.Of(metricstest.Compute())
	a, f, n := metricstest.Of(metricstest.System()), metricstest.Of(metricstest.Fleet()), &metricstest.Node{Source: metricstest.Source[metrics.ClusterStats]{Says: metricstest.Cluster()}}
	all := map[string]made{
		"scheduler": {must(firqprom.New(s, opts)), &s.Calls, exposition},
		"gate":      {must(firqprom.NewGate(g, opts)), &g.Calls, gateExposition},
		"http":      {must(firqprom.NewHTTP(h, opts)), &h.Calls, strings.ReplaceAll(trafficExposition, "PROTOCOL", "http")},
		"grpc":      {must(firqprom.NewGRPC(i, opts)), &i.Calls, strings.ReplaceAll(trafficExposition, "PROTOCOL", "grpc")},
		"pool":      {must(firqprom.NewPool(p, opts)), &p.Calls, poolExposition},
		"watchdog":  {must(firqprom.NewWatchdog(w, opts)), &w.Calls, watchdogExposition},
		"redis":     {must(firqprom.NewRedis(q, opts)), &q.Calls, redisExposition},
		"fleet":     {must(firqprom.NewFleet(f, opts)), &f.Calls, fleetExposition},
		"cluster":   {must(firqprom.NewCluster(n, opts)), &n.Calls, clusterExposition},
		"compute":   {must(firqprom.NewCompute(k, opts)), &k.Calls, computeExposition},
		"actors":    {must(firqprom.NewActors(a, metricstest.Recorder(), opts)), &a.Calls, actorExposition},
	}
	p.Calls.Store(0) // NewPool asks for the name
	return all
}

func TestPartsExposition(t *testing.T) {
	for kind, m := range everyKind(t, firqprom.Options[string]{Scheduler: "api"}) {
		t.Run(kind, func(t *testing.T) {
			var lines []string
			var queue strings.Builder // of the gate
			for line := range strings.Lines(scrape(t, pedantic(t, m.c), "")) {
				name := metricName.FindString(line)
				bucket := strings.Contains(line, "_seconds_bucket") && !strings.Contains(m.want, line)
				switch {
				case strings.HasPrefix(line, "# HELP ") || bucket:
				case kind == "gate" && !strings.HasPrefix(name, "firq_gate_"):
					queue.WriteString(line)
				default:
					lines = append(lines, line)
				}
			}
			if got := "\n" + strings.Join(lines, ""); got != m.want {
				t.Errorf("got\n%s\nwant\n%s", got, m.want)
			}
			if got := "\n" + queue.String(); kind == "gate" && got != exposition {
				t.Errorf("its queue: got\n%s\nwant\n%s", got, exposition)
			}
			if n := m.calls.Load(); n != 1 {
				t.Errorf("%d snapshots were taken for one scrape", n)
			}
		})
	}
}

// One registry takes all kinds under one name, and a second gate, middleware, pool
// or watchdog under another; not under the same.
func TestPartsShareARegistry(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	for _, name := range []string{"api", "jobs"} {
		for kind, m := range everyKind(t, firqprom.Options[string]{Scheduler: name}) {
			if kind == "scheduler" {
				continue // the gate's queue has its series
			}
			if err := reg.Register(m.c); err != nil {
				t.Errorf("%s of %s: %v", kind, name, err)
			}
		}
	}
	if _, err := reg.Gather(); err != nil {
		t.Error(err)
	}
	for kind, m := range everyKind(t, firqprom.Options[string]{Scheduler: "api"}) {
		if err := reg.Register(m.c); err == nil {
			t.Errorf("%s: taken twice", kind)
		}
	}
	// A pool of another name is another pool.
	other := metricstest.Pool()
	other.Name = "bills\xff"
	if err := reg.Register(firqprom.Must(firqprom.NewPool(metricstest.Of(other), firqprom.Options[string]{Scheduler: "api"}))); err != nil {
		t.Error(err)
	}
	if text := scrape(t, reg, ""); !strings.Contains(text, "pool=\"bills\uFFFD\"") {
		t.Error("the other pool is missing")
	}
}

// A server that is away removes only its queue's numbers from the scrape.
func TestRedisAway(t *testing.T) {
	refused := errors.New("connection refused")
	for _, q := range []*metricstest.RedisSource{{Err: refused}, {Away: refused}} {
		text := scrape(t, pedantic(t, firqprom.Must(firqprom.NewRedis(q, firqprom.Options[string]{}))), "")
		if !strings.Contains(text, "\nfirq_queue_up{engine=\"redis\"} 0\n") || strings.Contains(text, "firq_queue_queue") {
			t.Error(text)
		}
	}
}

// onlyStats is a queue without queue times.
type onlyStats struct{ q *metricstest.RedisSource }

func (s onlyStats) Stats(ctx context.Context) (metrics.RedisStats, error) { return s.q.Stats(ctx) }

func TestRedisWithoutTimes(t *testing.T) {
	q := &metricstest.RedisSource{Away: errors.New("connection refused")}
	text := scrape(t, pedantic(t, firqprom.Must(firqprom.NewRedis(onlyStats{q}, firqprom.Options[string]{}))), "")
	if !strings.Contains(text, "\nfirq_queue_up 1\n") || strings.Contains(text, "firq_queue_queue_seconds") {
		t.Error(text)
	}
}

// A collector of a zero pool, which has no histogram, does not fail the scrape.
func TestPoolWithoutTimes(t *testing.T) {
	p := metricstest.Of(worker.Stats{Finished: 1})
	text := scrape(t, pedantic(t, firqprom.Must(firqprom.NewPool(p, firqprom.Options[string]{NativeHistogram: true}))), "")
	if !strings.Contains(text, `firq_pool_handler_duration_seconds_count{pool=""} 0`) {
		t.Error(text)
	}
}

func TestPartsErrors(t *testing.T) {
	bad := firqprom.Options[string]{Scheduler: "a\xff"}
	var none firqprom.Options[string]
	for kind, errs := range map[string][3]error{
		"scheduler": {
			second(firqprom.New[string](nil, none)), second(firqprom.New((*metricstest.Source[firq.Stats[string]])(nil), none)), second(firqprom.New(metricstest.Of(firq.Stats[string]{}), bad)),
		},
		"gate": {
			second(firqprom.NewGate[string](nil, none)), second(firqprom.NewGate((*gate.Gate[string])(nil), none)), second(firqprom.NewGate(metricstest.Of(gate.Stats[string]{}), bad)),
		},
		"http": {
			second(firqprom.NewHTTP(nil, none)), second(firqprom.NewHTTP((*firqhttp.Middleware)(nil), none)), second(firqprom.NewHTTP(metricstest.Of(gate.Traffic{}), bad)),
		},
		"grpc": {
			second(firqprom.NewGRPC(nil, none)), second(firqprom.NewGRPC((*metricstest.Source[gate.Traffic])(nil), none)), second(firqprom.NewGRPC(metricstest.Of(gate.Traffic{}), bad)),
		},
		"pool": {
			second(firqprom.NewPool(nil, none)), second(firqprom.NewPool((*worker.Pool[string, string])(nil), none)), second(firqprom.NewPool(metricstest.Of(worker.Stats{}), bad)),
		},
		"redis": {
			second(firqprom.NewRedis[string, metrics.RedisStats](nil, none)), second(firqprom.NewRedis((*metricstest.RedisSource)(nil), none)), second(firqprom.NewRedis(&metricstest.RedisSource{}, bad)),
		},
		"fleet": {
			second(firqprom.NewFleet[string, metrics.FleetStats](nil, none)), second(firqprom.NewFleet((*metricstest.Source[metrics.FleetStats])(nil), none)), second(firqprom.NewFleet(metricstest.Of(metricstest.Fleet()), bad)),
		},
		"cluster": {
			second(firqprom.NewCluster[string, metrics.ClusterStats](nil, none)), second(firqprom.NewCluster((*metricstest.Source[metrics.ClusterStats])(nil), none)), second(firqprom.NewCluster(metricstest.Of(metricstest.Cluster()), bad)),
		},
		"compute": {
			second(firqprom.NewCompute[string](nil, none)), second(firqprom.NewCompute((*compute.Server[string, int, int])(nil), none)), second(firqprom.NewCompute(metricstest.Of(compute.Stats[string]{}), bad)),
		},
		"watchdog": {
			second(firqprom.NewWatchdog(nil, none)), second(firqprom.NewWatchdog((*watchdog.Watchdog)(nil), none)), second(firqprom.NewWatchdog(metricstest.Of(watchdog.Status{}), bad)),
		},
	} {
		for _, err := range errs[:2] {
			if !errors.Is(err, firq.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), "source") {
				t.Errorf("%s: nil source: %v", kind, err)
			}
		}
		if err := errs[2]; !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(fmt.Sprint(err), "Options.Scheduler") {
			t.Errorf("%s: Scheduler that is not UTF-8: %v", kind, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestMust(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "firq") || !strings.Contains(p, "nil source") {
			t.Errorf("panic: %v", p)
		}
	}()
	firqprom.Must(firqprom.New[string](nil, firqprom.Options[string]{}))
}

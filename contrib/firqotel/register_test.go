package firqotel_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/metrics/metricstest"
)

// collected is metricstest.Queue() of scheduler "api".
const collected = `
firq.cancelled {task} sum monotonic=true [firq.scheduler=api] 104
firq.closed {task} sum monotonic=true [firq.scheduler=api] 105
firq.dequeued {task} sum monotonic=true [firq.scheduler=api] 102
firq.dropped {task} sum monotonic=true [firq.reason=global,firq.scheduler=api] 107
firq.dropped {task} sum monotonic=true [firq.reason=policy,firq.scheduler=api] 110
firq.dropped {task} sum monotonic=true [firq.reason=tenant,firq.scheduler=api] 108
firq.dropped {task} sum monotonic=true [firq.reason=timeout,firq.scheduler=api] 109
firq.enqueued {task} sum monotonic=true [firq.scheduler=api] 101
firq.expired {task} sum monotonic=true [firq.scheduler=api] 103
firq.in_flight {task} sum monotonic=false [firq.scheduler=api] 113
firq.lag {round} gauge [firq.scheduler=api] 12.5
firq.overload {task} sum monotonic=true [firq.scheduler=api] 123
firq.queue.length {task} sum monotonic=false [firq.scheduler=api] 111
firq.queue.limit {task} sum monotonic=false [firq.scheduler=api] 112
firq.queue.saturation 1 gauge [firq.scheduler=api] 0.115
firq.queue.time s histogram CumulativeTemporality [firq.scheduler=api] count=122 sum=116 max=121 bounds=[1e-06 2e-06 3600] counts=[100 0 22 0]
firq.queue.time_p95 s gauge [firq.scheduler=api] 0.118
firq.queue.time_p99 s gauge [firq.scheduler=api] 0.119
firq.queue.time_samples {task} sum monotonic=true [firq.scheduler=api] 122
firq.queue.time_sum s sum monotonic=true [firq.scheduler=api] 116
firq.tenant.dequeued {task} sum monotonic=true [firq.scheduler=api,firq.tenant=a] 60
firq.tenant.dequeued {task} sum monotonic=true [firq.scheduler=api,firq.tenant=b] 30
firq.tenant.dequeued {task} sum monotonic=true [firq.scheduler=api,firq.tenant=c] 12
firq.tenant.lag {round} gauge [firq.scheduler=api,firq.tenant=a] 0
firq.tenant.lag {round} gauge [firq.scheduler=api,firq.tenant=b] 12.5
firq.tenant.lag {round} gauge [firq.scheduler=api,firq.tenant=c] 0
firq.tenants {tenant} sum monotonic=false [firq.scheduler=api] 114
`

// The table in the documentation names every metric.
func TestDocumented(t *testing.T) {
	table := source(t, "doc.go")
	for line := range strings.Lines(strings.TrimSpace(collected + gateCollected + trafficCollected + poolCollected + redisCollected + watchdogCollected + computeCollected)) {
		if line == "\n" {
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		if !strings.Contains(table, "\n//\t"+name+" ") {
			t.Errorf("doc.go does not name %s", name)
		}
	}
}

func TestWithoutProducerOrName(t *testing.T) {
	src, p := metricstest.Of(metricstest.Queue()), newPipeline(t)
	register(t, src, firqotel.Options[string]{MeterProvider: p})
	lines := p.collect(t)
	if got := only(lines, "firq.queue.time"); len(got) != 0 {
		t.Errorf("a histogram without a Producer: %v", got)
	}
	if got := only(lines, "firq.enqueued"); !slices.Equal(got, []string{"firq.enqueued {task} sum monotonic=true [] 101"}) {
		t.Errorf("without a name: %v", got)
	}
	if n := src.Calls.Load(); n != 1 {
		t.Errorf("Stats was called %d times by one collection", n)
	}
}

func TestGlobalProvider(t *testing.T) {
	before, p := otel.GetMeterProvider(), newPipeline(t)
	otel.SetMeterProvider(p)
	defer otel.SetMeterProvider(before)
	r := register(t, metricstest.Of(metricstest.Queue()), firqotel.Options[string]{})
	if got := only(p.collect(t), "firq.enqueued"); len(got) != 1 {
		t.Errorf("the global provider has %v", got)
	}
	if err := r.Unregister(); err != nil {
		t.Error(err)
	}
}

// Schedulers share a provider; each goes alone, and may come back.
func TestUnregister(t *testing.T) {
	p := newPipeline(t)
	a := metricstest.Of(firq.Stats[string]{Enqueued: 1})
	b := metricstest.Of(firq.Stats[int]{Enqueued: 2})
	optsA := firqotel.Options[string]{MeterProvider: p, Producer: p.producer, Scheduler: "a"}
	ra := register(t, a, optsA)
	rb := register(t, b, firqotel.Options[int]{MeterProvider: p, Producer: p.producer, Scheduler: "b"})
	const lineA, lineB = "firq.enqueued {task} sum monotonic=true [firq.scheduler=a] 1", "firq.enqueued {task} sum monotonic=true [firq.scheduler=b] 2"
	check := func(when string, want ...string) {
		t.Helper()
		lines := p.collect(t)
		if got := only(lines, "firq.enqueued"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
		if got := only(lines, "firq.queue.time"); len(got) != len(want) {
			t.Errorf("%s: %d histograms, want %d", when, len(got), len(want))
		}
	}
	check("both", lineA, lineB)
	for range 2 { // the second does nothing
		if err := ra.Unregister(); err != nil {
			t.Error(err)
		}
	}
	before := a.Calls.Load()
	check("one gone", lineB)
	if a.Calls.Load() != before {
		t.Error("Stats was called after Unregister")
	}
	ra = register(t, a, optsA)
	check("back again", lineA, lineB)
	for _, r := range []*firqotel.Registration{ra, rb} {
		if err := r.Unregister(); err != nil {
			t.Error(err)
		}
	}
	check("none")
}

// The options of tenants are those of the series. Numbers are as large as OTLP takes.
func TestTenantOptions(t *testing.T) {
	p := newPipeline(t)
	st := metricstest.Queue()
	st.TopTenants[1].Dequeued = math.MaxUint64
	register(t, metricstest.Of(st), firqotel.Options[string]{
		MeterProvider: p, TopTenants: 2, TenantLabel: func(tenant string) string { return tenant + "\xff" },
	})
	want := []string{
		"firq.tenant.dequeued {task} sum monotonic=true [firq.tenant=a\uFFFD] 60",
		"firq.tenant.dequeued {task} sum monotonic=true [firq.tenant=b\uFFFD] 9223372036854774784",
	}
	if got := only(p.collect(t), "firq.tenant.dequeued"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What doc.go says of tenants that drop out of the ranking and come back.
func TestTenantComesBack(t *testing.T) {
	for temporality, want := range map[metricdata.Temporality][]string{
		metricdata.CumulativeTemporality: {"10", "", "13"},
		metricdata.DeltaTemporality:      {"10", "", "13"}, // and not 3
	} {
		p := newPipeline(t, metric.WithTemporalitySelector(func(metric.InstrumentKind) metricdata.Temporality { return temporality }))
		src := metricstest.Of(firq.Stats[string]{})
		register(t, src, firqotel.Options[string]{MeterProvider: p})
		for i, n := range []uint64{10, 0, 13} {
			src.Says.TopTenants = nil
			if n > 0 {
				src.Says.TopTenants = []firq.TenantCount[string]{{Tenant: "a", Dequeued: n}}
			}
			got := strings.Join(only(p.collect(t), "firq.tenant.dequeued"), "")
			if got = strings.TrimPrefix(got, "firq.tenant.dequeued {task} sum monotonic=true [firq.tenant=a] "); got != want[i] {
				t.Errorf("%v, collection %d: %q, want %q", temporality, i, got, want[i])
			}
		}
	}
}

// The histogram stays cumulative where the counters become deltas.
func TestDeltaReader(t *testing.T) {
	p := newPipeline(t, metric.WithTemporalitySelector(func(metric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }))
	src := metricstest.Of(metricstest.Queue())
	register(t, src, firqotel.Options[string]{MeterProvider: p, Producer: p.producer})
	first := only(p.collect(t), "firq.queue.time")
	src.Says.Enqueued += 7
	lines := p.collect(t)
	if again := only(lines, "firq.queue.time"); !slices.Equal(first, again) || !strings.Contains(again[0], "Cumulative") {
		t.Errorf("%v, then %v", first, again)
	}
	if got := only(lines, "firq.enqueued"); !slices.Equal(got, []string{"firq.enqueued {task} sum monotonic=true [] 7"}) {
		t.Errorf("after 7 more: %v", got)
	}
}

// Collections, registrations and calls of the scheduler at the same time; in the
// end the metrics say what Stats says.
func TestConcurrent(t *testing.T) {
	for name, newScheduler := range metricstest.Cores {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, firq.Config[string, string]{MaxGlobal: 64, MaxPerTenant: 16, Shards: 2, TenantIdle: time.Hour})
			p := newPipeline(t)
			var stop atomic.Bool
			var load, others sync.WaitGroup
			load.Go(func() {
				for i := 0; !stop.Load(); i++ {
					_ = s.Enqueue(fmt.Sprint("t", i%5), firq.Task[string]{})
					if i%3 != 0 {
						s.TryDequeue()
					}
				}
			})
			for i := range 2 {
				others.Go(func() {
					opts := firqotel.Options[string]{MeterProvider: p, Producer: p.producer, Scheduler: fmt.Sprint(i)}
					for range 50 {
						r, err := firqotel.Register(s, opts)
						if err != nil {
							t.Error(err)
							return
						}
						p.collect(t)
						if err := r.Unregister(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			others.Wait()
			stop.Store(true)
			load.Wait()

			register(t, s, firqotel.Options[string]{MeterProvider: p, Producer: p.producer})
			lines, st := p.collect(t), s.Stats()
			for _, want := range []string{
				fmt.Sprintf("firq.enqueued {task} sum monotonic=true [] %d", st.Enqueued),
				fmt.Sprintf("firq.dropped {task} sum monotonic=true [firq.reason=tenant] %d", st.RejectedTenant),
				fmt.Sprintf("firq.queue.length {task} sum monotonic=false [] %d", st.QueueLen),
				fmt.Sprintf("firq.queue.time_sum s sum monotonic=true [] %v", st.QueueTime.Sum.Seconds()),
				fmt.Sprintf("firq.tenant.dequeued {task} sum monotonic=true [firq.tenant=%s] %d", st.TopTenants[0].Tenant, st.TopTenants[0].Dequeued),
			} {
				if !slices.Contains(lines, want) {
					t.Errorf("missing: %s", want)
				}
			}
			if got := only(lines, "firq.queue.time"); len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf(" count=%d ", st.Dequeued)) {
				t.Errorf("%d delivered, the histograms are %v", st.Dequeued, got)
			}
		})
	}
}

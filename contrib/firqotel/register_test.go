package firqotel_test

import (
	"errors"
	"fmt"
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
)

// collected is distinct() of scheduler "api".
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

func TestRegister(t *testing.T) {
	src, p := &fixed[string]{stats: distinct()}, newPipeline(t)
	register(t, src, firqotel.Options[string]{MeterProvider: p, Producer: p.producer, Scheduler: "api"})
	if n := src.calls.Load(); n != 0 {
		t.Errorf("Register called Stats %d times", n)
	}
	if got := "\n" + strings.Join(p.collect(t), "\n") + "\n"; got != collected {
		t.Errorf("got\n%s\nwant\n%s", got, collected)
	}
	if n := src.calls.Load(); n != 2 {
		t.Errorf("Stats was called %d times by one collection, want one for the instruments and one for the histogram", n)
	}
}

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
	src, p := &fixed[string]{stats: distinct()}, newPipeline(t)
	register(t, src, firqotel.Options[string]{MeterProvider: p})
	lines := p.collect(t)
	if got := only(lines, "firq.queue.time"); len(got) != 0 {
		t.Errorf("a histogram without a Producer: %v", got)
	}
	if got := only(lines, "firq.enqueued"); !slices.Equal(got, []string{"firq.enqueued {task} sum monotonic=true [] 101"}) {
		t.Errorf("without a name: %v", got)
	}
	if n := src.calls.Load(); n != 1 {
		t.Errorf("Stats was called %d times by one collection", n)
	}
}

func TestGlobalProvider(t *testing.T) {
	before, p := otel.GetMeterProvider(), newPipeline(t)
	otel.SetMeterProvider(p)
	defer otel.SetMeterProvider(before)
	r := register(t, &fixed[string]{stats: distinct()}, firqotel.Options[string]{})
	if got := only(p.collect(t), "firq.enqueued"); len(got) != 1 {
		t.Errorf("the global provider has %v", got)
	}
	if err := r.Unregister(); err != nil {
		t.Error(err)
	}
}

func TestRegisterErrors(t *testing.T) {
	p := newPipeline(t)
	_, err := firqotel.Register[string](nil, firqotel.Options[string]{MeterProvider: p})
	if !errors.Is(err, firq.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), "source") {
		t.Errorf("nil source: %v", err)
	}
	_, err = firqotel.Register(&fixed[string]{}, firqotel.Options[string]{MeterProvider: p, Producer: p.producer, Scheduler: "a\xff"})
	if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(fmt.Sprint(err), "Options.Scheduler") {
		t.Errorf("Scheduler that is not UTF-8: %v", err)
	}
	if lines := p.collect(t); len(lines) != 0 {
		t.Errorf("after errors: %v", lines)
	}
}

// Schedulers share a provider; each goes alone, and may come back.
func TestUnregister(t *testing.T) {
	p := newPipeline(t)
	a := &fixed[string]{stats: firq.Stats[string]{Enqueued: 1}}
	b := &fixed[int]{stats: firq.Stats[int]{Enqueued: 2}}
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
	before := a.calls.Load()
	check("one gone", lineB)
	if a.calls.Load() != before {
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

func TestTenantLabels(t *testing.T) {
	type key struct{ org, user int }
	rows := []firq.TenantCount[key]{
		{Tenant: key{1, 1}, Dequeued: 50}, {Tenant: key{2, 1}, Dequeued: 40},
		{Tenant: key{1, 2}, Dequeued: 7}, {Tenant: key{3, 3}, Dequeued: 2},
	}
	for _, c := range []struct {
		name string
		opts firqotel.Options[key]
		want string
	}{
		{"as printed", firqotel.Options[key]{}, "{1 1}] 50, {1 2}] 7, {2 1}] 40, {3 3}] 2"},
		{"the first two", firqotel.Options[key]{TopTenants: 2}, "{1 1}] 50, {2 1}] 40"},
		{"more than there are", firqotel.Options[key]{TopTenants: 100}, "{1 1}] 50, {1 2}] 7, {2 1}] 40, {3 3}] 2"},
		{"none", firqotel.Options[key]{TopTenants: -1}, ""},
		{"the same label twice", firqotel.Options[key]{TenantLabel: func(k key) string { return fmt.Sprint("org ", k.org) }},
			"org 1] 57, org 2] 40, org 3] 2"},
		{"the limit counts tenants", firqotel.Options[key]{TopTenants: 3, TenantLabel: func(key) string { return "all" }}, "all] 97"},
		{"not UTF-8", firqotel.Options[key]{TenantLabel: func(key) string { return "x\xffy" }}, "x\uFFFDy] 99"},
		{"empty", firqotel.Options[key]{TenantLabel: func(key) string { return "" }}, "] 99"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t)
			c.opts.MeterProvider = p
			register(t, &fixed[key]{stats: firq.Stats[key]{TopTenants: rows}}, c.opts)
			var got []string
			for _, line := range only(p.collect(t), "firq.tenant.dequeued") {
				got = append(got, strings.TrimPrefix(line, "firq.tenant.dequeued {task} sum monotonic=true [firq.tenant="))
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

// Of tenants that share a label the lag is that of who is furthest behind, not the sum.
func TestTenantLags(t *testing.T) {
	rows := []firq.TenantCount[string]{{Tenant: "a", Dequeued: 3, Lag: 2}, {Tenant: "b", Dequeued: 2, Lag: 7}, {Tenant: "c", Dequeued: 1, Lag: 90}}
	p := newPipeline(t)
	register(t, &fixed[string]{stats: firq.Stats[string]{TopTenants: rows}}, firqotel.Options[string]{
		MeterProvider: p, TopTenants: 2, TenantLabel: func(string) string { return "x\xffy" },
	})
	if got := strings.Join(only(p.collect(t), "firq.tenant.lag"), ""); got != "firq.tenant.lag {round} gauge [firq.tenant=x\uFFFDy] 7" {
		t.Errorf("got %q", got)
	}
}

// What doc.go says of tenants that drop out of the ranking and come back.
func TestTenantComesBack(t *testing.T) {
	for temporality, want := range map[metricdata.Temporality][]string{
		metricdata.CumulativeTemporality: {"10", "", "13"},
		metricdata.DeltaTemporality:      {"10", "", "13"}, // and not 3
	} {
		p := newPipeline(t, metric.WithTemporalitySelector(func(metric.InstrumentKind) metricdata.Temporality { return temporality }))
		src := &fixed[string]{}
		register(t, src, firqotel.Options[string]{MeterProvider: p})
		for i, n := range []uint64{10, 0, 13} {
			src.stats.TopTenants = nil
			if n > 0 {
				src.stats.TopTenants = []firq.TenantCount[string]{{Tenant: "a", Dequeued: n}}
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
	src := &fixed[string]{stats: distinct()}
	register(t, src, firqotel.Options[string]{MeterProvider: p, Producer: p.producer})
	first := only(p.collect(t), "firq.queue.time")
	src.stats.Enqueued += 7
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
	for name, newScheduler := range cores {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, firq.Config[string, int]{MaxGlobal: 64, MaxPerTenant: 16, Shards: 2, TenantIdle: time.Hour})
			p := newPipeline(t)
			var stop atomic.Bool
			var load, others sync.WaitGroup
			load.Go(func() {
				for i := 0; !stop.Load(); i++ {
					_ = s.Enqueue(fmt.Sprint("t", i%5), firq.Task[int]{})
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

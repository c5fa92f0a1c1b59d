package load

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/hist"
)

func total[N uint64 | int64](xs []N) (n N) {
	for _, x := range xs {
		n += x
	}
	return n
}

// What a watch sees adds up, in every shape, and the measured window does not
// change by it.
func TestWatch(t *testing.T) {
	for _, name := range []string{"contended", "batches", "overload", "uncontended", "ping_pong", "capacity_pressure"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small(named(t, name))
			stop := make(chan struct{})
			var glances []*Glance
			var delivered, samples uint64
			var once sync.Once
			ctx, cancel := context.WithTimeout(t.Context(), testLimit)
			defer cancel()
			_, err := Run(ctx, Spec{Scenario: s, Contestant: contestant(t, contest.Lockfree), Measure: tick, Probe: -1, Watch: &Watch{
				Every: tick, Stop: stop, Times: true, See: func(g *Glance) {
					glances = append(glances, g)
					delivered, samples = delivered+g.Delivered, samples+g.Calls.Count()
					if delivered > 0 && samples > 0 && len(glances) >= 3 {
						once.Do(func() { close(stop) })
					}
				},
			}})
			if err != nil {
				t.Fatalf("%v, with %d glances, %d tasks and %d times", err, len(glances), delivered, samples)
			}
			at := time.Duration(0)
			for _, g := range glances {
				if g.Waits.Count() != g.Delivered || total(g.Served) != g.Delivered || total(g.Asked) != g.Offered || g.Rejected > 0 && !s.Reject {
					t.Errorf("%d delivered, %d of them by tenant, %d queue times; %d offered, %d by tenant; %d rejected",
						g.Delivered, total(g.Served), g.Waits.Count(), g.Offered, total(g.Asked), g.Rejected)
				}
				if g.At <= at || g.Elapsed != g.At-at || g.Queued < 0 {
					t.Errorf("at %v, %v after %v; %d queued", g.At, g.Elapsed, at, g.Queued)
				}
				at = g.At
			}
		})
	}
}

// A watch that does not end by itself ends with the run: by Stop, by an error, by
// the context.
func TestWatchEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	s := small(named(t, "contended"))
	lockfree := contestant(t, contest.Lockfree)
	stopped := make(chan struct{})
	close(stopped)
	if _, err := Run(ctx, Spec{Scenario: s, Contestant: lockfree, Probe: -1, Watch: &Watch{Every: time.Hour, Stop: stopped, See: func(*Glance) {}}}); err != nil {
		t.Errorf("stopped: %v", err)
	}
	_, err := Run(ctx, Spec{Scenario: s, Probe: -1, Watch: &Watch{Every: tick, See: func(*Glance) {}}, Contestant: contest.Contestant{
		Name: "broken", New: func(cfg contest.Config) (contest.Queue, error) {
			q, err := lockfree.New(cfg)
			return broken{q}, err
		},
	}})
	if !errors.Is(err, errBroken) {
		t.Errorf("broken: %v", err)
	}
	if ctx.Err() != nil {
		t.Errorf("a watch went on for %v, although it was stopped or the run had failed", testLimit)
	}
}

// A record has a line for each of the noisy tenants and one for the others. What
// they ask for, and which tenants are served, is the machine's business: on a busy one some have
// no turn while the record lasts. So it goes on until one has.
func TestRecord(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	s := small(named(t, "overload"))
	for record, sum := 40*tick, int64(0); sum == 0; record *= 2 {
		r, err := Run(ctx, Spec{Scenario: s, Contestant: contestant(t, contest.Lockfree), Warmup: tick, Measure: tick, Record: record, Probe: -1})
		if err != nil {
			t.Fatalf("record of %v: %v", record, err)
		}
		rec := r.Service
		if rec == nil || rec.Unit != "tasks" || len(rec.Ends) == 0 || len(rec.Ends) > serviceBuckets+1 || !slices.IsSorted(rec.Ends) || len(rec.Lines) != 5 {
			t.Fatalf("record %+v", rec)
		}
		for i, l := range rec.Lines {
			want := ServiceLine{Name: tenantKeys(5)[i], Tenants: 1}
			if i == 4 {
				want = ServiceLine{Name: scenario.FocusQuiet, Tenants: s.Tenants - 4}
			}
			if l.Name != want.Name || l.Tenants != want.Tenants || len(l.Asked) != len(rec.Ends) || len(l.Served) != len(rec.Ends) {
				t.Errorf("line %d: %+v", i, l)
			}
			sum += total(l.Served)
		}
	}
	if r, err := Run(t.Context(), Spec{Scenario: s, Contestant: contestant(t, contest.Lockfree), Measure: tick, Probe: -1}); err != nil || r.Service != nil {
		t.Errorf("a record that nobody asked for: %+v, %v", r.Service, err)
	}
}

// A record is not longer than it should be where each glance takes as long as all of
// it.
func TestRecordIsBounded(t *testing.T) {
	for range 20 { // of two cases that are ready, select takes any
		synctest.Test(t, func(t *testing.T) {
			var rec recorder
			r := &run{ctx: t.Context(), s: scenario.Scenario{Tenants: 1}}
			r.Watch = rec.watch(time.Second)
			see := r.Watch.See
			r.Watch.See = func(g *Glance) {
				see(g)
				time.Sleep(time.Second)
			}
			r.phase.Store(recording)
			r.watch()
			if n := len(rec.glances); n != 2 {
				t.Errorf("%d glances, want one, and the last", n)
			}
		})
	}
}

// Which tenants a record shows by themselves.
func TestRecorder(t *testing.T) {
	g := func(served ...uint64) *Glance {
		asked := slices.Clone(served)
		for i := range asked {
			asked[i] *= 10
		}
		return &Glance{Asked: asked, Served: served}
	}
	rec := recorder{glances: []*Glance{g(1, 2, 0, 9, 0, 0, 7, 3), g(0, 2, 0, 9, 5, 0, 7, 3)}}
	keys := tenantKeys(8)
	for _, c := range []struct {
		hot  int
		want string
	}{
		{0, "3: 18, 6: 14, 7: 6, 4: 5, 1: 4, other tenants: 1"},
		{1, "0: 1, quiet tenants: 47"},
		{6, "0: 1, 1: 4, 2: 0, 3: 18, 4: 5, other tenants: 20"},
	} {
		var parts []string
		for _, l := range rec.service(keys, c.hot).Lines {
			parts = append(parts, strings.TrimPrefix(l.Name, "tenant-00000")+": "+strconv.FormatInt(total(l.Served), 10))
			if total(l.Asked) != 10*total(l.Served) || len(l.Asked) != 2 || len(l.Served) != 2 {
				t.Errorf("%d hot, %s: asked for %d, served %d", c.hot, l.Name, l.Asked, l.Served)
			}
		}
		if got := strings.Join(parts, ", "); got != c.want {
			t.Errorf("%d hot: %s, want %s", c.hot, got, c.want)
		}
	}
	if (&recorder{}).service(keys, 0) != nil {
		t.Error("a record of nothing")
	}
}

// Points are the quantiles that there are samples for.
func TestPoints(t *testing.T) {
	h := hist.NewLocal()
	for i := range 1000 {
		h.Record(time.Duration(i + 1))
	}
	s := hist.NewSnapshot()
	h.AddTo(s)
	l := Summary(s)
	if len(l.Points) != 3*pointsPerDecade+1 || l.Points[0] != 1 {
		t.Fatalf("points %v", l.Points)
	}
	for k, v := range l.Points {
		if want := PointQuantile(k) * 1000; math.Abs(float64(v)-want) > 2+want/500 {
			t.Errorf("point %d, quantile %v: %v, want %v", k, PointQuantile(k), v, want)
		}
	}
	if PointQuantile(10) < 0.98999 || PointQuantile(10) > 0.99001 || l.Points[15] != 999 {
		t.Errorf("quantile %v, points %v", PointQuantile(10), l.Points)
	}
	if e := Summary(hist.NewSnapshot()); e.Points != nil {
		t.Errorf("points of nothing: %v", e.Points)
	}
}

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
	"time"

	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/internal/bench/contest"
	"github.com/firq-go/firq/internal/bench/scenario"
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

// A watch that has no end of its own ends with the run: by Stop, by an error, by
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

// A record says who is served when: in overload the quiet tenants get all they
// ask for from a fair queue, and the noisy ones what is left.
func TestRecord(t *testing.T) {
	s := small(named(t, "overload"))
	var rec *Service
	for record := 40 * tick; ; record *= 2 {
		r, err := Run(t.Context(), Spec{Scenario: s, Contestant: contestant(t, contest.Lockfree), Warmup: tick, Measure: tick, Record: record, Probe: -1})
		if err != nil {
			t.Fatal(err)
		}
		rec = r.Service
		starved := func(l ServiceLine) bool { return total(l.Asked) == 0 || total(l.Served) == 0 }
		if rec == nil || !slices.ContainsFunc(rec.Lines, starved) || record > testLimit/4 {
			break
		} // else once more, for longer: on a busy machine somebody may not have had a turn yet
	}
	if rec == nil || rec.Unit != "tasks" || len(rec.Ends) == 0 || len(rec.Ends) > serviceBuckets+1 || !slices.IsSorted(rec.Ends) || len(rec.Lines) != 5 {
		t.Fatalf("record %+v", rec)
	}
	for i, l := range rec.Lines {
		want := ServiceLine{Name: tenantKeys(5)[i], Tenants: 1}
		if i == 4 {
			want = ServiceLine{Name: scenario.FocusQuiet, Tenants: s.Tenants - 4}
		}
		if l.Name != want.Name || l.Tenants != want.Tenants || len(l.Asked) != len(rec.Ends) || len(l.Served) != len(rec.Ends) || total(l.Asked) == 0 || total(l.Served) == 0 {
			t.Errorf("line %d: %+v", i, l)
		}
	}
	noisy, quiet := rec.Lines[0], rec.Lines[4]
	if total(noisy.Served) >= total(noisy.Asked) || total(noisy.Asked) < total(quiet.Asked) {
		t.Errorf("noisy %d of %d, quiet %d of %d", total(noisy.Served), total(noisy.Asked), total(quiet.Served), total(quiet.Asked))
	}
	if r, err := Run(t.Context(), Spec{Scenario: s, Contestant: contestant(t, contest.Lockfree), Measure: tick, Probe: -1}); err != nil || r.Service != nil {
		t.Errorf("a record that nobody asked for: %+v, %v", r.Service, err)
	}
}

// Who is shown by himself in a record.
func TestRecorder(t *testing.T) {
	g := func(served ...uint64) *Glance { return &Glance{Asked: served, Served: served} }
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

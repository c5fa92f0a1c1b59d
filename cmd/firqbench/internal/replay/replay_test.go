package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/trace"
)

func parse(t *testing.T, text string) *trace.Trace {
	t.Helper()
	tr, err := trace.Read(strings.NewReader(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// hundred is a trace of 100 requests over 990 ms: tenant a has 80 of them, b to
// f four each.
func hundred(t *testing.T) *trace.Trace {
	var b strings.Builder
	b.WriteString("at_ms,tenant,cost\n")
	for i := range 100 {
		tenant := "a"
		if i%5 == 0 {
			tenant = string(rune('b' + i/5%5))
		}
		fmt.Fprintf(&b, "%d,%s,10\n", 10*i, tenant)
	}
	return parse(t, b.String())
}

func about(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

func TestPlan(t *testing.T) {
	tr := hundred(t) // cost 1000 over 990 ms
	for _, c := range []struct {
		name                 string
		o                    Options
		speed, service, load float64
		span                 time.Duration
	}{
		{"nothing given", Options{}, 0.099, 0.95 * 10e9 * 32 / 1000, 0.95, 10 * time.Second},
		{"duration", Options{Span: 99 * time.Millisecond}, 10, 0.95 * 99e6 * 32 / 1000, 0.95, 99 * time.Millisecond},
		{"speed", Options{Speed: 10, Workers: 2, Load: 0.5}, 10, 0.5 * 99e6 * 2 / 1000, 0.5, 99 * time.Millisecond},
		{"speed and service", Options{Speed: 10, Workers: 2, Service: time.Microsecond}, 10, 1000, 1e6 / (99e6 * 2), 99 * time.Millisecond},
		{"service", Options{Workers: 2, Service: 1 * time.Millisecond, Load: 0.5}, 0.99, 1e6, 0.5, time.Second},
		{"service and duration", Options{Workers: 2, Service: 1 * time.Millisecond, Span: 990 * time.Millisecond}, 1, 1e6, 1e9 / (990e6 * 2), 990 * time.Millisecond},
		{"all at once", Options{Speed: math.Inf(1), Workers: 2}, 0, 0.95 * 10e9 * 2 / 1000, 0, 0},
	} {
		p, err := NewPlan(tr, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !about(p.Speed, c.speed) || !about(p.ServiceNs, c.service) || !about(p.Load, c.load) || !about(float64(p.Span), float64(c.span)) {
			t.Errorf("%s: %+v", c.name, p)
		}
		if p.Quantum != 10 || p.Workers == 0 {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	one := parse(t, "at_ms,tenant,cost\n5,a,3\n")
	if p, err := NewPlan(one, Options{}); err != nil || p.Speed != 0 || p.ServiceNs <= 0 {
		t.Errorf("a single request: %+v, %v", p, err)
	}
	huge := parse(t, "at_ms,tenant,cost\n0,a,200000000000\n9000000000000,b,200000000000\n")
	if p, err := NewPlan(huge, Options{}); err != nil || p.Span != 10*time.Second {
		t.Errorf("centuries: %+v, %v", p, err)
	}
}

func TestPlanErrors(t *testing.T) {
	tr := hundred(t)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Speed: -1}, "--speed: -1"},
		{Options{Speed: math.NaN()}, "--speed: NaN"},
		{Options{Service: -1}, "--service: -1ns"},
		{Options{Load: -1}, "--load: -1"},
		{Options{Load: math.Inf(1)}, "--load: +Inf"},
		{Options{Span: -1}, "--duration: -1ns"},
		{Options{Workers: -1}, "--workers: -1"},
		{Options{Quantum: -1}, "--quantum: -1"},
		{Options{Shards: 1 << 20}, "--shards: 1048576"},
		{Options{InFlight: -1}, "--in-flight: -1"},
		{Options{Speed: 2, Span: 3}, "--speed and --duration"},
		{Options{Speed: 2, Service: 3, Load: 1}, "--load follows"},
		{Options{Speed: 1e-9}, "choose a higher --speed"},
		{Options{Service: time.Hour}, "or a lower --service"},
		{Options{Service: math.MaxInt64}, "or a lower --service"},
	} {
		if p, err := NewPlan(tr, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v; want %q", c.o, p, err, c.want)
		}
	}
}

func TestGroups(t *testing.T) {
	tr := parse(t, "at_ms,tenant,cost\n0,a,5\n1,b,1\n2,c,9\n3,d,2\n4,e,2\n5,a,5\n")
	var got []string
	for _, g := range Groups(tr, 2) {
		var members []string
		for i, has := range g.has {
			if has {
				members = append(members, tr.Tenants[i])
			}
		}
		slices.Sort(members)
		got = append(got, fmt.Sprintf("%s: %s, %d tenants, %d requests, cost %d", g.Name, strings.Join(members, ""), g.Tenants, g.Requests, g.Cost))
	}
	want := []string{
		"all tenants: abcde, 5 tenants, 6 requests, cost 24",
		"quiet tenants: be, 2 tenants, 2 requests, cost 3",
		"busiest tenants: ac, 2 tenants, 3 requests, cost 19",
		"a: a, 1 tenants, 2 requests, cost 10",
		"c: c, 1 tenants, 1 requests, cost 9",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if one := Groups(parse(t, "at_ms,tenant,cost\n0,a,5\n"), 0); len(one) != 1 {
		t.Errorf("one tenant: %+v", one)
	}
	var names []string // of two, whose busiest two are all, and whose quiet half is the smaller one
	for _, g := range Groups(parse(t, "at_ms,tenant,cost\n0,big,5\n1,small,1\n"), 3) {
		names = append(names, g.Name)
	}
	if want := []string{GroupAll, GroupQuiet, "big"}; !slices.Equal(names, want) {
		t.Errorf("two tenants: %q, want %q", names, want)
	}
}

func quick(t *testing.T, tr *trace.Trace, o Options) Plan {
	t.Helper()
	p, err := NewPlan(tr, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func silent(string, int) {}

func TestRun(t *testing.T) {
	tr := hundred(t)
	for _, o := range []Options{
		{Span: 50 * time.Millisecond}, {Speed: math.Inf(1), Service: time.Nanosecond}, {Span: 20 * time.Millisecond, InFlight: 1, Workers: 3},
	} {
		p := quick(t, tr, o)
		for _, c := range contest.ForReplay() {
			var settled int
			res, err := Run(t.Context(), tr, p, c, func(_ string, n int) { settled = max(settled, n) })
			if err != nil {
				t.Fatal(err)
			}
			if res.Contestant != c.Name || res.Delivered != 100 || res.Expired != 0 || res.Rejected != 0 || res.Elapsed <= 0 ||
				res.Lag.Samples != 100 || settled > 100 {
				t.Errorf("%+v: %+v, %d settled", o, res, settled)
			}
			all := res.Groups[0]
			if all.Name != GroupAll || all.Queue.Samples != 100 || all.Queue.Max < all.Queue.P50 || all.Tenants != 6 {
				t.Errorf("%+v: %+v", o, all)
			}
		}
	}
}

func TestDeadlines(t *testing.T) {
	// One worker is busy with the first request for long; the others have
	// microseconds to live, but the last.
	tr := parse(t, "at_ms,tenant,cost,priority,deadline_ms\n0,a,1000,,\n100,b,1,,1\n100,c,1,6,0.5\n100,d,1,1,\n")
	p := quick(t, tr, Options{Speed: 20, Service: 50 * time.Microsecond, Workers: 1})
	for _, c := range contest.ForReplay() {
		late := 2
		if c.Name == contest.Simple { // knows no deadlines
			late = 0
		}
		res, err := Run(t.Context(), tr, p, c, silent)
		if err != nil || res.Delivered != 4-late || res.Expired != late {
			t.Errorf("%s: %+v, %v", c.Name, res, err)
		}
	}
}

func TestInterrupt(t *testing.T) {
	tr := hundred(t)
	p := quick(t, tr, Options{Span: time.Hour})
	for _, c := range contest.ForReplay() {
		ctx, cancel := context.WithCancel(t.Context())
		var once sync.Once
		res, err := Run(ctx, tr, p, c, func(_ string, settled int) {
			if settled > 0 { // the first request comes immediately
				once.Do(cancel)
			}
		})
		if !errors.Is(err, context.Canceled) || res.Delivered == 0 || res.Groups[0].Queue.Samples == 0 {
			t.Errorf("%s: %+v, %v", c.Name, res, err)
		}
		cancel()
	}
}

// faulty delivers every request twice, or none of one tenant.
type faulty struct {
	contest.Queue
	twice bool
}

func (f faulty) Enqueue(tenant string, t contest.Task) error {
	if f.twice {
		if err := f.Queue.Enqueue(tenant, t); err != nil {
			return err
		}
	} else if tenant == "c" {
		return nil
	}
	return f.Queue.Enqueue(tenant, t)
}

// The check of each replay bites.
func TestFaults(t *testing.T) {
	tr := hundred(t)
	p := quick(t, tr, Options{Span: 20 * time.Millisecond})
	fifo := contest.ForReplay()[0]
	for _, c := range []struct {
		twice bool
		want  string
	}{{true, "delivered twice"}, {false, "neither delivered nor dropped"}} {
		_, err := Run(t.Context(), tr, p, contest.Contestant{Name: "faulty", New: func(cfg contest.Config) (contest.Queue, error) {
			cfg.MaxGlobal *= 2
			q, err := fifo.New(cfg)
			return faulty{q, c.twice}, err
		}}, silent)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The acceptance input, where it is there: FIRQ_DATA names its directory.
func TestWeblog(t *testing.T) {
	dir := os.Getenv("FIRQ_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	tr, err := trace.ReadFile(filepath.Join(dir, "weblog.csv.gz"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no weblog.csv.gz; set FIRQ_DATA to its directory")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Requests) != 10_000 || len(tr.Tenants) != 1753 {
		t.Errorf("%d requests of %d tenants", len(tr.Requests), len(tr.Tenants))
	}
	p := quick(t, tr, Options{Span: 100 * time.Millisecond})
	for _, c := range contest.ForReplay() {
		if res, err := Run(t.Context(), tr, p, c, silent); err != nil || res.Delivered != 10_000 {
			t.Errorf("%+v, %v", res, err)
		}
	}
}

// The record of a replay has all that was asked for, and what was delivered, at
// its time.
func TestService(t *testing.T) {
	tr := parse(t, "at_ms,tenant,cost\n0,a,50\n0,b,1\n1000,c,2\n1000,d,90\n2000,a,30\n")
	p := Plan{Speed: 1, Span: 2 * time.Second}
	waits := make([]atomic.Int64, 5)
	for i, w := range []time.Duration{0, 500 * time.Millisecond, lost, 1500 * time.Millisecond, 2 * time.Second} {
		waits[i].Store(int64(w))
	}
	s := service(tr, p, Groups(tr, 2), waits, 4*time.Second)
	var got []string
	at := func(xs []int64) (text string) {
		for i, x := range xs {
			if x != 0 {
				text += fmt.Sprintf(" %d at %v", x, s.Ends[i])
			}
		}
		return text
	}
	for _, l := range s.Lines {
		got = append(got, fmt.Sprintf("%s (%d): asked%s; served%s", l.Name, l.Tenants, at(l.Asked), at(l.Served)))
	}
	want := []string{
		"quiet tenants (2): asked 1 at 80ms 2 at 1.04s; served 1 at 560ms",
		"d (1): asked 90 at 1.04s; served 90 at 2.56s",
		"a (1): asked 50 at 80ms 30 at 2.08s; served 50 at 80ms 30 at 4s",
	}
	if !slices.Equal(got, want) || s.Unit != "cost" {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	one := service(tr, p, Groups(tr, 0)[:1], waits, time.Second) // no groups but all
	if len(one.Lines) != 1 || one.Lines[0].Name != "other tenants" || one.Lines[0].Tenants != 4 {
		t.Errorf("got %+v", one.Lines)
	}
}

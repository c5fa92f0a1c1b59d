package live

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/hist"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != text {
		t.Errorf("%s, %v; got\n%s\nwant\n%s", name, err, text, want)
	}
}

// glance is half a second of four tenants: the first asks for ten times as much
// as the others, and is served what share says.
func glance(at int, share uint64) *load.Glance {
	snapshot := func(d time.Duration) *hist.Snapshot {
		l, s := hist.NewLocal(), hist.NewSnapshot()
		l.RecordN(d, 99)
		l.RecordN(10*d, 1)
		l.AddTo(s)
		return s
	}
	g := &load.Glance{
		At: time.Duration(at) * 500 * time.Millisecond, Elapsed: 500 * time.Millisecond, Queued: 77, Rejected: 100, Expired: 5,
		Calls: snapshot(80), Waits: snapshot(time.Millisecond), Asked: []uint64{1000, 100, 100, 0}, Served: []uint64{share, 100, 400 - share, 0},
	}
	g.Offered, g.Delivered = 1200, 500
	return g
}

// fake is a view of three glances, the last two of which are shown.
func fake(over bool) *View {
	s := &session{plan: Plan{Spec: load.Spec{Scenario: scenario.Scenario{Name: "made_up", About: "a view for a <test>"}}}}
	for i, name := range []string{contest.Lockfree, contest.Channel} {
		side := &side{name: name, all: newSums(4)}
		for at := range 3 {
			side.see(glance(at+1, []uint64{300, 390}[i]))
		}
		s.sides = append(s.sides, side)
	}
	return s.view(over)
}

func TestTable(t *testing.T) {
	v := fake(false)
	golden(t, "two.txt", Table(v, 100))
	golden(t, "narrow.txt", Table(v, 60))
	v.Sides = v.Sides[:1]
	v.Sides[0].Error = "it <broke>"
	golden(t, "one.txt", Table(v, 100))
	golden(t, "over.txt", Table(fake(true), 100))
	golden(t, "lines.txt", Lines(fake(false)))
	golden(t, "nothing.txt", Table(&View{Scenario: "x", Sides: []Side{{Contestant: "a", Queued: -1}}}, 100)+Lines(&View{Sides: []Side{{}}}))
	for width := 20; width < 120; width += 7 {
		for line := range strings.Lines(Table(fake(false), width)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns, of %d: %s", n, width, line)
			}
		}
	}
}

// Names and errors are text on the terminal, and no more.
func TestTableIsPrintable(t *testing.T) {
	v := fake(false)
	v.Scenario, v.Sides[0].Contestant, v.Sides[0].Error, v.Sides[0].Fairness.WorstTenant, v.Sides[0].Top[0].Name = "\x1bs", "\x1bc", "\x1be", "\x1bw", "\x1bt"
	for text, names := range map[string]string{Table(v, 100): "scewt", Lines(v): "cw"} {
		for _, n := range names {
			if !strings.Contains(text, `\x1b`+string(n)) || strings.Contains(text, "\x1b") {
				t.Errorf("%c is missing, or not printable, in\n%q", n, text)
			}
		}
	}
	v.Scenario = strings.Repeat("\a", 30)
	for line := range strings.Lines(Table(v, 40)) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 40 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// What is shown is about a second, and at the end about the whole run.
func TestSpan(t *testing.T) {
	now, whole := fake(false).Sides[0], fake(true).Sides[0]
	if now.Span != time.Second || now.TasksPerSec != 1000 || now.Queue.Samples != 200 || now.Rejected != 200 || now.Expired != 10 || now.Offered != 2400 {
		t.Errorf("%+v", now)
	}
	if whole.Span != 1500*time.Millisecond || whole.TasksPerSec != 1000 || whole.Queue.Samples != 300 || whole.Queued != 77 {
		t.Errorf("%+v", whole)
	}
}

func TestFairness(t *testing.T) {
	name := func(i int) string { return string(rune('a' + i)) }
	for _, c := range []struct {
		asked, served []uint64
		want          Fairness
	}{
		{[]uint64{0, 0}, []uint64{0, 0}, Fairness{}},
		{[]uint64{5, 0}, []uint64{0, 0}, Fairness{}},
		{[]uint64{10, 10, 0}, []uint64{4, 4, 0}, Fairness{2, 1, 1, "a"}},
		{[]uint64{100, 10, 10}, []uint64{20, 10, 10}, Fairness{3, 1, 1, "a"}}, // a asks for more, the others have what they want
		{[]uint64{100, 10, 10}, []uint64{30, 0, 0}, Fairness{3, 1.0 / 3, 0, "b"}},
		{[]uint64{100, 20, 20}, []uint64{30, 0, 15}, Fairness{3, 0.6, 0, "b"}}, // shares of 15: 2, 0 and 1
		{[]uint64{0, 10}, []uint64{5, 5}, Fairness{2, 1, 1, "a"}},              // served from before
	} {
		got := fairness(c.asked, c.served, name)
		if d := got.Jain - c.want.Jain; d > 1e-9 || d < -1e-9 || got.Tenants != c.want.Tenants || got.Worst != c.want.Worst || got.WorstTenant != c.want.WorstTenant {
			t.Errorf("%v of %v: %+v, want %+v", c.served, c.asked, got, c.want)
		}
	}
}

func TestBusiest(t *testing.T) {
	counts := []uint64{3, 0, 9, 3, 9, 1, 4}
	for n, want := range map[int][]int{0: nil, 1: {2}, 3: {2, 4, 6}, 4: {2, 4, 6, 0}, 9: {2, 4, 6, 0, 3, 5}} {
		if n == 0 {
			continue
		}
		if got := busiest(counts, n); !slices.Equal(got, want) {
			t.Errorf("the %d busiest: %v, want %v", n, got, want)
		}
	}
}

func plan(t *testing.T, name string, contestants ...string) Plan {
	t.Helper()
	chosen, err := scenario.Choose([]string{name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := contest.Select(contest.ForRun(), contestants)
	if err != nil {
		t.Fatal(err)
	}
	return Plan{Spec: load.Spec{Scenario: chosen[0]}, Contestants: cs, Every: 5 * time.Millisecond}
}

// patience is when a run that ends by itself, or was told to, has failed.
const patience = 10 * time.Second

// A real run, side by side: it is seen while it goes on, ends with the context,
// and then sums up. It is no error, and no goroutine is left.
func TestRun(t *testing.T) {
	for _, rate := range []float64{0, 20_000} {
		p := plan(t, "contended", contest.OneLock, contest.Lockfree)
		p.Spec.Rate, p.Spec.Arrivals = rate, "constant"
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		var views []*View
		err := Run(ctx, p, func(v *View) {
			views = append(views, v)
			busy := func(s Side) bool { return len(s.Top) == topTenants && s.Enqueue.Samples > 0 }
			if len(views) > 2 && busy(v.Sides[0]) && busy(v.Sides[1]) {
				cancel()
			}
		})
		late := errors.Is(ctx.Err(), context.DeadlineExceeded)
		cancel()
		if err != nil || late {
			t.Fatalf("%v; tenants or enqueue times were missing for %v: %v", err, patience, late)
		}
		last := views[len(views)-1]
		if !last.Over || views[0].Over || last.Scenario != "contended" || last.At <= 0 {
			t.Errorf("%+v", last)
		}
		for _, s := range last.Sides {
			if s.TasksPerSec <= 0 || s.Offered <= 0 || s.Queue.Max < 10 || s.Enqueue.Samples == 0 || s.Fairness.Tenants == 0 || len(s.Top) != topTenants || s.Span <= 0 || s.Error != "" || s.Queued < 0 {
				t.Errorf("%+v", s)
			}
		}
		if a, b := last.Sides[0].Contestant, last.Sides[1].Contestant; a == b {
			t.Errorf("%s beside %s", a, b)
		}
	}
}

func TestRunFor(t *testing.T) {
	p := plan(t, "uncontended", contest.Channel)
	p.For = 20 * time.Millisecond
	over := 0
	if err := Run(t.Context(), p, func(v *View) {
		if v.Over {
			over++
		}
	}); err != nil || over != 1 {
		t.Errorf("%v, ended %d times", err, over)
	}
}

type broken struct{ contest.Queue }

var errBroken = errors.New("broken")

func (broken) Enqueue(string, contest.Task) error { return errBroken }

// One that fails ends the other one too, and it is said why.
func TestRunFails(t *testing.T) {
	p := plan(t, "contended", contest.OneLock, contest.Lockfree)
	make := p.Contestants[0].New
	p.Contestants[0].New = func(cfg contest.Config) (contest.Queue, error) {
		q, err := make(cfg)
		return broken{q}, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last *View
	err := Run(ctx, p, func(v *View) { last = v })
	if ctx.Err() != nil {
		t.Errorf("one side has failed, and the other one went on for %v", patience)
	}
	if !errors.Is(err, errBroken) || !last.Over || !strings.Contains(last.Sides[0].Error, "broken") || last.Sides[1].Error != "" {
		t.Errorf("%v, %+v", err, last)
	}
}

// Elsewhere than on a terminal there are lines, one per second, and in the end a
// table; nothing moves the cursor.
func TestScreenPlain(t *testing.T) {
	var b strings.Builder
	s := NewScreen(&b)
	v := fake(false)
	for _, at := range []time.Duration{500, 1000, 1500, 1900, 2100} {
		v.At = at * time.Millisecond
		s.Show(v)
	}
	if n := strings.Count(b.String(), "\n"); n != 4 { // at 1 s and 2.1 s
		t.Errorf("%d lines, want 4:\n%s", n, &b)
	}
	s.Show(fake(true))
	if !strings.Contains(b.String(), "whole run") || strings.Contains(b.String(), "\x1b") {
		t.Errorf("got\n%s", &b)
	}
}

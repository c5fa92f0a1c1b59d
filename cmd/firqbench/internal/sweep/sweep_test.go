package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func parse(t *testing.T, texts ...string) (vs []Value) {
	t.Helper()
	for _, text := range texts {
		v, err := ParseValue(text)
		if err != nil || v.String() != text {
			t.Fatalf("ParseValue(%q) = %v, %v", text, v, err)
		}
		vs = append(vs, v)
	}
	return vs
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		text string
		on   map[int]int // processors: number; 0: as the scenario has it
	}{
		{"default", map[int]int{1: 0, 8: 0}}, {"3", map[int]int{1: 3, 8: 3}}, {"2x", map[int]int{1: 2, 8: 16}}, {"4+", map[int]int{1: 4, 4: 4, 8: 8}},
	} {
		v := parse(t, c.text)[0]
		for processors, want := range c.on {
			if got := v.on(processors); (got == nil) != (want == 0) || got != nil && *got != want {
				t.Errorf("%s on %d: %v, want %d", c.text, processors, got, want)
			}
		}
	}
	for _, bad := range []string{"", "0", "-1", "x", "2y", "+", "1.5", "2xx"} {
		if v, err := ParseValue(bad); err == nil {
			t.Errorf("ParseValue(%q) = %v", bad, v)
		}
	}
}

func tiny(t *testing.T) Plan {
	return Plan{
		Scenarios: []string{"contended", "uncontended"}, Cores: []int{1, 2}, Producers: parse(t, "1", "4+"), Shards: parse(t, "default", "2x"),
		Contestants: []string{contest.Channel}, Work: []time.Duration{0, 100}, Rounds: 1, Warmup: 0, Duration: time.Millisecond,
	}
}

func names(steps []Step) (ns []string) {
	for _, s := range steps {
		sc := s.plan.Scenarios[0]
		ns = append(ns, fmt.Sprintf("%s c%d %d+%d s%d %v %v", sc.Name, s.Cores, sc.Producers, sc.Consumers, sc.Shards, s.plan.Works, s.plan.Rates))
	}
	return ns
}

// Every combination is there once; what a scenario does not have does not
// multiply it.
func TestSteps(t *testing.T) {
	p := tiny(t)
	steps, err := p.Steps()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, cores := range []int{1, 2} {
		for _, producers := range []int{1, 4} {
			for _, shards := range []int{0, 2 * cores} {
				for _, work := range []string{"[0s]", "[100ns]"} {
					want = append(want, fmt.Sprintf("contended c%d %d+8 s%d %s []", cores, producers, shards, work))
				}
			}
		}
		for _, shards := range []int{0, 2 * cores} { // one producer, whatever is asked for
			for _, work := range []string{"[0s]", "[100ns]"} {
				want = append(want, fmt.Sprintf("uncontended c%d 1+1 s%d %s []", cores, shards, work))
			}
		}
	}
	if got := names(steps); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	p = Plan{Scenarios: []string{"contended", "overload"}, Rate: []float64{5, 6}, Work: []time.Duration{0, 1}, Rounds: 1, Duration: 1}
	if steps, err := p.Steps(); err != nil || len(steps) != 2*2+2 || steps[0].Cores != runtime.GOMAXPROCS(0) {
		t.Errorf("%q, %v", names(steps), err)
	}
	for _, c := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(p *Plan) { p.Scenarios = []string{"nope"} }, `unknown scenario "nope"`},
		{func(p *Plan) { p.Contestants = []string{"nope"} }, `--contestants: unknown contestant "nope"`},
		{func(p *Plan) { p.Scenarios, p.Tenants = []string{"zipf"}, parse(t, "1") }, "--tenants: 1, zipf needs 2"},
		{func(p *Plan) { p.Rate = []float64{1} }, "--rate: uncontended is a closed loop"},
		{func(p *Plan) { p.Rounds = 0 }, "--rounds: 0"},
	} {
		p := tiny(t)
		c.change(&p)
		if _, err := p.Steps(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

var errKilled = errors.New("killed")

// A sweep that is killed after every single step, and read back from what it had
// written each time, does each step once and ends with all of them in order.
func TestResume(t *testing.T) {
	plan := tiny(t)
	steps, err := plan.Steps()
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Plan: plan}
	var ran []int
	for session := 0; ; session++ {
		err := r.Run(t.Context(), steps, func(step, _ int, cell *suite.Cell, _ string) {
			ran = append(ran, step)
			if cell.Point == nil || cell.Point.GOMAXPROCS != runtime.GOMAXPROCS(0) {
				t.Errorf("step %d: %+v with GOMAXPROCS %d", step, cell.Point, runtime.GOMAXPROCS(0))
			}
		}, func(r *Report) error {
			if r.Done != session+1 || r.Steps != len(steps) {
				t.Fatalf("session %d saves %d of %d steps", session, r.Done, r.Steps)
			}
			return errKilled
		})
		text, marshalErr := json.Marshal(r)
		if marshalErr != nil {
			t.Fatal(marshalErr)
		}
		r = new(Report)
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatal(err)
		}
		if conflict := r.Conflict(&plan); conflict != nil {
			t.Fatalf("what was written is of another plan: %v", conflict)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	for i, step := range ran {
		if i != step {
			t.Fatalf("steps that ran: %v", ran)
		}
	}
	if len(ran) != len(steps) || len(r.Cells) != len(steps) {
		t.Errorf("%d runs and %d cells of %d steps", len(ran), len(r.Cells), len(steps))
	}
	for i, c := range r.Cells {
		s := &steps[i]
		if c.Scenario != s.plan.Scenarios[0] || c.Point.GOMAXPROCS != s.Cores || c.Variant.Work != s.plan.Works[0] || len(c.Runs) != 1 {
			t.Errorf("cell %d: %+v", i, c)
		}
	}
}

// Ctrl-C in the middle of a step forgets the step, and only that.
func TestInterrupt(t *testing.T) {
	plan := tiny(t)
	plan.Rounds = 3
	steps, err := plan.Steps()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := runtime.GOMAXPROCS(0)
	r, saved := &Report{Plan: plan}, 0
	err = r.Run(ctx, steps, func(step, round int, _ *suite.Cell, _ string) {
		if step == 2 && round == 1 {
			cancel()
		}
	}, func(*Report) error { saved++; return nil })
	if !errors.Is(err, context.Canceled) || r.Done != 2 || len(r.Cells) != 2 || saved != 2 {
		t.Errorf("%v, %d done, %d cells, %d saved", err, r.Done, len(r.Cells), saved)
	}
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("GOMAXPROCS is %d afterwards, was %d", n, before)
	}
}

func TestPinned(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("pinning needs Linux")
	}
	plan := tiny(t)
	plan.Cores, plan.Pin = []int{1}, true
	steps, err := plan.Steps()
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Plan: plan}
	if err := r.Run(t.Context(), steps[:1], func(int, int, *suite.Cell, string) {}, func(*Report) error { return nil }); err != nil || len(r.Cells[0].Point.Pinned) != 1 {
		t.Errorf("%v, %+v", err, r.Cells)
	}
	steps[0].Cores = 1 << 20
	if _, err := steps[0].run(t.Context(), plan, func(*suite.Cell, string, int) {}); err == nil || !strings.Contains(err.Error(), "--cores: 1048576") {
		t.Errorf("got %v", err)
	}
}

// Whatever the plan says, a change of it is seen and named.
func TestConflict(t *testing.T) {
	for field, change := range map[string]func(*Plan){
		"scenarios": func(p *Plan) { p.Scenarios = p.Scenarios[:1] }, "cores": func(p *Plan) { p.Cores = []int{1} },
		"producers": func(p *Plan) { p.Producers = parse(t, "1", "4") }, "consumers": func(p *Plan) { p.Consumers = parse(t, "1") },
		"tenants": func(p *Plan) { p.Tenants = parse(t, "1") }, "shards": func(p *Plan) { p.Shards = nil }, "batch": func(p *Plan) { p.Batch = parse(t, "2") },
		"rate": func(p *Plan) { p.Rate = []float64{1} }, "arrivals": func(p *Plan) { p.Arrivals = "ramp" }, "pin": func(p *Plan) { p.Pin = true },
		"work": func(p *Plan) { p.Work = nil }, "contestants": func(p *Plan) { p.Contestants = nil }, "rounds": func(p *Plan) { p.Rounds++ },
		"warmup": func(p *Plan) { p.Warmup++ }, "duration": func(p *Plan) { p.Duration++ },
	} {
		r, p := Report{Plan: tiny(t)}, tiny(t)
		if err := r.Conflict(&p); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if err := r.Conflict(&p); err == nil || !strings.HasPrefix(err.Error(), field+" was ") || strings.Contains(err.Error(), ";") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

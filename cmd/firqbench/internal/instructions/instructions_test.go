package instructions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

func plan(t *testing.T, names ...string) *Plan {
	t.Helper()
	ss, err := scenario.Choose(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := contest.Select(contest.ForRun(), []string{"lockfree", "channel-0"})
	if err != nil {
		t.Fatal(err)
	}
	return &Plan{Scenarios: ss, Contestants: cs, Fewer: 10, More: 30, Rounds: 3}
}

// What both runs have is not counted, the medians are those of the rounds, and channel-0 takes
// part in ping_pong alone.
func TestRun(t *testing.T) {
	p := plan(t, "contended", "ping_pong")
	calls, told := 0, 0
	s, err := p.Run(t.Context(), "fake", func(_ context.Context, scenario, contestant string, tasks int) (uint64, error) {
		calls++
		each := map[string]uint64{"lockfree": 100, "channel-0": 7}[contestant]
		if calls == 1 {
			each += 50 // one round of three differs, in its smaller run
		}
		return 12345 + each*uint64(tasks), nil
	}, func(_, total int, _, _ string) {
		if told++; total != 9 {
			t.Errorf("%d pairs of runs, want 9", total)
		}
	})
	if err != nil || calls != 18 || told != 9 {
		t.Fatalf("%d calls, told of %d, %v", calls, told, err)
	}
	for _, c := range []struct {
		scenario, contestant string
		want                 float64
	}{{"contended", "lockfree", 100}, {"ping_pong", "channel-0", 7}, {"contended", "channel-0", 0}, {"zipf", "lockfree", 0}} {
		if x, ok := s.Median(c.scenario, c.contestant); x != c.want || ok != (c.want > 0) {
			t.Errorf("%s, %s: %v, %v", c.scenario, c.contestant, x, ok)
		}
	}
	broken := errors.New("broken")
	_, err = p.Run(t.Context(), "fake", func(context.Context, string, string, int) (uint64, error) { return 0, broken }, func(int, int, string, string) {})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	if err := plan(t, "contended").Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Plan){
		"--tasks: 30,30": func(p *Plan) { p.Fewer = 30 }, "--tasks: 0,30": func(p *Plan) { p.Fewer = 0 },
		"--rounds: 0": func(p *Plan) { p.Rounds = 0 }, "no scenario": func(p *Plan) { p.Scenarios = nil },
		"overload goes by the clock": func(p *Plan) { p.Scenarios = plan(t, "overload").Scenarios },
	} {
		p := plan(t, "contended")
		change(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestParse(t *testing.T) {
	const said = "==7== Events    : Ir\n==7== Collected : 4221\n==7== \n==7== I   refs:      4,221\n"
	if n, err := parse(said); n != 4221 || err != nil {
		t.Error(n, err)
	}
	if _, err := parse("==7== nothing"); err == nil {
		t.Error("a count of nothing")
	}
}

// Every scenario that can be counted ends by itself, whichever the contestant.
func TestChild(t *testing.T) {
	for _, s := range scenario.All() {
		if !s.CanCount() {
			continue
		}
		s.Tenants = min(s.Tenants, 500)
		for _, c := range contest.ForRun() {
			if !takesPart(&c, &s) {
				continue
			}
			if err := Child(t.Context(), s, c, 300); err != nil {
				t.Errorf("%s, %s: %v", s.Name, c.Name, err)
			}
		}
	}
}

// The counter runs what its options say, and reports what went wrong with it.
func TestCallgrind(t *testing.T) {
	if _, err := Tool(t.Context()); err != nil {
		t.Skip(err)
	}
	child := func(scenario, _ string, tasks int) []string { return []string{"-c", fmt.Sprintf("exit %d", tasks)} }
	sh := "/bin/sh"
	if _, err := os.Stat(sh); err != nil {
		t.Skip(err)
	}
	if n, err := Callgrind(sh, child)(t.Context(), "s", "c", 0); n == 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := Callgrind(sh, child)(t.Context(), "s", "c", 3); err == nil || !strings.Contains(err.Error(), "s, c, 3 tasks: exit status 3") {
		t.Error(err)
	}
}

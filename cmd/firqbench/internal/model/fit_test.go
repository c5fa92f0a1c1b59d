package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/internal/proof/race"
	"github.com/firq-go/firq/shardsel"
)

// made returns a result file of a machine that is as the model has it.
func made(t *testing.T, m Machine, local map[string]float64, processors int) *report.File {
	t.Helper()
	f := &report.File{Schema: report.Schema, Env: machine.Env{GOMAXPROCS: processors}, Run: &report.RunSection{}}
	chosen, err := scenario.Choose([]string{"contended", "one_to_one", "uncontended", "zipf"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range chosen {
		for _, work := range []time.Duration{0, 100} {
			c := suite.Cell{Scenario: s, Variant: suite.Variant{Work: work}}
			l, ok := loadOf(&c, processors)
			if ok == (s.Name == "zipf") {
				t.Fatalf("%s: %t", s.Name, ok)
			}
			for name, perTask := range local {
				a, _ := anatomyOf(name)
				j := job{m, a, perTask, l, 1e6}
				if ok {
					if err := j.run(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for round, part := range []float64{0.5, 1, 1.1} { // the median is what counts
					c.Runs = append(c.Runs, suite.Run{Contestant: name, Round: round, Result: load.Result{TasksPerSec: j.rate * part}})
				}
			}
			f.Run.Cells = append(f.Run.Cells, c)
		}
	}
	return f
}

// Parameters are found again in what a machine with them does.
func TestCalibrate(t *testing.T) {
	if race.Enabled {
		t.Skip("minutes of simulations, each by one goroutine")
	}
	planted := Assumed()
	planted.Transfer, planted.Wake = 110, 4000
	local := map[string]float64{contest.Lockfree: 250, contest.OneLock: 330, contest.Channel: 150}
	files := []*report.File{made(t, planted, local, 1), made(t, planted, local, 2)}
	c, err := Calibrate(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	// The wake-up is in the throughput of mutexes only, which jumps.
	if w := c.Machine.Wake / planted.Wake; !near(c.Machine.Transfer, planted.Transfer, 0.1) || w < 1.0/3 || w > 3 {
		t.Errorf("fitted %+v, planted %+v", c.Machine, planted)
	}
	for name, perTask := range local {
		if !near(c.Local[name], perTask, 0.02) {
			t.Errorf("%s: local work %v, planted %v", name, c.Local[name], perTask)
		}
	}
	uses := map[Use]int{}
	for _, o := range c.Observations {
		uses[o.Use]++
	}
	// A mutex that is handed over for a while, and then not, has a throughput that jumps.
	if r := Of(c, nil); r.Errors.Fitted.Median > 0.15 || r.Errors.HeldOut.Median > 0.15 {
		t.Errorf("%+v", r.Errors)
	}
	if uses[ForLocal] != 3 || uses[ForMachine] != 6 || uses[HeldOut] != 21 {
		t.Errorf("%v", uses)
	}

	ps, err := c.Predict(t.Context(), []int{2, 8}, []float64{20, 200}, 64)
	if err != nil || len(ps) != 3*2*2 {
		t.Fatal(len(ps), err)
	}
	again, err := c.Predict(t.Context(), []int{2, 8}, []float64{20, 200}, 64)
	if err != nil || !slices.Equal(ps, again) {
		t.Errorf("another prediction: %v, %v, %v", ps, again, err)
	}
	for i := range ps {
		if other := i + 2; i%4 < 2 && !(ps[i].TasksPerSec > ps[other].TasksPerSec) {
			t.Errorf("transfers cost more and tasks/s are not fewer: %+v, %+v", ps[i], ps[other])
		}
	}
	for _, markdown := range []bool{true, false} {
		var b strings.Builder
		Of(c, ps).Write(&b, markdown)
		for _, want := range []string{"Parameters: 5, fitted to 9 observations", "held out", "lockfree / channel"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is missing in\n%s", want, b.String())
			}
		}
	}

	if _, err := Calibrate(t.Context(), files[:1]); err == nil || !strings.Contains(err.Error(), "on 2 processors") {
		t.Errorf("without 2 processors: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Predict(ended, []int{128}, []float64{60}, 64); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	two := files[1].Run
	two.Cells = slices.DeleteFunc(two.Cells, func(c suite.Cell) bool { return c.Scenario.Name == "one_to_one" || c.Variant.Work > 0 })
	alone, err := Calibrate(t.Context(), files[1:])
	if err != nil || !strings.Contains(alone.From, "uncontended") || !near(alone.Local[contest.Lockfree], local[contest.Lockfree], 0.02) {
		t.Errorf("without 1 processor: %+v, %v", alone, err)
	}
	two.Cells = two.Cells[:1]
	if _, err := Calibrate(t.Context(), files[1:]); err == nil || !strings.Contains(err.Error(), "on 1 processor ") {
		t.Errorf("with neither 1 processor nor uncontended: %v", err)
	}
}

// The model's rounds say the same as the real ones.
func TestRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 2 + r.IntN(5)
		ours, theirs := newRounds(n), shardsel.NewRounds(n, 1)
		for i := range n {
			sh := &shard{index: i, round: r.IntN(4), left: r.IntN(2)}
			if r.IntN(3) > 0 {
				sh.turns.push(nil)
			}
			ours.publish(sh)
			theirs.Publish(i, uint64(sh.tag()), sh.turns.len() > 0)
		}
		least := ours.least()
		for i := range n {
			if got, want := least >= 0 && ours.inTime(i, least), theirs.InTime(i); got != want {
				t.Fatalf("shard %d of %+v: in time %t, want %t", i, ours, got, want)
			}
		}
	}
}

// Shares are parts of one whole.
func TestAnatomies(t *testing.T) {
	for _, a := range anatomies {
		if sum := a.PutOut + a.PutIn + a.TakeIn + a.TakeOut; !near(sum, 1, 1e-9) {
			t.Errorf("%s: shares of %v", a.Name, sum)
		}
		if _, err := contest.Select(contest.ForRun(), []string{a.Name}); err != nil {
			t.Error(err)
		}
	}
}

package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/jobs"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// add adds the figure of a contestant in each round.
func (f *file) add(job, contestant, metric string, xs ...float64) {
	for round, x := range xs {
		f.Runs = append(f.Runs, result{Job: job, Contestant: contestant, Round: round, Metrics: jobs.Metrics{metric: x}})
	}
}

// The tables say what the file says, with the intervals of the ratios of single rounds.
func TestMarkdown(t *testing.T) {
	f := &file{Schema: schema, Env: machine.Env{Command: "actors -o x"}, Rounds: 7, Size: jobs.Size{Duration: time.Second, Long: 3 * time.Second}}
	// The second half of the rounds has twice the speed: the ratios do not see it.
	f.add("tell-1-1", peers.Own, "rate", 4, 4, 4, 8, 8, 8, 9)
	f.add("tell-1-1", "hollywood", "rate", 1, 1, 1, 1, 1, 1, 1)
	f.add("tell-1-1", "protoactor", "rate", 2, 2, 2, 4, 4, 4, 4)
	f.add("tell-1-1", peers.Channel, "rate", 8, 8, 8, 16, 16, 16, 16)
	f.add("call", peers.Own, "p50", 0.1, 0.1, 0.1, 0.1, 0.5, 0.5, 0.5)
	f.add("call", "hollywood", "p50", 1, 1, 1, 1, 1, 1, 1)
	f.add("call", "protoactor", "p50", 2, 2, 2, 2, 2, 2, 2)
	f.add("pingpong-1", peers.Own, "rate", 2, 1.4, 1.4)
	f.add("pingpong-1", "hollywood", "rate", 1, 1, 1)
	f.add("quiet-alone", peers.Own, "p50", 10)
	f.add("quiet-flooded", peers.Own, "p50", 25)
	f.add("share", peers.Own, "ratio", 0.7)
	f.add("tell-8-1", peers.Own, "allocs", 0.0001)
	f.add("tell-8-64", peers.Own, "allocs", 1)
	f.add("cycle", peers.Own, "named", 1)
	f.add("cycle", peers.Own, "answer", 7)
	f.Runs = append(f.Runs, result{Job: "share", Contestant: "hollywood", Error: "hangs"})
	var b bytes.Buffer
	markdown(&b, f)
	out := b.String()
	for _, want := range []string{
		"| job | median (interval) in | firq | hollywood | protoactor | channel | ours / best peer | ours / channel |",
		"| tell-1-1 | rate, M/s | 8.00 (4.00 to 9.00) | 1.00 (1.00 to 1.00) | 4.00 (2.00 to 4.00) | 16.0 (8.00 to 16.0) | 2.00 (2.00 to 2.25) | 0.50 (0.50 to 0.56) |",
		"| share | ratio, to 1 | 0.70 | FAILED | - | - | - | - |",
		"| tell, 1 sender to 1 actor, messages/s | at least 1.3 x | 8.00 | 4.00, protoactor | 2.00 (2.00 to 2.25) | yes |",
		"| call of an idle actor, p50 | at most 0.2 x | 0.10 | 1.00, hollywood | 0.10 (0.10 to 0.50) | yes, not certain |",
		"| ping-pong, 1 pair, messages/s | at least 1.5 x | 1.40 | 1.00, hollywood | 1.40 (1.40 to 2.00) | **no**, not certain |",
		"| quiet actors' p50, against nobody noisy | at most 2 x | 25.0 | 10.0, ours in quiet-alone | 2.50 | **no** |",
		"| processor time, 1 ms messages against 50 µs | 0.8 to 1.25 | 0.70 |  | 0.70 | **no** |",
		"| allocations, tell-8-1 | 0 | 0 |  | 0 | yes |", "| allocations, tell-8-64 | 0 | 1.00 |  | 1.00 | **no** |",
		"| the error names the cycle | 1 | 1.00 |  | 1.00 | yes |",
		"FAILED: share, hollywood, round 1: hangs", "7 rounds of 1s, 3s", "`actors -o x`",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "spawn") || strings.Contains(out, "NaN") {
		t.Errorf("what was not measured is in\n%s", out)
	}
	if err := f.failures(); err == nil || !strings.Contains(err.Error(), "1 of ") {
		t.Error(err)
	}
}

// Without ours, or without a peer, there is no goal to be reached or missed.
func TestMarkdownOfParts(t *testing.T) {
	for _, contestant := range []string{peers.Own, "hollywood", peers.Channel} {
		f := &file{}
		f.add("tell-1-1", contestant, "rate", 1, 2)
		var b bytes.Buffer
		markdown(&b, f)
		if out := b.String(); strings.Contains(out, "reached") || strings.Contains(out, "NaN") || !strings.Contains(out, "1.50 (1.00 to 2.00)") {
			t.Errorf("%s:\n%s", contestant, out)
		}
	}
	var b bytes.Buffer
	markdown(&b, &file{})
	if b.Len() != 0 {
		t.Error(b.String())
	}
}

// Every goal is about a figure that its job measures.
func TestGoals(t *testing.T) {
	for _, g := range goals() {
		metricOf(g.job, g.metric) // panics
		if g.low > g.high || (g.against == otherJob) != (g.than != "") {
			t.Errorf("%+v", g)
		}
	}
}

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		xs                []float64
		median, low, high float64
	}{
		{[]float64{3}, 3, 3, 3}, {[]float64{4, 2}, 3, 2, 4}, {[]float64{1, 2, 3, 4, 5, 6, 7}, 4, 1, 7},
		// Of eleven figures the median is between the second and the ninth in 96 of 100 cases.
		{[]float64{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 6, 2, 9},
	} {
		i := intervalOf(c.xs)
		if i.Median != c.median || i.Low != c.low || i.High != c.high || i.N != len(c.xs) {
			t.Errorf("%v: %+v", c.xs, i)
		}
	}
	if i := intervalOf(nil); !math.IsNaN(i.Median) || i.String() != "-" {
		t.Errorf("%+v", i)
	}
	r := ratio(map[int]float64{0: 2, 1: 30, 2: 5, 3: 7}, map[int]float64{0: 1, 1: 10, 3: 0, 4: 1})
	if r.N != 2 || r.Median != 2.5 || r.Low != 2 || r.High != 3 {
		t.Errorf("%+v", r)
	}
}

func TestFigure(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.0001: "0", 0.0123: "0.012", 0.125: "0.12", 1.5: "1.50", 12.34: "12.3", 123.4: "123", 98765: "98765", -3: "-3.00", math.NaN(): "-",
	} {
		if got := figure(x); got != want && !math.IsNaN(x) {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

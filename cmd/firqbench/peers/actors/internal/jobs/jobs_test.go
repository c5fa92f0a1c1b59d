package jobs

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// Every job works with every contestant, and its figures can be.
func TestAllOfAll(t *testing.T) {
	z := Size{Duration: 20 * time.Millisecond, Long: 60 * time.Millisecond, Actors: 500, Many: 1000, Spawn: 200}
	for _, j := range All() {
		for _, p := range peers.All() {
			t.Run(j.Name+"/"+p.Name, func(t *testing.T) {
				m, err := j.Run(p.New, z)
				if err != nil {
					t.Fatal(err)
				}
				if len(m) != len(j.Metrics) {
					t.Errorf("%d figures, %d are described", len(m), len(j.Metrics))
				}
				for _, want := range j.Metrics {
					v := m[want.Name]
					small := want.Count || want.Unit[0] == 'B' || want.Name == "cpu" || strings.HasPrefix(want.Name, "late") // can be 0, or less than the noise, in so short a time
					if math.IsNaN(v) || math.IsInf(v, 0) || !small && v <= 0 {
						t.Errorf("%s is %v", want.Name, v)
					}
				}
			})
		}
	}
}

// What the goals are about does not depend on how busy the machine is: ours names a cycle of calls, the others do not.
func TestOnlyOursNamesACycle(t *testing.T) {
	for _, p := range peers.All() {
		m, err := find(t, "cycle").Run(p.New, Size{Duration: time.Millisecond})
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if p.Own != (m["named"] == 1) || !p.Own && m["named"] != 0 {
			t.Errorf("%s: %v of the answers name the cycle", p.Name, m["named"])
		}
		if !p.Own && m["answer"] < us(hang) {
			t.Errorf("%s: an answer after %v us, before the timeout", p.Name, m["answer"])
		}
	}
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, c := range []struct {
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, 0.5, 0}, {hundred[:1], 0, 1}, {hundred[:1], 1, 1}, {hundred, 0, 1}, {hundred, 0.5, 50}, {hundred, 0.99, 99},
		{hundred, 0.991, 100}, {hundred, 1, 100}, {hundred[:3], 0.5, 2}, {hundred[:2], 0.5, 1},
	} {
		if got := percentile(c.sorted, c.p); got != c.want {
			t.Errorf("%v of %d: %v, want %v", c.p, len(c.sorted), got, c.want)
		}
	}
}

func TestSelect(t *testing.T) {
	all, err := Select(nil)
	if err != nil || len(all) != len(All()) {
		t.Errorf("%v, %v", all, err)
	}
	some, err := Select([]string{"share", "call"})
	if err != nil || len(some) != 2 || some[0].Name != "call" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := Select([]string{"call", "sleep"}); err == nil || !strings.HasPrefix(err.Error(), `unknown job "sleep"; there are tell-1-1`) {
		t.Error(err)
	}
}

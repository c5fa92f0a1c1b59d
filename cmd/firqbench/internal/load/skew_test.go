package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

func TestMix(t *testing.T) {
	for _, c := range []struct {
		s       scenario.Scenario
		n, each int
		hot     int
	}{
		{scenario.Scenario{}, 3, 10, 10},
		{scenario.Scenario{HotShare: 0.5}, 3, 10, 20},
		{scenario.Scenario{HotShare: 0.1}, 3, 10, 10}, // never below each
		{scenario.Scenario{HotProducers: 1}, 2, 10, 90},
		{scenario.Scenario{HotShare: 0.5, HotTenants: 2}, 4, 10, 10}, // as many as the others together
	} {
		counts := make([]int, c.n)
		backlog := mix(c.s, c.n, c.each)
		for _, tenant := range backlog {
			counts[tenant]++
		}
		want := slices.Repeat([]int{c.each}, c.n)
		want[0] = c.hot
		if slices.Sort(counts); !slices.Equal(counts, slices.Sorted(slices.Values(want))) {
			t.Errorf("%+v: %v, want %v", c.s, counts, want)
		}
		if slices.IsSorted(backlog) {
			t.Errorf("%+v: not mixed", c.s)
		}
	}
}

// Zipf's law: the parts of the tenants are in proportion to k^-s, and so is what is sent.
func TestZipf(t *testing.T) {
	const n, draws = 64, 200_000
	for _, skew := range []float64{0.5, 1, 2} {
		r := &run{s: scenario.Scenario{Tenants: n, Skew: skew}, zipf: zipf(n, skew)}
		p := &producer{r: r, rnd: newRandom(3)}
		counts := make([]float64, n)
		for range draws {
			counts[pickZipf(p)]++
		}
		sum := 0.0
		for k := range n {
			sum += math.Pow(float64(k+1), -skew)
		}
		for k, got := range counts {
			want := draws * math.Pow(float64(k+1), -skew) / sum
			if math.Abs(got-want) > 5*math.Sqrt(want)+1 { // five standard deviations
				t.Errorf("skew %v, tenant %d: %v of %d, want about %.0f", skew, k+1, got, draws, want)
			}
		}
	}
	if zipf(5, 0) != nil {
		t.Error("parts without a skew")
	}
	for _, skew := range []float64{1, 10} {
		counts := map[int]int{}
		for _, tenant := range mix(scenario.Scenario{Skew: skew}, 100, 10) {
			counts[tenant]++
		}
		if counts[99] != 10 || counts[0] != 160 || skew == 1 && counts[49] != 20 {
			t.Errorf("skew %v: a backlog of %d, %d, %d", skew, counts[0], counts[49], counts[99])
		}
	}
}

// The quiet tenants of a flood get the same load from every contestant, whatever it is
// capable of, and the flood is no part of it.
func TestQuietRate(t *testing.T) {
	chosen, err := scenario.Choose([]string{"hot_tenant_sustained"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := chosen[0]
	s.QuietRate = 1_000 // so few that a flood is more even where little time is left for it
	for _, name := range []string{contest.OneLock, contest.Channel, contest.Lockfree} {
		res, err := Run(t.Context(), Spec{Scenario: s, Contestant: contestant(t, name), Warmup: 50 * time.Millisecond, Measure: 200 * time.Millisecond, Probe: -1})
		if err != nil {
			t.Fatal(err)
		}
		sent := float64(res.Focus.Samples) / res.Elapsed.Seconds()
		// A tenth is for a machine that does other things, twice for a producer that was late and catches up.
		if sent < s.QuietRate/10 || sent > s.QuietRate*2 {
			t.Errorf("%s: %.0f quiet tasks/s, want %.0f", name, sent, s.QuietRate)
		}
		if res.Delivered < 2*res.Focus.Samples {
			t.Errorf("%s: %d tasks, of which %d quiet: no flood", name, res.Delivered, res.Focus.Samples)
		}
	}
}

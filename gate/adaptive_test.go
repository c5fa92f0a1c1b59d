package gate

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// TestAdaptiveTable is a table (-v prints it): when the limit first comes near the
// knee, where it is from then on, and how much of the backend is used, for all
// speeds and sizes of backends, and from above and below.
func TestAdaptiveTable(t *testing.T) {
	race.OneGoroutine(t)
	var table strings.Builder
	defer func() {
		t.Logf("near the knee after so long; then the mean limit (low to high), and how much is used\n%s", table.String())
	}()
	for _, base := range []time.Duration{5 * time.Millisecond, 100 * time.Millisecond} {
		for _, knee := range []int{1, 4, 16, 50, 200} {
			for _, queues := range []bool{false, true} {
				for _, start := range []int{1, 1000} {
					if queues != (start == 1) || testing.Short() && knee > 16 {
						continue
					}
					b := newBackend(t, start, knee, base, AdaptiveConfig{Max: 1000})
					b.queues = queues
					most := 2*knee + 1
					near := time.Duration(-1)
					for b.now < 10*time.Second && near < 0 {
						if b.step(); b.limit >= max(knee*3/4, 1) && b.limit <= most {
							near = b.now
						}
					}
					b.run(10*time.Second - b.now)
					low, high, mean, use := b.run(20 * time.Second)
					fmt.Fprintf(&table, "base %5v knee %3d start %4d queues %5t: %5.1f s; %5.1f (%3d to %3d), %3.0f %%\n",
						base, knee, start, queues, near.Seconds(), mean, low, high, 100*use)
					if near < 0 || mean < float64(knee)*0.95 || mean > float64(most) || high > 4*knee+1 || use < 0.85 {
						t.Errorf("base %v, knee %d, start %d, queues %t: near after %v, mean %.1f (%d to %d), used %.0f %%",
							base, knee, start, queues, near, mean, low, high, 100*use)
					}
				}
			}
		}
	}
}

// settles fails unless the mean limit, and after so long each single one, is within
// a range.
func (b *backend) settles(t *testing.T, what string, after, d time.Duration, from, to float64) {
	t.Helper()
	b.run(after)
	low, high, mean, use := b.run(d)
	t.Logf("%s: the limit was %.1f (%d to %d), %.0f %% used", what, mean, low, high, 100*use)
	if mean < from || mean > to {
		t.Errorf("%s: the limit was %.1f (%d to %d), want it within %.1f to %.1f", what, mean, low, high, from, to)
	}
}

// The limit follows the backend when that becomes smaller, slower, larger or faster.
func TestAdaptiveFollows(t *testing.T) {
	race.OneGoroutine(t)
	for _, queues := range []bool{false, true} {
		if testing.Short() && queues {
			continue
		}
		b := newBackend(t, 1, 20, 20*time.Millisecond, AdaptiveConfig{Max: 1000})
		b.queues = queues
		b.settles(t, "at first", 5*time.Second, 20*time.Second, 20, 42)
		b.knee = 2
		b.settles(t, "smaller", 10*time.Second, 20*time.Second, 2, 5)
		b.knee = 100
		b.settles(t, "larger", 10*time.Second, 20*time.Second, 100, 210)
		b.base *= 5
		b.settles(t, "slower", 20*time.Second, 40*time.Second, 100, 210)
		b.base /= 10
		b.settles(t, "faster", 60*time.Second, 20*time.Second, 100, 210)
		b.knee = 20
		b.settles(t, "smaller again", 10*time.Second, 20*time.Second, 20, 42)
	}
}

// Rare failures are everyday; what is more than that shrinks the limit by as much.
func TestAdaptiveFailures(t *testing.T) {
	race.OneGoroutine(t)
	for _, fails := range []float64{0.001, 0.0033, 0.01} {
		if testing.Short() && fails != 0.01 {
			continue
		}
		b := newBackend(t, 1, 100, 5*time.Millisecond, AdaptiveConfig{Max: 1000})
		b.fails = fails
		b.settles(t, fmt.Sprintf("%.2f %% fail", 100*fails), 10*time.Second, 20*time.Second, 100, 201)
	}
	b := newBackend(t, 1, 100, 5*time.Millisecond, AdaptiveConfig{Max: 1000, FailureTolerance: 0.05})
	b.fails = 0.04
	b.settles(t, "4 % fail, 5 % may", 10*time.Second, 20*time.Second, 100, 201)
	b.fails = 1
	if b.run(2 * time.Second); b.limit > 1 {
		t.Errorf("the limit is %d after 2 s in which everything failed", b.limit)
	}
	b.fails = 0
	b.settles(t, "it recovers", 5*time.Second, 30*time.Second, 100, 201)
	b.fails = 0.5
	if b.run(3 * time.Second); b.limit > 10 {
		t.Errorf("the limit is %d after 3 s in which half of it failed", b.limit)
	}
	// Latency says nothing where the tolerance is that large; the failures do.
	b = newBackend(t, 1, 100, 5*time.Millisecond, AdaptiveConfig{Max: 1000, Tolerance: 1000})
	b.timeout = 50 * time.Millisecond // at ten times the latency without load
	b.settles(t, "timeouts", 10*time.Second, 20*time.Second, 100, 500)
}

func TestAdaptiveBounds(t *testing.T) {
	b := newBackend(t, 1, 20, 10*time.Millisecond, AdaptiveConfig{Min: 4, Max: 12})
	if low, high, mean, _ := b.run(20 * time.Second); low < 4 || high != 12 || mean < 10 {
		t.Errorf("capacity above Max: the limit was %.1f (%d to %d)", mean, low, high)
	}
	b.fails = 1
	if low, high, _, _ := b.run(20 * time.Second); low != 4 || high > 12 || b.limit != 4 {
		t.Errorf("failures above Min: the limit was %d to %d", low, high)
	}
	b = newBackend(t, 1000, 4, 10*time.Millisecond, AdaptiveConfig{Min: 20, Max: 1000})
	b.settles(t, "Min above the knee", 10*time.Second, 60*time.Second, 20, 32)
}

// With any Tolerance the limit settles; 1 is the knee itself.
func TestAdaptiveTolerance(t *testing.T) {
	race.OneGoroutine(t)
	for _, tolerance := range []float64{1, 1.2, 2, 5} {
		if testing.Short() && tolerance > 1.2 {
			continue
		}
		b := newBackend(t, 1, 20, 5*time.Millisecond, AdaptiveConfig{Max: 1000, Tolerance: tolerance})
		b.settles(t, fmt.Sprintf("Tolerance %v", tolerance), 20*time.Second, 60*time.Second, 14*tolerance, 28*tolerance)
	}
}

// A limit that is not used does not grow: nothing is known about it.
func TestAdaptiveUnused(t *testing.T) {
	b := newBackend(t, 1, 100, 10*time.Millisecond, AdaptiveConfig{Max: 1000})
	b.demand = 6
	b.settles(t, "6 calls at a time", 5*time.Second, 60*time.Second, 6, 12)
	b.demand = 30
	b.settles(t, "30 calls at a time", 5*time.Second, 60*time.Second, 30, 60)
}

// A limit that has been found stays while no call needs it.
func TestAdaptiveIdle(t *testing.T) {
	b := newBackend(t, 1, 50, 5*time.Millisecond, AdaptiveConfig{Max: 1000, ProbeEvery: 1 << 30})
	b.run(20 * time.Second)
	limit := b.limit
	b.demand = 3
	b.run(time.Second) // what was under way
	limit = min(limit, b.limit)
	b.base *= 10
	if low, high, _, _ := b.run(20 * time.Second); low < limit || high > limit {
		t.Errorf("the limit went from %d to %d to %d", limit, low, high)
	}
}

// What was under way when the limit moved is not averaged: neither while too many
// slots are taken, nor as long as work took before.
func TestAdaptiveSettles(t *testing.T) {
	now, g := time.Unix(1, 0), &backend{inUse: 5}
	a, err := NewAdaptive(g, AdaptiveConfig{Max: 100, MinSamples: 2, Window: 1, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(inUse int, after, latency time.Duration) {
		g.inUse = inUse
		now = now.Add(after)
		a.Observe(latency, false)
	}
	for range 10 {
		tell(5, time.Second, time.Hour) // at a limit of 1
	}
	for range 3 { // the first ends the waiting
		tell(1, 1, time.Second)
	}
	if g.limit != 2 || a.noLoad != 1 {
		t.Fatalf("limit %d, %v s without load; want 2, 1", g.limit, a.noLoad)
	}
	for range 10 {
		tell(2, time.Second/20, time.Hour) // they began before
	}
	tell(2, time.Second, time.Second)
	tell(2, 1, time.Second)
	if g.limit != 4 || a.noLoad != 1 {
		t.Fatalf("limit %d, %v s without load; want 4, 1", g.limit, a.noLoad)
	}
}

// Where there are few calls a window takes long, and nothing else.
func TestAdaptiveLowRate(t *testing.T) {
	now := time.Unix(1, 0)
	g := New[string](50, Config[string]{})
	a, err := NewAdaptive(g, AdaptiveConfig{Max: 100, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		p := must(t, g, "a")
		now = now.Add(time.Second)
		a.Observe(20*time.Millisecond, i%500 == 0)
		p.Release()
	}
	if g.Limit() < 1 || g.Limit() > 2 {
		t.Errorf("limit %d with one call at a time", g.Limit())
	}
	// A burst after that finds its way.
	b := newBackend(t, 1, 50, 5*time.Millisecond, AdaptiveConfig{Max: 1000})
	b.demand = 1
	b.run(100 * time.Second)
	b.demand = 0
	b.settles(t, "a burst", 10*time.Second, 30*time.Second, 50, 101)
	intact(t, g)
}

// The backend has become so fast that even a third of the limit is too much: the
// probe goes on until it is not.
func TestAdaptiveProbesDown(t *testing.T) {
	b := newBackend(t, 1, 10, 100*time.Millisecond, AdaptiveConfig{Max: 1000, ProbeEvery: 50})
	b.run(20 * time.Second)
	b.base /= 20
	for b.a.phase == probing || b.limit < 100 {
		b.step()
	}
	for b.a.phase != probing {
		b.step()
	}
	for b.a.phase == probing {
		b.step()
	}
	b.settles(t, "after one probe", 2*time.Second, 2*time.Second, 10, 25)
}

// Where everything fails while a probe is under way, the probe has measured nothing.
func TestAdaptiveProbeFails(t *testing.T) {
	b := newBackend(t, 1, 50, 5*time.Millisecond, AdaptiveConfig{Max: 1000})
	for b.a.phase != probing {
		b.step()
	}
	b.fails = 1
	b.run(time.Second)
	b.fails = 0
	b.settles(t, "after a probe that failed", 10*time.Second, 20*time.Second, 50, 101)
}

// Latencies and clocks may be anything.
func TestAdaptiveOddInput(t *testing.T) {
	now := time.Unix(1, 0)
	g := New[string](1, Config[string]{})
	a, err := NewAdaptive(g, AdaptiveConfig{Max: 100, MinSamples: 1, ProbeEvery: 1, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for i, latency := range []time.Duration{0, -1, math.MaxInt64, math.MinInt64, 1, 0, math.MaxInt64, math.MaxInt64, 5, 0} {
		for _, step := range []time.Duration{time.Second, -time.Hour, 2 * time.Hour, 0, math.MaxInt64} {
			now = now.Add(step)
			a.Observe(latency, i%3 == 0)
			if n := g.Limit(); n < 1 || n > 100 {
				t.Fatalf("limit %d", n)
			}
		}
	}
}

func TestAdaptiveInvalid(t *testing.T) {
	g := New[string](3, Config[string]{})
	for name, g := range map[string]Limiter{"nil": nil, "a nil gate": (*Gate[string])(nil)} {
		if a, err := NewAdaptive(g, AdaptiveConfig{Max: 5}); !errors.Is(err, firq.ErrInvalidArgument) || a != nil {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	for name, cfg := range map[string]AdaptiveConfig{
		"Min":                    {Min: -1, Max: 5},
		"Max":                    {},
		"Max: 3":                 {Min: 4, Max: 3},
		"Window":                 {Max: 5, Window: -1},
		"MinSamples":             {Max: 5, MinSamples: -1},
		"Tolerance":              {Max: 5, Tolerance: math.NaN()},
		"FailureTolerance":       {Max: 5, FailureTolerance: 1},
		"FailureTolerance: -0.1": {Max: 5, FailureTolerance: -0.1},
		"FailureTolerance: NaN":  {Max: 5, FailureTolerance: math.NaN()},
		"ProbeEvery":             {Max: 5, ProbeEvery: -1},
	} {
		if _, err := NewAdaptive(g, cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if g.Limit() != 3 {
		t.Errorf("limit %d", g.Limit())
	}
	if _, err := NewAdaptive(g, AdaptiveConfig{Min: 2, Max: 20}); err != nil || g.Limit() != 2 {
		t.Errorf("%v, limit %d, want Min", err, g.Limit())
	}
}

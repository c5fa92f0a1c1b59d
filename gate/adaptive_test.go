package gate

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// backend is a simulated service: so many calls at a time take base, more take
// longer in proportion, for they share it. Time is counted, nothing sleeps.
type backend struct {
	t        *testing.T
	g        *Gate[string]
	a        *Adaptive
	now      time.Time
	capacity int
	base     time.Duration
	demand   int // calls that there are at a time, at most
	failing  bool
}

func newBackend(t *testing.T, limit int, cfg AdaptiveConfig) *backend {
	t.Helper()
	b := &backend{t: t, g: New[string](limit, Config[string]{}), now: time.Unix(0, 0), capacity: 20, base: 10 * time.Millisecond, demand: 1000}
	cfg.Now = func() time.Time { return b.now }
	var err error
	if b.a, err = NewAdaptive(b.g, cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

// run lets so many rounds pass, in each of which as many calls as may be are made
// at once. It returns the lowest and the highest limit.
func (b *backend) run(rounds int) (low, high int) {
	low = math.MaxInt
	for range rounds {
		var out []Permit[string]
		for range b.demand {
			p, ok := b.g.TryAcquire("a", Request{})
			if !ok {
				break
			}
			out = append(out, p)
		}
		latency := b.base * time.Duration(max(len(out), b.capacity)) / time.Duration(b.capacity)
		b.now = b.now.Add(latency)
		for _, p := range out {
			b.a.Observe(latency, b.failing)
			p.Release()
		}
		low, high = min(low, b.g.Limit()), max(high, b.g.Limit())
	}
	return low, high
}

// in fails unless the limit stays in a range.
func (b *backend) in(what string, rounds, from, to int) {
	b.t.Helper()
	if low, high := b.run(rounds); low < from || high > to {
		b.t.Errorf("%s: the limit was %d to %d, want it within %d to %d", what, low, high, from, to)
	}
}

// The limit settles where work takes Tolerance times as long, 1.5 x 20, and its
// root more; it follows the backend when that becomes smaller, slower or larger.
func TestAdaptiveFollows(t *testing.T) {
	for _, start := range []int{1, 30, 500} {
		b := newBackend(t, start, AdaptiveConfig{Max: 1000, ProbeEvery: 20})
		b.run(4000)
		b.in("steady", 4000, 10, 40) // probes go down to a third
		b.capacity = 5
		b.run(4000)
		b.in("smaller", 4000, 3, 13)
		b.base *= 4
		b.run(4000)
		b.in("slower", 4000, 3, 13)
		b.capacity = 40
		b.run(4000)
		b.in("larger", 4000, 20, 76)
		intact(t, b.g)
	}
}

func TestAdaptiveBounds(t *testing.T) {
	b := newBackend(t, 1, AdaptiveConfig{Min: 4, Max: 12})
	b.in("capacity above Max", 3000, 4, 12)
	if b.run(1); b.g.Limit() != 12 {
		t.Errorf("limit %d, want Max", b.g.Limit())
	}
	b.failing = true
	b.in("failures above Min", 3000, 4, 12)
	if b.g.Limit() != 4 {
		t.Errorf("limit %d, want Min", b.g.Limit())
	}
}

// A limit that is not used does not grow: nothing is known about it.
func TestAdaptiveUnused(t *testing.T) {
	b := newBackend(t, 10, AdaptiveConfig{Max: 1000, ProbeEvery: 1 << 30})
	b.demand = 4
	b.in("unused", 3000, 10, 10)
	b.demand = 5
	if _, high := b.run(3000); high <= 10 || high > 15 {
		t.Errorf("half used: the limit rises to %d, want 11 or little more", high)
	}
}

func TestAdaptiveFailures(t *testing.T) {
	b := newBackend(t, 15, AdaptiveConfig{Max: 15, ProbeEvery: 1 << 30})
	b.in("fine", 1000, 15, 15)
	b.failing = true
	b.run(4000)
	if b.g.Limit() != 1 {
		t.Errorf("limit %d where everything fails", b.g.Limit())
	}
	b.failing = false
	b.run(4000)
	b.in("fine again", 1000, 15, 15)
}

func TestAdaptiveInvalid(t *testing.T) {
	g := New[string](3, Config[string]{})
	for name, cfg := range map[string]AdaptiveConfig{
		"Min":        {Min: -1, Max: 5},
		"Max":        {},
		"Max: 3":     {Min: 4, Max: 3},
		"Window":     {Max: 5, Window: -1},
		"MinSamples": {Max: 5, MinSamples: -1},
		"Tolerance":  {Max: 5, Tolerance: math.NaN()},
		"ProbeEvery": {Max: 5, ProbeEvery: -1},
	} {
		if _, err := NewAdaptive(g, cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if g.Limit() != 3 {
		t.Errorf("limit %d", g.Limit())
	}
	if _, err := NewAdaptive(g, AdaptiveConfig{Max: 2}); err != nil || g.Limit() != 2 {
		t.Errorf("%v, limit %d, want Max", err, g.Limit())
	}
}

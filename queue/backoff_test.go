package queue

import (
	"slices"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := Backoff{First: time.Second, Max: time.Minute, Factor: 3, NoJitter: true}
	var got []time.Duration
	for n := 1; n < 6; n++ {
		got = append(got, b.after(n))
	}
	if w := []time.Duration{time.Second, 3 * time.Second, 9 * time.Second, 27 * time.Second, time.Minute}; !slices.Equal(got, w) {
		t.Fatalf("%v, want %v", got, w)
	}
	same(t, "after 5,000 attempts", b.after(5000), time.Minute)
	b.NoJitter = false
	low, high := time.Hour, time.Duration(0)
	for range 1000 {
		d := b.after(9)
		low, high = min(low, d), max(high, d)
	}
	if low < 0 || low > 6*time.Second || high > time.Minute || high < 54*time.Second {
		t.Fatalf("jitter from %v to %v, want from 0 to 1m", low, high)
	}
	b.Func = func(n int) time.Duration { return time.Duration(n) }
	same(t, "Func", b.after(7), 7)
}

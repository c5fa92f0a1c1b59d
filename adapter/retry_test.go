package adapter

import (
	"sync"
	"testing"
	"time"
)

// TestEstimate: waiting by rate, within its bounds, from windows of refusals.
func TestEstimate(t *testing.T) {
	var e Estimator
	now := time.Unix(1_000_000, 0)
	for i, step := range []struct {
		after   time.Duration // since the step before
		waiting int
		served  uint64
		want    time.Duration
	}{
		{0, 100, 5, LeastRetry},                                   // nothing is known
		{999 * time.Millisecond, 100, 15, LeastRetry},             // not yet
		{time.Millisecond, 100, 25, 5 * time.Second},              // 20 in 1 s
		{time.Millisecond, 300, 25, 15 * time.Second},             // the same rate, more wait
		{time.Millisecond, 5, 25, LeastRetry},                     // at least
		{time.Millisecond, 100_000, 25, MostRetry},                // at most
		{time.Millisecond, 0, 25, LeastRetry},                     // no caller waits
		{996 * time.Millisecond, 200, 65, 200 * time.Second / 30}, // 40 in 1 s, and 20 before
		{10 * time.Second, 200, 365, 200 * time.Second / 30},      // 30 per second in 10 s
		{10*time.Second + 1, 200, 365, LeastRetry},                // forgotten: it was idle, perhaps
		{time.Second, 1, 365, MostRetry},                          // no request was served
		{time.Second, 1, 365, MostRetry},
		{time.Second, 10, 385, time.Second},
	} {
		now = now.Add(step.after)
		got := e.Estimate(now, step.waiting, step.served)
		if diff := got - step.want; diff < -time.Microsecond || diff > time.Microsecond {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

// TestEstimateBusy: a call that finds the lock taken uses the rate that there is.
func TestEstimateBusy(t *testing.T) {
	var e Estimator
	now := time.Unix(1_000_000, 0)
	e.Estimate(now, 1, 0)
	now = now.Add(time.Second)
	e.Estimate(now, 1, 10)
	e.mu.Lock()
	defer e.mu.Unlock()
	done := make(chan time.Duration, 1)
	go func() { done <- e.Estimate(now.Add(time.Minute), 100, 10) }()
	select {
	case got := <-done:
		if got != 10*time.Second {
			t.Errorf("%v, want 10s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the lock")
	}
}

func TestEstimateConcurrently(t *testing.T) {
	var e Estimator
	now := time.Unix(1_000_000, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 1000 {
				got := e.Estimate(now.Add(time.Duration(n*i)*time.Millisecond), n, uint64(n))
				if got < LeastRetry || got > MostRetry {
					t.Errorf("%v", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestSeconds(t *testing.T) {
	const last = 0.999999
	for _, c := range []struct {
		d          time.Duration
		from, upTo int
	}{
		{time.Second, 1, 2}, {time.Second + 1, 2, 3}, {2 * time.Second, 2, 3}, {3 * time.Second, 3, 5},
		{9500 * time.Millisecond, 10, 15}, {time.Minute, 60, 90},
	} {
		if got := SpreadSeconds(c.d, 0); got != time.Duration(c.from)*time.Second {
			t.Errorf("%v: from %v, want %d s", c.d, got, c.from)
		}
		if got := SpreadSeconds(c.d, last); got != time.Duration(c.upTo)*time.Second {
			t.Errorf("%v: up to %v, want %d s", c.d, got, c.upTo)
		}
	}
	seen := map[time.Duration]int{}
	for i := range 600 {
		seen[SpreadSeconds(10*time.Second, float64(i)/600)]++
	}
	if len(seen) != 6 || seen[10*time.Second] != 100 || seen[15*time.Second] != 100 {
		t.Errorf("not even: %v", seen)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		r    float64
		want time.Duration
	}{
		{time.Second, 0, time.Second}, {time.Second, 0.999999, 1400 * time.Millisecond}, {time.Second, 0.5, 1200 * time.Millisecond},
		{8 * time.Second, 0.5, 10 * time.Second}, {10 * time.Second, 0.59, 12 * time.Second}, {time.Minute, 0.999999, 89 * time.Second},
	} {
		if got := Spread(c.d, c.r); got != c.want {
			t.Errorf("%v, %g: %v, want %v", c.d, c.r, got, c.want)
		}
	}
}

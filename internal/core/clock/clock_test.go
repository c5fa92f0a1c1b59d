package clock

import (
	"math"
	"sync"
	"testing"
	"time"
)

// Where the time stamp counter is read, Now is off by up to about a microsecond,
// and a new anchor may correct that, forward or back. More than step would be an
// error of the scale.
const step = int64(10 * time.Microsecond)

// wait spins until the clock has an anchor, if it will ever have one.
func wait(c *Clock, d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		c.Now()
	}
}

func TestNewReadsAboutOneSecond(t *testing.T) {
	c := New()
	if now := c.Now(); now < int64(time.Second)-step || now > int64(time.Minute) {
		t.Errorf("a new clock reads %v", time.Duration(now))
	}
}

// It does not go back, neither in one goroutine nor from one to the next.
func TestMonotone(t *testing.T) {
	c := New()
	wait(&c, 15*time.Millisecond)
	var mu sync.Mutex
	latest := c.Now()
	var wg sync.WaitGroup
	start := time.Now()
	for range 4 {
		wg.Go(func() {
			own := c.Now()
			for time.Since(start) < 300*time.Millisecond { // some renewals
				now := c.Now()
				if now < own-step {
					t.Errorf("from %d to %d", own, now)
					return
				}
				own = max(own, now)
				mu.Lock()
				now = c.Now()
				if now < latest-step {
					t.Errorf("from %d to %d in another goroutine", latest, now)
				}
				latest = max(latest, now)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// It keeps the time of the runtime's clock, which is read before and after. The
// worst of many readings may have been interrupted, but no reading lies outside.
func TestAgreesWithTheRuntime(t *testing.T) {
	c := New()
	wait(&c, 15*time.Millisecond)
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		before := int64(time.Since(c.base))
		now := c.Now()
		after := int64(time.Since(c.base))
		if now < before-step || now > after+step {
			t.Fatalf("Now = %d, between %d and %d by the runtime", now, before, after)
		}
	}
}

// Two clocks count from different instants.
func TestClocksAreIndependent(t *testing.T) {
	a := New()
	wait(&a, 2*time.Millisecond)
	b := New()
	if x, y := a.Now(), b.Now(); x-y < int64(time.Millisecond) { // under qemu each is off by more than a step
		t.Errorf("the first clock reads %d, the second one %d", x, y)
	}
}

// Time is the inverse of Due, with and without a monotonic reading.
func TestDueAndBack(t *testing.T) {
	c := New()
	now := time.Now()
	for _, d := range []time.Duration{0, 1, -1, time.Second, -time.Hour, 24 * 365 * time.Hour, 200 * 365 * 24 * time.Hour, -50 * 365 * 24 * time.Hour} {
		for name, deadline := range map[string]time.Time{
			"monotonic":      now.Add(d),
			"wall clock":     now.Add(d).Round(0),
			"UTC":            now.Add(d).UTC(),
			"a read-in time": time.Unix(0, now.Add(d).UnixNano()),
		} {
			due := c.Due(deadline)
			if due == Never {
				t.Errorf("%s, %v from now: never due", name, d)
			}
			if back := c.Time(due); !back.Equal(deadline) {
				t.Errorf("%s, %v from now: %v came back as %v", name, d, deadline, back)
			}
		}
	}
}

// Due is on the clock's scale: a deadline is due when Now comes to it.
func TestDueOnTheScaleOfNow(t *testing.T) {
	c := New()
	before := c.Now()
	due := c.Due(time.Now())
	after := c.Now()
	if due < before-step || due > after+step {
		t.Errorf("now is due at %d, between %d and %d", due, before, after)
	}
	if c.Due(time.Now().Add(-time.Hour)) >= c.Now() || c.Due(time.Now().Add(time.Hour)) <= c.Now() {
		t.Error("an hour ago is not past, or in an hour is")
	}
}

func TestNever(t *testing.T) {
	c := New()
	if got := c.Due(time.Time{}); got != Never {
		t.Errorf("no deadline is due at %d", got)
	}
	if got := c.Time(Never); !got.IsZero() {
		t.Errorf("Never is %v", got)
	}
	far := time.Now().AddDate(300, 0, 0)
	if got := c.Due(far); got != Never {
		t.Errorf("in 300 years is due at %d", got)
	}
	if got := c.Due(far.Round(0)); got != Never {
		t.Errorf("in 300 years by wall clock is due at %d", got)
	}
	if got := c.Due(time.Now().AddDate(-1000, 0, 0)); got > c.Now() {
		t.Errorf("1,000 years ago is due at %d", got)
	}
	if Never != math.MaxInt64 {
		t.Error("Never is not the last time there is")
	}
}

func TestAllocatesNothing(t *testing.T) {
	c := New()
	deadline := time.Now()
	if n := testing.AllocsPerRun(100, func() { c.Time(c.Due(deadline) + c.Now()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNow(b *testing.B) {
	c := New()
	wait(&c, 15*time.Millisecond)
	b.Run("impl=clock", func(b *testing.B) {
		for b.Loop() {
			c.Now()
		}
	})
	b.Run("impl=runtime", func(b *testing.B) {
		for b.Loop() {
			monotonic()
		}
	})
}

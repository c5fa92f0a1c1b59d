//go:build firq_failpoints

package interleave

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// lost increments a counter in two steps.
func lost(n *atomic.Int32) {
	v := n.Load()
	failpoint.At("store")
	n.Store(v + 1)
}

// The number of schedules is the binomial coefficient: two goroutines of two
// steps each have six, and two of those with one preemption lose an update.
func TestAllSchedules(t *testing.T) {
	results := map[int32]int{}
	schedules := Explore(t, 4, func(p *Schedule) {
		var n atomic.Int32
		p.Go("a", func() { lost(&n) })
		p.Go("b", func() { lost(&n) })
		p.Run()
		results[n.Load()]++
	})
	if schedules != 6 || results[1] != 4 || results[2] != 2 {
		t.Errorf("%d schedules, results %v; want 6, 4 of them with a lost update", schedules, results)
	}
}

// Without preemptions the goroutines run one after the other.
func TestBound(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short there is one preemption fewer")
	}
	for preemptions, want := range []int{2, 4, 6} {
		if got := Explore(t, preemptions, func(p *Schedule) {
			var n atomic.Int32
			p.Go("a", func() { lost(&n) })
			p.Go("b", func() { lost(&n) })
			p.Run()
		}); got != want {
			t.Errorf("%d schedules with %d preemptions, want %d", got, preemptions, want)
		}
	}
}

// A lock is waited for without end and without a preemption.
func TestLock(t *testing.T) {
	Explore(t, 3, func(p *Schedule) {
		var mu sync.Mutex
		n := 0
		for _, name := range []string{"a", "b", "c"} {
			p.Go(name, func() {
				failpoint.Lock(&mu, "lock")
				v := n
				failpoint.At("inside")
				n = v + 1
				mu.Unlock()
			})
		}
		p.Run()
		if n != 3 {
			p.Errorf("%d, want 3", n)
		}
	})
}

// A goroutine that sleeps is not waited for, and goes on when it is woken.
func TestAsleep(t *testing.T) {
	missed, met := 0, 0
	Explore(t, 2, func(p *Schedule) {
		var sleeps atomic.Bool
		wake := make(chan struct{}, 1)
		p.Go("sleeper", func() {
			sleeps.Store(true)
			failpoint.At("sleep")
			<-wake
			failpoint.At("woken")
		})
		p.Go("waker", func() {
			if sleeps.Load() {
				wake <- struct{}{}
			}
		})
		p.Run()
		if p.Asleep("sleeper") {
			missed++
			wake <- struct{}{}
		} else {
			met++
		}
		if p.Asleep("waker") {
			p.Errorf("the waker sleeps")
		}
	})
	if missed == 0 || met == 0 {
		t.Errorf("the wake-up came in time %d times, and was missed %d times; want both", met, missed)
	}
}

// A goroutine that spins until another one has made a step is no livelock.
func TestSpinning(t *testing.T) {
	Explore(t, 2, func(p *Schedule) {
		var flag atomic.Bool
		p.Go("spins", func() {
			for !flag.Load() {
				failpoint.Gosched("spin")
			}
		})
		p.Go("sets", func() {
			failpoint.At("set")
			flag.Store(true)
		})
		p.Run()
		if !flag.Load() {
			p.Errorf("it did not end")
		}
	})
}

// A goroutine that another one starts takes part from where it joins.
func TestJoin(t *testing.T) {
	results := map[int32]int{}
	schedules := Explore(t, 4, func(p *Schedule) {
		var n atomic.Int32
		p.Go("a", func() {
			go func() {
				p.Join("b")
				lost(&n)
			}()
			failpoint.At("a")
			lost(&n)
		})
		p.Run()
		results[n.Load()]++
	})
	if schedules != 6 || results[1] != 4 || results[2] != 2 {
		t.Errorf("%d schedules, results %v; want 6, 4 of them with a lost update", schedules, results)
	}
}

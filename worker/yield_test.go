package worker_test

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/worker"
)

func TestYieldBudgetTicks(t *testing.T) {
	b := worker.YieldBudget{Ticks: 3}
	var at []int
	for i := range 10 {
		b.Tick()
		if b.ShouldYield() {
			at = append(at, i)
			b.Yield()
		}
	}
	if !slices.Equal(at, []int{2, 5, 8}) {
		t.Errorf("yields after steps %v, want every third", at)
	}
	b.Tick()
	b.Reset()
	if b.ShouldYield() {
		t.Error("spent after Reset")
	}
}

func TestYieldBudgetTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := worker.YieldBudget{Time: 10 * time.Millisecond}
		time.Sleep(time.Second) // before the first step: does not count
		var at []int
		for i := range 10 {
			b.Tick()
			time.Sleep(4 * time.Millisecond)
			if b.ShouldYield() {
				at = append(at, i)
				b.Reset()
			}
		}
		if !slices.Equal(at, []int{2, 5, 8}) {
			t.Errorf("yields after steps %v, want every third", at)
		}
	})
}

func TestYieldBudgetZero(t *testing.T) {
	var b worker.YieldBudget
	for range 1000 {
		if b.Tick(); b.ShouldYield() {
			t.Fatal("the zero value yields")
		}
	}
}

// TestYieldEvery: with one processor another goroutine gets it at each n-th step,
// and at no other.
func TestYieldEvery(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, v := range []struct{ n, every int }{{4, 4}, {1, 1}, {0, 1}} {
		var ran atomic.Int32 // how often the other goroutine had the processor
		done := make(chan bool)
		var stop atomic.Bool
		go func() {
			defer close(done)
			for !stop.Load() {
				ran.Add(1)
				runtime.Gosched()
			}
		}()
		tick := worker.YieldEvery(v.n)
		var at []int
		for i := 1; i <= 12; i++ {
			before := ran.Load()
			tick()
			if ran.Load() != before {
				at = append(at, i)
			}
		}
		stop.Store(true)
		<-done
		for _, i := range at {
			if i%v.every != 0 {
				t.Errorf("YieldEvery(%d) yielded at step %d", v.n, i)
			}
		}
		if len(at) == 0 {
			t.Errorf("YieldEvery(%d) never yielded", v.n)
		}
	}
}

package worker

import (
	"runtime"
	"time"
)

// YieldBudget says when a long loop should let others go first. The zero value
// never does. Not safe for concurrent use: it belongs to one loop.
//
//	b := worker.YieldBudget{Time: 2 * time.Millisecond}
//	for i, row := range rows {
//		process(row)
//		if b.Tick(); b.ShouldYield() {
//			return s.Enqueue(tenant, rest(rows[i+1:])) // others first, then the rest
//		}
//	}
//
// Where the loop hands its rest back to the scheduler, as here, other tenants
// get the worker: nothing else limits what one long task takes from them, as a
// worker runs a handler to its end. Where it calls Yield, only goroutines that
// are ready to run on the same processor get in between; see YieldEvery.
type YieldBudget struct {
	// Ticks after which one should yield. 0 or less: not by ticks.
	Ticks int
	// Time after which one should yield, from the first call of Tick or
	// ShouldYield on. The clock is read by each ShouldYield, about 35 ns; with
	// steps shorter than a microsecond ask only every nth time. 0 or less: not by time.
	Time time.Duration

	used  int
	since time.Time // zero: the budget is untouched
}

// Tick counts one step.
func (b *YieldBudget) Tick() {
	b.touch()
	b.used++
}

// ShouldYield reports whether the budget is spent, by ticks or by time.
func (b *YieldBudget) ShouldYield() bool {
	b.touch()
	return b.Ticks > 0 && b.used >= b.Ticks || b.Time > 0 && time.Since(b.since) >= b.Time
}

func (b *YieldBudget) touch() {
	if b.Time > 0 && b.since.IsZero() {
		b.since = time.Now()
	}
}

// Reset makes the budget whole again.
func (b *YieldBudget) Reset() { b.used, b.since = 0, time.Time{} }

// Yield calls runtime.Gosched and makes the budget whole again.
func (b *YieldBudget) Yield() {
	runtime.Gosched()
	b.Reset()
}

// YieldEvery returns a function that calls runtime.Gosched at each n-th call; n
// below 1 counts as 1. The function belongs to one loop.
//
// Go takes the processor away from a goroutine after about 10 ms. So without
// yielding nothing starves, but when every processor has loops that compute,
// a goroutine that becomes ready (a request, a timer, a producer) waits about so long for
// each loop that is ahead of it. With eight loops on two busy processors a timer
// came 19 to 20 ms late in the median; with a yield each 70 to 700 us, 3 to 6 ms.
// (The 99th percentile, 24 to 100 ms, was due to other load on the machine.)
//
// It does not help where a processor is idle, and costs about 100 ns each time:
// choose n so that n steps take 100 us or more.
func YieldEvery(n int) func() {
	i := 0
	return func() {
		if i++; i >= n {
			i = 0
			runtime.Gosched()
		}
	}
}

// Package spin simulates the work that goes with a task: it burns a given time
// of CPU without reading a clock, which would cost as much as the work itself.
package spin

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Work is an amount of CPU work. The zero value is no work.
type Work struct{ rounds int }

// Line is what a goroutine works on: one for each, on its own cache line.
type Line struct {
	_     [64]byte
	state atomic.Uint64
	_     [64]byte
}

// Of returns the work that takes about d on this machine, undisturbed. The
// first call calibrates, which takes some 10 ms.
func Of(d time.Duration) Work {
	if d <= 0 {
		return Work{}
	}
	c := calibration()
	return Work{rounds: max(1, int(math.Round((float64(d)-c.fixed)/c.perRound)))}
}

// Do does the work: four xorshift generators side by side. They keep the
// processor's units busy, as real work does. A single chain of instructions,
// each waiting for the one before, would leave room for the calls that are
// measured: a processor that executes out of order does both at the same time, and 100 ns
// of work would seem to cost 50. The atomic store at the end is there for the
// same reason.
func (w Work) Do(l *Line) {
	if w.rounds == 0 {
		return
	}
	a := l.state.Load() | 1
	b, c, d := a+2, a+4, a+8
	for range w.rounds {
		a, b, c, d = a^a<<13, b^b<<13, c^c<<13, d^d<<13
		a, b, c, d = a^a>>7, b^b>>7, c^c>>7, d^d>>7
		a, b, c, d = a^a<<17, b^b<<17, c^c<<17, d^d<<17
	}
	l.state.Store(a + b + c + d)
}

// cost is what a Do costs, in nanoseconds: fixed + rounds x perRound.
type cost struct{ fixed, perRound float64 }

var calibration = sync.OnceValue(func() cost {
	const long = 1000
	one, many := measure(Work{1}, 20_000), measure(Work{long}, 200)
	perRound := max((many-one)/(long-1), 0.01)
	return cost{fixed: max(0, one-perRound), perRound: perRound}
})

// measure returns the nanoseconds that a Do takes. It takes the fastest of
// several trials: whatever else ran on the machine can only have made the others
// slower.
func measure(w Work, times int) float64 {
	const trials = 20
	var l Line
	best := time.Duration(math.MaxInt64)
	for range trials {
		start := time.Now()
		for range times {
			w.Do(&l)
		}
		best = min(best, time.Since(start))
	}
	return float64(best) / float64(times)
}

// Package spin simulates the work that goes with a task: it burns a given time
// of CPU without reading a clock, which would cost as much as the work itself,
// and without touching memory.
package spin

import (
	"math"
	"sync"
	"time"
)

// Work is an amount of CPU work. The zero value is no work.
type Work struct{ rounds int }

// Of returns the work that takes about d on this machine, undisturbed. The
// first call calibrates, which takes about 10 ms.
func Of(d time.Duration) Work {
	if d <= 0 {
		return Work{}
	}
	return Work{rounds: max(1, int(math.Round(float64(d)/nsPerRound())))}
}

// Do does the work. seed goes in and comes out changed: pass the result to the
// next call, so that no compiler can leave the loop out.
func (w Work) Do(seed uint64) uint64 {
	for range w.rounds {
		seed = seed*6364136223846793005 + 1442695040888963407 // each round needs the one before
	}
	return seed
}

var nsPerRound = sync.OnceValue(calibrate)

// calibrate takes the fastest of several trials: whatever else ran on the
// machine meanwhile can only have made the others slower.
func calibrate() float64 {
	const rounds, trials = 200_000, 15
	best, seed := time.Duration(math.MaxInt64), uint64(1)
	for range trials {
		start := time.Now()
		seed = Work{rounds}.Do(seed)
		best = min(best, time.Since(start))
	}
	sink = seed
	return max(float64(best), 1) / rounds
}

var sink uint64

package machine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/internal/core/pad"
)

const (
	handovers = 256 // of a batch, whose median counts
	batches   = 9
	patience  = 5 * time.Millisecond // for all of them
	tries     = 3
)

// CacheLine returns how long a cache line takes from the processor that has written it to
// another one: half of what it takes to there and back. Two threads write it in turns, in under a
// millisecond. It is 0 where two threads hardly ever run at the same time.
//
// It says which processors the program has: two that share a cache, or two that do not. A
// virtual machine may be moved from the ones to the others at any time, and be told
// nothing.
func CacheLine() time.Duration {
	if runtime.GOMAXPROCS(0) < 2 {
		return 0
	}
	for range tries {
		if took := handOver(); took > 0 {
			return took
		}
	}
	return 0
}

// handOver is CacheLine with one try.
func handOver() time.Duration {
	var line struct {
		_    pad.Pad
		turn atomic.Int64
		_    pad.Pad
		late atomic.Bool
		here atomic.Int32
	}
	start := time.Now()
	var took []float64
	write := func(side int64) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		// A goroutine that spins keeps its processor. So the other one has to have one by then.
		for line.here.Add(1); line.here.Load() < 2; {
			runtime.Gosched()
		}
		began := start
		for i := side; i <= handovers*batches; i += 2 {
			for spins := 1; line.turn.Load() != i; spins++ {
				if spins%1024 == 0 && (line.late.Load() || time.Since(start) > patience) {
					line.late.Store(true)
					return
				}
			}
			if i%handovers == 0 { // side 0
				now := time.Now()
				if i > 0 {
					took = append(took, float64(now.Sub(began))/handovers)
				}
				began = now
			}
			line.turn.Store(i + 1)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { write(1) })
	wg.Go(func() { write(0) })
	wg.Wait()
	if len(took) < batches {
		return 0
	}
	return time.Duration(stats.Median(took))
}

package compute

import (
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
)

// times are how long executions took: one histogram, as one per part would take 8 kB for each
// power of two in each. The parts hand in many at a time, so that a miss takes no further lock.
type times struct {
	mu  sync.Mutex // after that of a part
	all hist.Local // guarded by mu
}

// laps are the times that a part has not handed in. Guarded by the part.
type laps struct {
	took [16]time.Duration
	n    int
}

func (b *laps) add(to *times, d time.Duration) {
	b.took[b.n] = d
	if b.n++; b.n == len(b.took) {
		b.handIn(to)
	}
}

func (b *laps) handIn(to *times) {
	to.mu.Lock()
	for _, d := range b.took[:b.n] {
		to.all.Record(d)
	}
	to.mu.Unlock()
	b.n = 0
}

// queueTime is of all that was handed in.
func (t *times) queueTime() firq.QueueTime {
	s := hist.NewSnapshot()
	t.mu.Lock()
	t.all.AddTo(s)
	t.mu.Unlock()
	return s.QueueTime()
}

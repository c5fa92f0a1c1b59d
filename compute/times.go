package compute

import (
	"sync"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
)

// times has one histogram of how long executions took: one per shard would take 8 kB for each
// power of two, in each shard. Shards flush several samples together, so that most executions
// take no further lock.
type times struct {
	mu  sync.Mutex // locked after that of a shard
	all hist.Local // guarded by mu
}

// samples are the times that a shard has not yet added to times. Guarded by the shard.
type samples struct {
	took [16]time.Duration
	n    int
}

func (b *samples) add(to *times, d time.Duration) {
	b.took[b.n] = d
	if b.n++; b.n == len(b.took) {
		b.flush(to)
	}
}

func (b *samples) flush(to *times) {
	to.mu.Lock()
	for _, d := range b.took[:b.n] {
		to.all.Record(d)
	}
	to.mu.Unlock()
	b.n = 0
}

// queueTime returns the distribution of what was flushed.
func (t *times) queueTime() firq.QueueTime {
	s := hist.NewSnapshot()
	t.mu.Lock()
	t.all.AddTo(s)
	t.mu.Unlock()
	return s.QueueTime()
}

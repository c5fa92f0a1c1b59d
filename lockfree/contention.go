package lockfree

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// contention says when two goroutines last met at a shard's lock. A lock where no two
// have met for a while is uncontended: a producer that takes it delays no other
// goroutine, and spares itself and the consumer the way through the ring. Every producer
// reads it, and it is hardly ever written, so it has its own cache line.
//
// It is a guess about the near future; only speed depends on it.
type contention struct{ at atomic.Int64 }

const (
	uncontendedAfter = int64(time.Millisecond)
	noteEvery        = uncontendedAfter / 16 // how often it is written at most
	never            = math.MinInt64 / 2
)

// note is called by a goroutine that has found the lock taken, or no work. On one processor
// two goroutines do not meet: the lock is taken only if its holder was preempted. (GOMAXPROCS
// may change, so note asks each time that it would write; the answer costs a lock of the
// runtime.)
func (c *contention) note(now int64) {
	if now-c.at.Load() > noteEvery && (failpoint.On || runtime.GOMAXPROCS(0) > 1) {
		c.at.Store(now) // several may: any of their times will do
	}
}

// none reports whether no two goroutines have met for a while. The schedules of package
// interleave have no time: there it holds until two have met.
func (c *contention) none(now int64) bool {
	at := c.at.Load()
	return now-at > uncontendedAfter && (!failpoint.On || at == never)
}

package lockfree

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// meeting says when two goroutines last met at a shard's lease. A shard where nobody
// has met for a while is calm: a producer that takes its lease holds up nobody, and
// spares itself and the consumer the way through the inbox. It is read by every
// producer, and written hardly ever, so it has a cache line of its own.
//
// It is a guess about the near future; nothing but speed depends on it.
type meeting struct{ at atomic.Int64 }

const (
	calmAfter = int64(time.Millisecond)
	meetEvery = calmAfter / 16 // how often it is written at most
	never     = math.MinInt64 / 2
)

// note is called by a goroutine that has found the lease taken, or no work.
func (m *meeting) note(now int64) {
	if now-m.at.Load() > meetEvery {
		m.at.Store(now)
	}
}

// calm reports whether nobody has met for a while. In the schedules of package interleave, which have no time, that is
// until somebody meets.
func (m *meeting) calm(now int64) bool {
	at := m.at.Load()
	return now-at > calmAfter && (!failpoint.On || at == never)
}

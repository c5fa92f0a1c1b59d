package lockfree

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// warmth says on which processor a shard was served last, and when: there its
// cache lines are. To serve it moves some twenty lines, and to serve it on two
// processors in turns moves them each time, at 50 to 300 ns each. So who finds
// that another processor is just at it gives way for a moment, as if the lease
// were taken, even if it happens to be free between two calls.
//
// It has a cache line of its own, and is looked at before the shard's round and its
// lease: to poll those would take their lines from who writes them at each delivery.
type warmth struct {
	word atomic.Uint64 // time<<warmBits | processor; a guess, nothing depends on it
}

const (
	warmBits = 10
	warmUnit = 6  // 64 ns
	warmFor  = 16 // units: who has not come back after a microsecond does something else
)

func warmTime(now int64) uint64 { return uint64(now) >> warmUnit << warmBits >> warmBits }

func warmHere(hint int) uint64 { return uint64(hint) & (1<<warmBits - 1) }

// touch notes that the caller's processor serves the shard now. It writes no more
// often than others need to know.
func (w *warmth) touch(hint int, now int64) {
	here, time := warmHere(hint), warmTime(now)
	if old := w.word.Load(); old&(1<<warmBits-1) != here || time-old>>warmBits > warmFor/4 {
		w.word.Store(time<<warmBits | here)
	}
}

// elsewhere reports whether another processor is at it.
func (w *warmth) elsewhere(hint int, now int64) bool {
	if failpoint.On || !cpu.Exact {
		return false
	}
	old := w.word.Load()
	return old&(1<<warmBits-1) != warmHere(hint) && recent(old>>warmBits, now)
}

// recent reports whether a time of touch is about now; the clock may step back a
// little.
func recent(touched uint64, now int64) bool {
	age := int64(warmTime(now) - touched)
	return age < warmFor && age > -warmFor
}

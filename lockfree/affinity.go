package lockfree

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// affinity says which processor served a shard last, and when: that one has its cache
// lines. To serve a shard moves some twenty cache lines, and two processors that serve it
// in turns move them each time, at 50 to 300 ns each. So a consumer that finds another
// processor at work there yields for a moment, as if the lock were taken, even if it
// happens to be free between two calls.
//
// It has its own cache line, and is read before the shard's round and its lock:
// polling those would pull their cache lines away from the consumer that writes them at
// each delivery.
type affinity struct {
	word atomic.Uint64 // time<<affinityBits | processor; a guess, nothing depends on it
}

const (
	affinityBits = 10
	affinityUnit = 6  // 64 ns
	affinityFor  = 16 // units: a processor that has not come back after a microsecond does something else
)

func affinityTime(now int64) uint64 {
	return uint64(now) >> affinityUnit << affinityBits >> affinityBits
}

func affinityHere(hint int) uint64 { return uint64(hint) & (1<<affinityBits - 1) }

// touch notes that the caller's processor serves the shard now. It writes no more
// often than others need to know.
func (a *affinity) touch(hint int, now int64) {
	here, time := affinityHere(hint), affinityTime(now)
	if old := a.word.Load(); old&(1<<affinityBits-1) != here || time-old>>affinityBits > affinityFor/4 {
		a.word.Store(time<<affinityBits | here) // only the holder; others read it, and may be late
	}
}

// elsewhere reports whether another processor serves the shard.
func (a *affinity) elsewhere(hint int, now int64) bool {
	if failpoint.On || !cpu.Exact {
		return false
	}
	old := a.word.Load()
	return old&(1<<affinityBits-1) != affinityHere(hint) && recent(old>>affinityBits, now)
}

// recent reports whether a time of touch is about now; the clock may step back a
// little.
func recent(touched uint64, now int64) bool {
	age := int64(affinityTime(now) - touched)
	return age < affinityFor && age > -affinityFor
}

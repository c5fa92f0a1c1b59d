package shardsel

import (
	"math"
	"sync/atomic"

	"github.com/firq-go/firq/internal/pad"
)

// Rounds keeps shards fair to each other. Each shard serves its tenants in
// rounds; a consumer takes from shards that are at most slack rounds ahead of
// the slowest one that has work, and an idle shard that wakes up joins at the
// current round. That is multi-queue fair queueing with the round as virtual
// time (MQFQ, Hedayati et al., USENIX ATC 2019).
//
// Only who holds a shard's lock publishes for it; everybody reads. Reads of
// several shards are not one instant: a consumer may act on a state that has
// just passed, which costs at most what the consumers do in one turn each.
type Rounds struct {
	cells []roundCell
	slack uint64
}

// roundCell is one shard's line: round<<1 | ready.
type roundCell struct {
	word atomic.Uint64
	_    [pad.Line - 8]byte
}

// NewRounds returns the state of the given number of idle shards.
func NewRounds(shards, slack int) *Rounds {
	return &Rounds{make([]roundCell, shards), uint64(slack)}
}

// Publish says in which round a shard is and whether it has something to serve.
// It writes only what has changed. The caller holds the shard's lock.
func (r *Rounds) Publish(shard int, round uint64, ready bool) {
	w := round << 1
	if ready {
		w |= 1
	}
	if c := &r.cells[shard].word; c.Load() != w {
		c.Store(w)
	}
}

// Ready reports whether the shard has something to serve.
func (r *Rounds) Ready(shard int) bool { return r.cells[shard].word.Load()&1 != 0 }

// Round returns the round that the shard was last in.
func (r *Rounds) Round(shard int) uint64 { return r.cells[shard].word.Load() >> 1 }

// AnyReady reports whether some shard has something to serve.
func (r *Rounds) AnyReady() bool {
	for i := range r.cells {
		if r.Ready(i) {
			return true
		}
	}
	return false
}

// Limit returns the last round that may be served now: slack after the slowest
// ready shard, or the largest number there is if none is ready.
func (r *Rounds) Limit() uint64 {
	slowest := uint64(math.MaxUint64)
	for i := range r.cells {
		if w := r.cells[i].word.Load(); w&1 != 0 {
			slowest = min(slowest, w>>1)
		}
	}
	if slowest > math.MaxUint64-r.slack {
		return math.MaxUint64
	}
	return slowest + r.slack
}

// Join returns the round at which an idle shard takes part again: the slowest
// ready shard's, or, when all are idle, the furthest that any has come to, but
// never before its own.
func (r *Rounds) Join(shard int) uint64 {
	slowest, furthest := uint64(math.MaxUint64), uint64(0)
	for i := range r.cells {
		w := r.cells[i].word.Load()
		furthest = max(furthest, w>>1)
		if i != shard && w&1 != 0 {
			slowest = min(slowest, w>>1)
		}
	}
	if slowest == math.MaxUint64 {
		return furthest
	}
	return max(slowest, r.Round(shard))
}

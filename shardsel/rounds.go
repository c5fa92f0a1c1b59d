package shardsel

import (
	"math"
	"sync/atomic"

	"github.com/firq-go/firq/internal/pad"
)

// Rounds keeps shards fair to each other. Each shard serves its tenants in
// rounds; a consumer takes from shards that are at most so many rounds ahead of
// the slowest one that has work, and an idle shard that wakes up joins at the
// current round. That is multi-queue fair queueing with the round as virtual
// time (MQFQ, Hedayati et al., USENIX ATC 2019).
//
// Over an interval in which a shard goes from being the last to being the first,
// it gains its lead twice. So that no interval shows more than slack+1 rounds of
// difference, a shard may be started on while it is at most (slack-1)/2 ahead:
// serving takes it one round further at most before that is looked at again.
//
// Only who holds a shard's lock publishes for it; everybody reads. Reads of
// several shards are not one instant: a consumer may act on a state that has
// just passed, which costs at most what the consumers do in one turn each.
type Rounds struct {
	cells []roundCell
	lead  uint64
}

// roundCell is one shard's line: round<<1 | ready, and how often it became ready.
type roundCell struct {
	word    atomic.Uint64
	version atomic.Uint64
	_       [pad.Line - 16]byte
}

// NewRounds returns the state of the given number of idle shards. slack is at
// least 1.
func NewRounds(shards, slack int) *Rounds {
	return &Rounds{make([]roundCell, shards), uint64(slack-1) / 2}
}

// Publish says in which round a shard is and whether it has something to serve.
// It writes only what has changed. The caller holds the shard's lock.
func (r *Rounds) Publish(shard int, round uint64, ready bool) {
	w := round << 1
	if ready {
		w |= 1
	}
	c := &r.cells[shard]
	old := c.word.Load()
	if old == w {
		return
	}
	if old&1 == 0 && ready {
		c.version.Store(c.version.Load() + 1) // before it can be seen
	}
	c.word.Store(w)
}

// Version changes whenever a shard becomes ready. Who finds no shard ready, and
// the same version before and after looking, knows that there was an instant at
// which none was.
func (r *Rounds) Version() uint64 {
	var sum uint64
	for i := range r.cells {
		sum += r.cells[i].version.Load()
	}
	return sum
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

// Limit returns the last round that may be served now: the lead that is allowed
// after the slowest ready shard's, or the largest number there is if none is
// ready.
func (r *Rounds) Limit() uint64 {
	slowest := uint64(math.MaxUint64)
	for i := range r.cells {
		if w := r.cells[i].word.Load(); w&1 != 0 {
			slowest = min(slowest, w>>1)
		}
	}
	if slowest > math.MaxUint64-r.lead {
		return math.MaxUint64
	}
	return slowest + r.lead
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

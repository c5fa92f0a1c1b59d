package shardsel

import (
	"math"
	"sync/atomic"

	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/pad"
)

// Rounds keeps shards fair to each other. Each shard serves its tenants in
// rounds, and says in which round its next delivery can be: its tag. A consumer
// takes from shards whose tag is at most so much (the lead) after the smallest one
// of the others that have work, and an idle shard that wakes up joins at the current round.
// That is multi-queue fair queueing with the round as virtual time (MQFQ,
// Hedayati et al., USENIX ATC 2019).
//
// It has to be the round of the next delivery and not the round that the shard
// is in: a shard whose tenants all save up for dear tasks must neither deliver
// them before the others have come to that round, nor be taken for slow. And the
// current round is the last one that somebody was served in, as in start-time
// fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996), not the smallest tag: time
// does not pass to a far round only because nobody could be served before it, as
// long as nobody was asked.
//
// Over an interval in which a shard goes from being behind another to being ahead
// of it, the two leads add up. They are shared out so that they add up to slack for
// each pair: the one with the lower index may be half of it ahead, rounded up, the
// other half of it, rounded down.
//
// Only who holds a shard's lock publishes for it; everybody reads. Reads of
// several shards are not one instant. Mostly tags move forward while a shard has
// work, and then an old limit is too low, not too high. But a tag goes back when
// somebody joins a shard that was waiting for a far round, or a cost or quantum is
// corrected; who is serving another shard at that moment may finish its hold of
// the lock by the old limit.
type Rounds struct {
	cells []roundCell
	slack uint64
}

// roundCell is one shard's line.
type roundCell struct {
	word    atomic.Uint64 // tag<<1 | 1 while it is ready, else 0
	served  atomic.Uint64 // the round of its last delivery
	version atomic.Uint64 // twice how often it became ready; odd: it is about to
	_       [pad.Line - 24]byte
}

// NewRounds returns the state of the given number of idle shards. slack is at
// least 1.
func NewRounds(shards, slack int) *Rounds {
	return &Rounds{make([]roundCell, shards), uint64(slack)}
}

// Publish says what a shard's tag is, at most 1<<63-1, and whether it has
// something to serve. It writes only what has changed; the tag of a shard that has
// nothing is nobody's business. The caller holds the shard's lock.
func (r *Rounds) Publish(shard int, tag uint64, ready bool) {
	c := &r.cells[shard]
	old, w := c.word.Load(), uint64(0)
	if ready {
		w = min(tag, math.MaxInt64)<<1 | 1
	}
	if old == w {
		return
	}
	if old&1 != 0 || !ready {
		c.word.Store(w)
		return
	}
	v := c.version.Load()
	c.version.Store(v + 1)
	failpoint.At("rounds ready")
	c.word.Store(w)
	failpoint.At("rounds version")
	c.version.Store(v + 2)
}

// Version counts how often a shard became ready; it is not sure while one is
// just about to. Who finds no shard ready, and the same version before and after
// looking, sure both times, knows that none became ready meanwhile, so that at
// the end of the look none was.
func (r *Rounds) Version() (v uint64, sure bool) {
	sure = true
	for i := range r.cells {
		c := r.cells[i].version.Load()
		v += c
		sure = sure && c&1 == 0
	}
	return v, sure
}

// Ready reports whether the shard has something to serve.
func (r *Rounds) Ready(shard int) bool { return r.cells[shard].word.Load()&1 != 0 }

// Tag returns the shard's tag as last published; it means something while the
// shard is ready.
func (r *Rounds) Tag(shard int) uint64 { return r.cells[shard].word.Load() >> 1 }

// AnyReady reports whether some shard has something to serve.
func (r *Rounds) AnyReady() bool {
	for i := range r.cells {
		if r.Ready(i) {
			return true
		}
	}
	return false
}

// Limit returns the last round that the shard may be served in: its lead after the
// smallest tag of the others, or the largest number there is if no other has work.
// Of others with the same tag the first one counts: the lead over it is the
// smallest.
func (r *Rounds) Limit(shard int) uint64 {
	least, at := uint64(math.MaxUint64), -1 // of words less 1, where one that is not ready is the largest
	for i := range r.cells {
		if w := r.cells[i].word.Load() - 1; w < least && i != shard {
			least, at = w, i
		}
	}
	if at < 0 {
		return math.MaxUint64
	}
	lead := r.slack / 2
	if shard < at {
		lead = r.slack - lead
	}
	return least>>1 + lead // no overflow: both are below 1<<63
}

// InTime reports whether the shard has something to serve that is not too far
// ahead of the others.
func (r *Rounds) InTime(shard int) bool {
	w := r.cells[shard].word.Load()
	return w&1 != 0 && w>>1 <= r.Limit(shard)
}

// Served notes the round of a delivery. It writes only what has changed. The
// caller holds the shard's lock.
func (r *Rounds) Served(shard int, round uint64) {
	if c := &r.cells[shard].served; c.Load() < round {
		c.Store(round)
	}
}

// Current returns the current round: the furthest that anybody was served in. An
// idle shard that wakes up joins there.
func (r *Rounds) Current() uint64 {
	var furthest uint64
	for i := range r.cells {
		furthest = max(furthest, r.cells[i].served.Load())
	}
	return furthest
}

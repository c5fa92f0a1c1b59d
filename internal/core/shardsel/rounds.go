package shardsel

import (
	"math"
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Rounds keeps shards fair to each other. Each shard serves its tenants in
// rounds, and says in which round its next delivery can be: its tag. A consumer
// takes from shards whose tag is at most so much (the lead) after the smallest one
// of the others that have work, and an idle shard that wakes up joins at the current round.
// That is multi-queue fair queueing with the round as virtual time (MQFQ,
// Hedayati et al., USENIX ATC 2019).
//
// It has to be the round of the next delivery and not the round that the shard
// is in: a shard whose tenants all save up for costly tasks must neither deliver
// them before the others have come to that round, nor be taken for slow. And the
// current round is the last one that any tenant has had a turn in, as in start-time
// fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996), not the smallest tag: time
// does not pass to a far round only because no tenant could be served before it, as
// long as no shard was asked.
//
// Over an interval in which a shard goes from being behind another to being ahead
// of it, the two leads add up. They are shared out so that they add up to slack for
// each pair: the one with the lower index may be half of it ahead, rounded up, the
// other half of it, rounded down.
//
// Only the holder of a shard's lock publishes for it; all goroutines read. Reads of
// several shards are not one instant. While a shard has work its tag mostly moves
// forward, and then an old limit is too low, not too high. But a tag goes back when
// a tenant joins a shard that was waiting for a far round, or a cost or a quantum is
// corrected, and an idle shard may join. A hold of another shard's lock that is in
// progress then goes on by its old limit until it comes to another round: there it
// calls Served, and looks at the limit again.
// It does not go on to a far round, however expensive its tasks are, because passing
// empty turns and going back see each other:
//
//	[J1] jumping++ (Pass)                 [K1] publish the earlier tag
//	[J2] look at the limit; not beyond?   [K2] wait until jumping is 0 (Settled)
//	     then current = that round        [K3] look at current
//	[J3] jumping--
//
// If J2 misses the tag of K1, then K2 comes after J1, waits for J3, and K3 sees the
// round that was jumped to: the shard joins there. A goroutine that is stopped between
// J1 and J3 holds up those at K2.
//
// Rounds are numbers modulo 1<<63, and compared by how far apart they are (RFC
// 1982, serial number arithmetic). Package drr, which counts them, sees to it that
// those of shards that have work are less than 1<<62 apart, whatever tasks cost. So
// nothing here depends on how many rounds there have been.
type Rounds struct {
	cells   []roundCell
	slack   uint64
	_       pad.Pad
	current atomic.Uint64 // the furthest round that a tenant has had a turn in; written once per round
	jumping atomic.Int32  // calls of Pass in progress
	_       pad.Pad
}

// roundCell is one shard's line.
type roundCell struct {
	word    atomic.Uint64 // tag<<1 | isReady, lingers or 0
	version atomic.Uint64 // twice how often it became ready; odd: it is about to
	askAt   atomic.Int64  // see SetAskAt
	_       [pad.Line - 24]byte
}

// The states of a shard that are in the word of its cell.
const (
	isReady = 1 // it has something to serve
	lingers = 2 // it has nothing to serve, but has to be asked: see Linger
)

// NewRounds returns the state of the given number of idle shards. slack is at
// least 1.
func NewRounds(shards, slack int) *Rounds { return NewRoundsAt(shards, slack, 0) }

// NewRoundsAt is NewRounds with the current round given, as after a history.
func NewRoundsAt(shards, slack int, current uint64) *Rounds {
	r := &Rounds{cells: make([]roundCell, shards), slack: uint64(slack)}
	r.current.Store(current & lastRound)
	for i := range r.cells {
		r.cells[i].askAt.Store(math.MaxInt64)
	}
	return r
}

// lastRound is followed by round 0.
const lastRound = 1<<63 - 1

// Publish publishes a shard's tag, and whether it has something to serve. It
// writes only what has changed; the tag of a shard that has nothing is of no use
// to others. The caller holds the shard's lock.
func (r *Rounds) Publish(shard int, tag uint64, ready bool) {
	w := uint64(0)
	if ready {
		w = tag<<1 | isReady
	}
	r.set(shard, w)
}

// Linger says that a shard has nothing to serve, but has to be asked once more, to see
// off the tenant that was served last. The caller holds the shard's lock.
func (r *Rounds) Linger(shard int) { r.set(shard, lingers) }

func (r *Rounds) set(shard int, w uint64) {
	c := &r.cells[shard]
	old := c.word.Load()
	switch {
	case old == w:
	case old&isReady != 0 || w&isReady == 0 || len(r.cells) == 1: // where there is one shard its word says all
		c.word.Store(w)
	default:
		// The holder alone writes both. Odd from before the word says that there is work until after: a
		// consumer whose two looks at the version (Version) are the same and even has seen that work, or none came.
		v := c.version.Load()
		c.version.Store(v + 1)
		failpoint.At("rounds ready")
		c.word.Store(w)
		failpoint.At("rounds version")
		c.version.Store(v + 2)
	}
}

// Version counts how often a shard became ready, if there are several; it is not sure while one is
// just about to. A consumer that finds no shard ready, and the same version before and after
// looking, sure both times, knows that none became ready in between, so that at
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
func (r *Rounds) Ready(shard int) bool { return r.cells[shard].word.Load()&isReady != 0 }

// Asks reports whether the shard has something to serve, or lingers.
func (r *Rounds) Asks(shard int) bool { return r.cells[shard].word.Load() != 0 }

// AnyAsks reports whether some shard has something to serve, or lingers.
func (r *Rounds) AnyAsks() bool {
	for i := range r.cells {
		if r.Asks(i) {
			return true
		}
	}
	return false
}

// SetAskAt says from which time on the shard is to be asked although its tag is too far
// ahead: a task for whose cost it waits may expire then. math.MaxInt64: never. The caller
// holds the shard's lock.
func (r *Rounds) SetAskAt(shard int, at int64) {
	if c := &r.cells[shard]; c.askAt.Load() != at {
		c.askAt.Store(at)
	}
}

// AskAt returns the time of the last SetAskAt.
func (r *Rounds) AskAt(shard int) int64 { return r.cells[shard].askAt.Load() }

// Tag returns the shard's tag as last published; it means something while the
// shard is ready.
func (r *Rounds) Tag(shard int) uint64 { return r.cells[shard].word.Load() >> 1 }

// Limit returns the last round that the shard may be served in: its lead after the
// smallest tag of the others, or math.MaxUint64 if no other has work. Of others with
// the same tag the first one counts: the lead over it is the smallest.
func (r *Rounds) Limit(shard int) uint64 {
	if len(r.cells) == 2 { // as below, at a third of the price
		return r.limitOfTwo(shard)
	}
	var first uint64 // word that has work; the others are compared with it
	least, at := int64(math.MaxInt64), -1
	for i := range r.cells {
		w := r.cells[i].word.Load()
		if w&isReady == 0 || i == shard {
			continue
		}
		if at < 0 {
			first = w
		}
		// Both words are odd: the difference is twice that of their tags, modulo
		// 1<<64, and so has its sign.
		if after := int64(w - first); after < least {
			least, at = after, i
		}
	}
	if at < 0 {
		return math.MaxUint64
	}
	lead := r.slack / 2
	if shard < at {
		lead = r.slack - lead
	}
	return ((first+uint64(least))>>1 + lead) & lastRound
}

// limitOfTwo is Limit where there is one other shard.
func (r *Rounds) limitOfTwo(shard int) uint64 {
	w := r.cells[1-shard].word.Load()
	if w&isReady == 0 {
		return math.MaxUint64
	}
	lead := r.slack / 2
	if shard == 0 {
		lead = r.slack - lead
	}
	return (w>>1 + lead) & lastRound
}

// InTime reports whether the shard has something to serve that is not too far
// ahead of the others.
func (r *Rounds) InTime(shard int) bool {
	return r.cells[shard].word.Load()&isReady != 0 && r.isWithin(shard)
}

// isWithin reports whether a shard that has something to serve is not too far ahead.
func (r *Rounds) isWithin(shard int) bool {
	limit := r.Limit(shard)
	return limit == math.MaxUint64 || !after(r.Tag(shard), limit)
}

// after reports whether round a is after round b.
func after(a, b uint64) bool { return int64((a-b)<<1) > 0 }

// Served notes the round of a turn, and returns the current round, which is then
// that one or a later one. It writes only what has changed.
func (r *Rounds) Served(round uint64) (current uint64) {
	for {
		current = r.current.Load()
		if !after(round, current) {
			return current
		}
		failpoint.At("rounds served")
		// It only grows: it fails if another shard's holder has come further, or as far, in between.
		if r.current.CompareAndSwap(current, round&lastRound) {
			return round & lastRound
		}
	}
}

// Current returns the current round: the furthest that a tenant has had a turn in. An
// idle shard that wakes up joins there.
func (r *Rounds) Current() uint64 { return r.current.Load() }

// Pass makes round the current one if the shard may be served in it, and reports
// whether it may: [J1] to [J3]. If no other shard has work, the shard is alone, and the
// current round stays as it is. The caller holds the shard's lock.
func (r *Rounds) Pass(shard int, round uint64) (may, alone bool) {
	failpoint.At("J1 jumping")
	r.jumping.Add(1) // [J1]
	failpoint.At("J2 limit")
	limit := r.Limit(shard) // [J2]
	alone = limit == math.MaxUint64
	if may = !alone && !after(round, limit); may {
		failpoint.At("J2 current")
		r.Served(round)
	}
	failpoint.At("J3 jumped")
	r.jumping.Add(-1) // [J3]
	return may || alone, alone
}

// Settled returns the current round once no call of Pass is in progress that may not
// have seen what the caller has published: [K2] and [K3].
func (r *Rounds) Settled() uint64 {
	for r.jumping.Load() != 0 { // [K2]
		failpoint.Gosched("K2 settled?")
	}
	failpoint.At("K3 current")
	return r.current.Load() // [K3]
}

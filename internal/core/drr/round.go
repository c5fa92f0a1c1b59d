package drr

import "math"

// Rounds are counted modulo 1<<63, and compared as serial numbers (RFC 1982): what
// matters is how far apart two of them are. So costs may add up to any number of
// rounds, and nothing saturates. This requires that two rounds that are
// compared are less than 1<<62 apart. Queues that share a count of rounds (peers) stay together,
// but for one that waits for a round in which it can serve, at most mostAtOnce ahead.
const (
	lastRound = 1<<63 - 1

	// mostAtOnce is how many empty turns a queue under a limit passes in one step.
	// One that has to pass more takes several steps, and its peers take their turns
	// between them.
	mostAtOnce = 1 << 60
)

// Peers are other queues that this one shares time with. Both methods are called from
// within the Queue's, and may call CatchUp.
type Peers interface {
	// The queue calls Pass before it passes empty turns up to a round and serves in
	// that round.
	Pass(round uint64) Passage
	// Back is called before Tag goes back from a later round to Round, because
	// of a change that may let a tenant pay for its task earlier.
	Back()
}

// Passage says whether a queue may pass empty turns.
type Passage uint8

const (
	PassWait      Passage = iota // no: a peer can serve earlier
	PassCounted                  // yes, and the round moves on
	PassUncounted                // yes; no peer has work, so the round is not counted
)

// Share makes p the peers of the queue.
func (q *Queue[K, T]) Share(p Peers) { q.peers = p }

// Apart returns by how many rounds a is after b; it is negative if a is before b.
func Apart(a, b uint64) int64 { return int64((a-b)<<1) >> 1 }

// beyond reports whether a round is after a limit; math.MaxUint64 is no limit.
func beyond(round, limit uint64) bool {
	return limit != math.MaxUint64 && Apart(round, limit) > 0
}

// clock counts all rounds, modulo 1<<63.
func (l *list[K, T]) clock() uint64 { return (l.round + l.skipped) & lastRound }

// Round returns the round that is being served, modulo 1<<63. Not for Across, where
// each level has its own rounds.
func (q *Queue[K, T]) Round() uint64 { return q.lists[0].round }

// Reached returns the last round in which NextWithin began a turn, or up to which it passed empty
// turns, modulo 1<<63. Peers join at this round even if that turn was empty, because the queue may
// have come to its limit there.
func (q *Queue[K, T]) Reached() uint64 { return q.lists[0].reached }

// AdvanceRound moves Round up to at least r. It ends the turns of blocked tenants.
func (q *Queue[K, T]) AdvanceRound(r uint64) {
	l := &q.lists[0]
	if Apart(r, l.round) <= 0 {
		return
	}
	if q.ready < q.queued {
		for s := range l.active.all {
			if s.tenant.blocked && !q.empty(s) {
				q.halt(l, s)
			}
		}
	}
	if Apart(r, l.round) > 0 {
		q.SetRound(r)
	}
}

// SetRound makes r the round that is being served, be it after or before the
// present one. Every seat is visited in it.
func (q *Queue[K, T]) SetRound(r uint64) {
	l := &q.lists[0]
	if r &= lastRound; r == l.round {
		return
	}
	l.round, l.used, l.left, l.wait = r, false, l.active.n, 0
	l.audit.round(l.left)
	for s := range l.active.all {
		s.visit = r
	}
}

package serve

import (
	"math"

	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/shardsel"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Share gives the shard an index among the others, to which it has to be fair.
func (s *Shard[K, T]) Share(r *shardsel.Rounds, index int) {
	s.rounds, s.index, s.sharesTime = r, index, s.shared.Config.Shards > 1
	s.servedBy = index
	if s.SharesTime() {
		s.published.askAt = drr.NoDeadline
		s.Queue.Share(s)
	}
}

// SharesTime reports whether there are other shards to be fair to.
func (s *Shard[K, T]) SharesTime() bool { return s.sharesTime }

// Limit returns the round that the shard may be served up to; math.MaxUint64 is any.
func (s *Shard[K, T]) Limit() uint64 {
	if !s.SharesTime() {
		return math.MaxUint64
	}
	return s.rounds.Limit(s.index)
}

// IsBehind reports whether KeepUp has something to do.
func (s *Shard[K, T]) IsBehind() bool {
	return s.sharesTime && (!s.published.ready || s.Queue.Waiting())
}

// KeepUp is how a hold begins on a shard that shares time, before a tenant joins.
func (s *Shard[K, T]) KeepUp() {
	if !s.published.ready {
		s.Join() // idle until now
	}
	if s.Queue.Waiting() {
		s.Queue.CatchUp(s.rounds.Current()) // the empty turns that have passed since
	}
}

// Pass and Back implement drr.Peers.

// Pass reports whether the shard may be served in a round after empty turns. If the shard is
// alone by now, Pass counts at most as many of them as the others have counted: so the tag goes
// back, as in Back, and a shard that wakes up during this hold does not pass on to the round that
// this one has waited for.
func (s *Shard[K, T]) Pass(round uint64) drr.Passage {
	switch may, alone := s.rounds.Pass(s.index, round); {
	case alone:
		if s.published.ready {
			s.Back()
		} else {
			s.Queue.CatchUp(s.rounds.Current())
		}
		return drr.PassUncounted
	case may:
		return drr.PassCounted
	}
	return drr.PassWait
}

// Back publishes that the shard can be served now, and not only in the round that it has
// waited for. If the others have passed to a later round before they saw that, it
// catches up.
func (s *Shard[K, T]) Back() {
	wasReady := s.published.ready
	s.publishTag(s.Queue.Round(), true) // [K1]
	if !wasReady {
		s.becameReady()
		return
	}
	s.Queue.CatchUp(s.rounds.Settled()) // [K2], [K3]
}

// Join takes an idle shard to the current round, where new tasks begin; or to the
// next one if no other shard has work, because a tenant was served in the current one: but not
// if all its tasks are of tenants at their in-flight limits, which move no round on. It
// stays in its round if that is later, and keeps that lead
// however long it was idle.
func (s *Shard[K, T]) Join() {
	current := s.rounds.Current()
	ahead, passed := drr.Apart(s.Queue.Round(), s.parked), drr.Apart(current, s.parked)
	if ahead > 0 && passed >= 0 && passed < ahead {
		return
	}
	s.parked = current
	if s.Queue.Len() > 0 {
		s.Queue.AdvanceRound(current)
		return
	}
	if s.Limit() == math.MaxUint64 {
		current++
	}
	s.Queue.SetRound(current)
}

// Onward is called between two deliveries of a hold, with the limit of the first one. If
// the queue has come to another round, Onward makes that the current one, where a shard that wakes up
// now joins, and returns the limit as it is now: another shard may have come into an earlier
// round in between.
func (s *Shard[K, T]) Onward(limit uint64) uint64 {
	reached := s.Queue.Reached()
	if reached == s.published.reached || !s.SharesTime() {
		return limit
	}
	s.published.reached = reached
	s.rounds.Served(reached)
	failpoint.At("onward limit")
	return s.rounds.Limit(s.index)
}

// tag returns the tag of a shard that has something to serve.
func (s *Shard[K, T]) tag() uint64 {
	switch {
	case s.Queue.Freed(): // they go first: the others are too far ahead until then
		return s.rounds.Current() - uint64(s.shared.Config.FairnessSlack) - 1
	case s.Queue.Fresh(): // they may be served now, whatever the round
		if current := s.rounds.Current(); drr.Apart(s.Queue.Round(), current) > 0 {
			return current
		}
		return s.Queue.Round()
	}
	return s.Queue.Tag()
}

// published is what a shard has published.
type published struct {
	tag, reached     uint64
	askAt            int64 // see shardsel.Rounds.SetAskAt
	ready, lingering bool
}

// Publish lets consumers know the shard's tag, the round that it has come to, and
// whether it has something to serve, or at least has to be asked (drr.Queue.Lingering).
//
// No other shard is fair to one that is alone, so it has no rounds to publish; and it stays
// ready while its last tenant lingers: see HasNews.
func (s *Shard[K, T]) Publish(ready bool) {
	if s.bounded {
		s.PublishIdle()
	}
	lingering := !ready && s.Queue.Lingering()
	if !s.SharesTime() {
		if ready = ready || lingering; ready != s.published.ready {
			failpoint.At("publish tag")
			s.publishTag(0, ready)
		}
		return
	}
	p := &s.published
	tag, reached, askAt := uint64(0), s.Queue.Reached(), int64(drr.NoDeadline)
	if ready {
		tag = s.tag()
	}
	if s.Queue.Waiting() {
		askAt = s.Queue.NextDue()
	}
	if ready == p.ready && lingering == p.lingering && tag == p.tag && reached == p.reached && askAt == p.askAt {
		return
	}
	if reached != p.reached { // else it may be long ago
		s.rounds.Served(reached)
		p.reached = reached
	}
	wasReady := p.ready
	if p.lingering = lingering; askAt != p.askAt {
		p.askAt = askAt
		s.rounds.SetAskAt(s.index, askAt)
	}
	failpoint.At("publish tag") // after the round: a shard that sees the tag gone joins at that round
	s.publishTag(tag, ready)
	switch {
	case !ready:
		s.parked = s.rounds.Current()
	case !wasReady:
		s.becameReady()
	}
}

// unchanged reports whether a shard that is ready, has published that, and shares time would publish
// nothing new. It costs less than Publish.
func (s *Shard[K, T]) unchanged() bool {
	p := &s.published
	tag, reached, plainly := s.Queue.Plainly()
	return plainly && !p.lingering && tag == p.tag && reached == p.reached && p.askAt == drr.NoDeadline
}

// Unwait drops expired tasks if the shard waits for a far round: the task that it waits for
// may be among them.
func (s *Shard[K, T]) Unwait(now int64) {
	if s.Queue.Waiting() && s.Queue.NextDue() < now {
		s.Queue.Reclaim(now, MaxHold)
	}
}

// Ready reports whether the shard has published that it has something to serve.
func (s *Shard[K, T]) Ready() bool { return s.published.ready }

func (s *Shard[K, T]) publishTag(tag uint64, ready bool) {
	s.published.tag, s.published.ready = tag, ready
	s.settled = ready && !s.sharesTime && !s.bounded
	if !ready && s.published.lingering {
		s.rounds.Linger(s.index)
	} else {
		s.rounds.Publish(s.index, tag, ready)
	}
}

// becameReady is called when an idle shard has become ready [K1]. Since it joined, the
// others may have gone on to any round, as nothing has held them back; then it follows.
func (s *Shard[K, T]) becameReady() {
	if s.Limit() == math.MaxUint64 {
		s.rounds.Served(s.Queue.Round()) // a tenant that comes now joins it there
	}
	current := s.rounds.Settled() // [K2], [K3]
	if drr.Apart(current, s.Queue.Round()) <= int64(s.shared.Config.FairnessSlack) {
		return
	}
	s.Queue.CatchUp(current)
	s.Queue.AdvanceRound(current)
	s.publishTag(s.tag(), true)
}

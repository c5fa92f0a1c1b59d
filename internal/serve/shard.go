package serve

import (
	"math"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/shardsel"
)

// Shard is one shard's queue and books. Not safe for concurrent use: it belongs
// to who holds the shard's lock or lease.
type Shard[K comparable, T any] struct {
	Queue *drr.Queue[K, T]
	env   *Env[K, T]
	waits *hist.Local

	enqueued, dequeued, expired, cancelled, evicted, overload, closed uint64

	rounds *shardsel.Rounds // of all shards
	index  int              // among them; immutable, as is rounds

	inFlight int
	said     said
	parked   uint64 // the current round as it was when the shard was last seen idle
	top      top[K, T]
	drops    *Drops[K, T] // to be told once the lock is free
	behind   behind[K]

	known[K, T]
}

// MaxHold is how many tasks are delivered, or dropped, under one hold of a lock.
const MaxHold = 256

// NewShard returns an empty shard; host is what its queue calls.
func NewShard[K comparable, T any](env *Env[K, T], host drr.Host[K, T]) *Shard[K, T] {
	cfg := &env.Config
	s := &Shard[K, T]{env: env, waits: hist.NewLocal()}
	s.top.size = max(cfg.TopTenants, 0)
	s.bounded = cfg.MaxTenants > 0
	env.crowd = append(env.crowd, &s.told)
	s.Queue = drr.New(drr.Config{
		Order:     cfg.Order,
		LowWater:  cfg.LowWater,
		HighWater: cfg.HighWater,
		Aging:     int64(cfg.PriorityAging),
		Across:    cfg.PriorityScope == firq.PriorityAcrossTenants,
		NewFirst:  cfg.NewTenantsFirst,
		MaxFlows:  cfg.MaxFlows,
		Target:    int64(cfg.TargetWait),
		Interval:  int64(cfg.Interval),
	}, host)
	return s
}

// Share gives the shard an index among the others, to which it has to be fair.
func (s *Shard[K, T]) Share(r *shardsel.Rounds, index int) {
	s.rounds, s.index = r, index
	if s.Shared() {
		s.Queue.Share(s)
	}
}

// Shared reports whether there are other shards to be fair to.
func (s *Shard[K, T]) Shared() bool { return s.env.Config.Shards > 1 }

// Limit returns the round that the shard may be served up to; math.MaxUint64 is any.
func (s *Shard[K, T]) Limit() uint64 {
	if !s.Shared() {
		return math.MaxUint64
	}
	return s.rounds.Limit(s.index)
}

// CatchUp takes the empty turns that have passed meanwhile. It comes before a
// tenant joins.
func (s *Shard[K, T]) CatchUp() {
	if s.Queue.Waiting() {
		s.Queue.CatchUp(s.rounds.Current())
	}
}

// Pass and Back implement drr.Peers.

// Pass asks whether the shard may be served in a round after empty turns. If it is
// alone by now, it counts no more of them than the others have counted: so its tag goes
// back, as in Back, and who wakes up during this hold does not pass to where it has
// waited for.
func (s *Shard[K, T]) Pass(round uint64) drr.Passage {
	switch may, alone := s.rounds.Pass(s.index, round); {
	case alone:
		if s.said.ready {
			s.Back()
		} else {
			s.Queue.CatchUp(s.rounds.Current())
		}
		return drr.Alone
	case may:
		return drr.Together
	}
	return drr.Stay
}

// Back says that the shard can be served now, and not only in the round that it has
// waited for. If the others have passed to a later round before they saw that, it
// catches up.
func (s *Shard[K, T]) Back() {
	wasReady := s.said.ready
	s.say(s.Queue.Round(), true) // [K1]
	if !wasReady {
		s.wokeUp()
		return
	}
	s.Queue.CatchUp(s.rounds.Settled()) // [K2], [K3]
}

// Join takes an idle shard to the current round, where what comes in begins; or to the
// next one if no other shard has work, as in the current one somebody was served. It
// stays where it is if that is further. However long it was idle: that it is so far
// ahead, it knows from then.
func (s *Shard[K, T]) Join() {
	current := s.rounds.Current()
	ahead, passed := drr.Apart(s.Queue.Round(), s.parked), drr.Apart(current, s.parked)
	if ahead > 0 && passed >= 0 && passed < ahead {
		return
	}
	if s.parked = current; s.Limit() == math.MaxUint64 {
		current++
	}
	s.Queue.SetRound(current)
}

// StepBack comes after a hold in which n tasks were delivered. If another shard has come
// into an earlier round meanwhile, and the hold went beyond its limit, then the shard goes
// back to that: what it has served stays served, but nobody who comes later has to wait
// until the other one has made up for it. It does not go back to before the current round:
// a shard that is just going back itself follows to there, whatever tag it shows till then.
//
// A hold that has gone on by more rounds than shards may be apart arrives, so that a shard
// which becomes ready at that moment follows. One of a single task that has gone on by
// fewer stays where it is.
func (s *Shard[K, T]) StepBack(n int) {
	if !s.Shared() {
		return
	}
	reached := s.Queue.Reached()
	went := drr.Apart(reached, s.said.reached)
	if went == 0 {
		return
	}
	far := went > int64(s.env.Config.FairnessSlack) || went < 0 // what it said is long ago
	if drr.Apart(reached, s.rounds.Current()) <= 0 || !far && n == 1 {
		return
	}
	var limit uint64
	if far {
		limit = s.rounds.Arrive(s.index, reached)
	} else {
		limit = s.rounds.Limit(s.index)
	}
	if limit == math.MaxUint64 {
		return
	}
	if current := s.rounds.Current(); drr.Apart(current, limit) > 0 { // after the look at the limit
		limit = current
	}
	s.Queue.StepBack(limit)
}

func (s *Shard[K, T]) tag(ready bool) uint64 {
	switch {
	case !ready:
		return 0
	case s.Queue.Fresh(): // they may be served now, whatever the round
		if current := s.rounds.Current(); drr.Apart(s.Queue.Round(), current) > 0 {
			return current
		}
		return s.Queue.Round()
	}
	return s.Queue.Tag()
}

// said is what a shard has published; without other shards its rounds are nobody's
// business.
type said struct {
	tag, reached uint64
	ready        bool
}

// Publish lets consumers know the shard's tag, the round that it has come to, and
// whether it has something to serve.
func (s *Shard[K, T]) Publish(ready bool) {
	now := said{ready: ready}
	if s.Shared() {
		now.tag, now.reached = s.tag(ready), s.Queue.Reached()
	}
	if now == s.said {
		return
	}
	if now.reached != s.said.reached { // else it may be long ago
		s.rounds.Served(now.reached)
		s.said.reached = now.reached
	}
	wasReady := s.said.ready
	failpoint.At("publish tag") // after the round: who sees the tag gone joins at that round
	s.say(now.tag, ready)
	switch {
	case !s.Shared():
	case !ready:
		s.parked = s.rounds.Current()
	case !wasReady:
		s.wokeUp()
	}
}

// Ready reports whether the shard has said that it has something to serve.
func (s *Shard[K, T]) Ready() bool { return s.said.ready }

func (s *Shard[K, T]) say(tag uint64, ready bool) {
	s.said.tag, s.said.ready = tag, ready
	s.rounds.Publish(s.index, tag, ready)
}

// wokeUp is called when an idle shard has become ready [K1]. Since it joined, the
// others may have gone on to any round, as nothing has held them back; then it follows.
func (s *Shard[K, T]) wokeUp() {
	if s.Limit() == math.MaxUint64 {
		s.rounds.Served(s.Queue.Round()) // whoever comes now joins it there
	}
	current := s.rounds.Settled() // [K2], [K3]
	if drr.Apart(current, s.Queue.Round()) <= int64(s.env.Config.FairnessSlack) {
		return
	}
	s.Queue.CatchUp(current)
	s.Queue.AdvanceRound(current)
	s.say(s.tag(true), true)
}

// SetQuantum sets a tenant's quantum.
func (s *Shard[K, T]) SetQuantum(t *Tenant[K, T], quantum int64) {
	s.Queue.SetQuantum(&t.Tenant, quantum)
	if s.bounded {
		s.settle(t) // what rounds have paid off is known now
	}
}

// Push queues a task.
func (s *Shard[K, T]) Push(t *Tenant[K, T], task *drr.Task[T]) {
	s.enqueued++
	s.Queue.Push(&t.Tenant, task)
	if s.bounded {
		s.settle(t)
	}
}

// Deliver turns a task that the queue has given out into the item that the
// consumer gets, and blocks its tenant if it has reached its in-flight limit. The
// caller binds the item to the token.
func (s *Shard[K, T]) Deliver(it *firq.Item[K, T], t *Tenant[K, T], task *drr.Task[T], now int64) (token uint64) {
	wait := time.Duration(max(now-task.Enqueued, 0))
	s.waits.Record(wait)
	s.dequeued++
	t.lastUsed = max(t.lastUsed, now) // who reads the clock first may come last
	if s.top.size > 0 {
		s.top.delivered(t)
	}
	token = uint64(task.Priority) << tokenPriority
	if s.env.Flights {
		if f := t.flights; f != nil && f.limit > 0 {
			token |= f.start()
			s.inFlight++
			if f.full() {
				s.Queue.Block(&t.Tenant)
			}
		}
	}
	it.Tenant = t.Key
	it.Payload = task.Payload
	it.Cost = task.Cost
	it.Priority = task.Priority
	it.Flow = task.Flow
	it.Deadline = s.env.Clock.Time(task.Due)
	it.Wait = wait
	if s.bounded {
		s.settle(t)
	}
	return token
}

// Done ends a delivery and reports whether it was in flight. The tenant may
// serve again then.
func (s *Shard[K, T]) Done(t *Tenant[K, T], token uint64, now int64) bool {
	if t.flights == nil || !t.flights.end(token) {
		return false
	}
	s.inFlight--
	t.lastUsed = now
	s.bar(t)
	if s.bounded {
		s.settle(t)
	}
	return true
}

// LimitFlights sets the in-flight limit of a tenant without queued tasks, 0 for none.
func (s *Shard[K, T]) LimitFlights(t *Tenant[K, T], limit int) {
	if t.flights == nil {
		if limit == 0 {
			return
		}
		t.flights = new(flights)
	}
	if t.flights.limit != limit {
		t.flights.limit = limit
		s.bar(t)
	}
}

// bar blocks a tenant that is at its in-flight limit, and lets in one that is not.
func (s *Shard[K, T]) bar(t *Tenant[K, T]) {
	switch full := t.flights.full(); {
	case full == t.Blocked():
	case full:
		s.Queue.Block(&t.Tenant)
	default:
		s.Queue.Unblock(&t.Tenant)
	}
}

// Charge corrects what a delivery of a flow has cost.
func (s *Shard[K, T]) Charge(t *Tenant[K, T], token, flow uint64, delta int64) {
	s.Queue.ChargeFlow(&t.Tenant, firq.Priority(token>>tokenPriority), flow, delta)
	if s.bounded {
		s.settle(t)
	}
}

// Dropped books a task that left without being delivered. OnDrop is told when
// the lock is free (TakeDrops).
func (s *Shard[K, T]) Dropped(t *Tenant[K, T], task *drr.Task[T], why firq.DropReason) {
	switch why {
	case firq.DropExpired:
		s.expired++
	case firq.DropEvicted:
		s.evicted++
	case firq.DropCancelled:
		s.cancelled++
	case firq.DropClosed:
		s.closed++
	case firq.DropOverload:
		s.overload++
	}
	if t.Len() == 0 {
		t.lastUsed = max(t.lastUsed, s.env.Clock.Now())
	}
	if s.bounded {
		s.settle(t)
	}
	if s.env.Config.OnDrop == nil {
		return
	}
	if s.drops == nil {
		if s.drops, _ = s.env.dropPool.Get().(*Drops[K, T]); s.drops == nil {
			s.drops = new(Drops[K, T])
		}
	}
	s.drops.list = append(s.drops.list, drop[K, T]{t.Key, task.Payload, why})
}

// TakeDrops returns what was dropped since the last call, nil for nothing. Who
// takes them tells OnDrop after releasing the lock.
func (s *Shard[K, T]) TakeDrops() *Drops[K, T] {
	d := s.drops
	s.drops = nil
	return d
}

// Cancel takes out the task of a ticket that t owns; false: it is not queued
// here (any more, or yet).
func (s *Shard[K, T]) Cancel(t *Tenant[K, T], tk *firq.Ticket) bool {
	place := tk.Place(&t.Ticket)
	if place == nil {
		return false
	}
	_, task := s.Queue.Remove(place)
	s.Dropped(t, &task, firq.DropCancelled)
	return true
}

// Evict makes room by the policies DropOldest and DropNewest.
func (s *Shard[K, T]) Evict(t *Tenant[K, T], p firq.Priority, newest bool) bool {
	task, ok := s.Queue.Evict(&t.Tenant, p, newest)
	if ok {
		s.Dropped(t, &task, firq.DropEvicted)
	}
	return ok
}

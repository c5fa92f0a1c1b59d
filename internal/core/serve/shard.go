package serve

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/shardsel"
)

// Shard is one shard's queue and books. Not safe for concurrent use: it belongs
// to the holder of the shard's lock.
type Shard[K comparable, T any] struct {
	Queue  drr.Queue[K, T]
	shared *Shared[K, T]
	// waits has a histogram for the even processors, and one for the odd ones; see ServedBy.
	waits    [2]*hist.Local
	servedBy int

	enqueued, dequeued, expired, cancelled, evicted, overload, closed uint64

	rounds     *shardsel.Rounds // of all shards
	index      int              // among them; immutable, as is rounds
	sharesTime bool             // see SharesTime; immutable after Share
	settled    bool             // it has published that it is ready, and publishes nothing else: see HasNews
	exacts     bool             // a delivery is more than a count: see Fly; immutable

	inFlight  int
	published published
	parked    uint64 // the current round as it was when the shard was last seen idle
	top       top[K, T]
	drops     *Drops[K, T] // to be told once the lock is free
	behind    behind[K]

	registeredTenants[K, T]
}

// MaxHold is how many tasks are delivered, or dropped, under one hold of a lock.
const MaxHold = 256

// Init makes an empty shard; host is what its queue calls.
func (s *Shard[K, T]) Init(shared *Shared[K, T], host drr.Host[K, T]) {
	cfg := &shared.Config
	s.shared, s.waits = shared, [2]*hist.Local{hist.NewLocal(), hist.NewLocal()}
	s.top.size = max(cfg.TopTenants, 0)
	s.bounded = cfg.MaxTenants > 0
	s.exacts = s.bounded || shared.Flights
	shared.idleWords = append(shared.idleWords, &s.idleWord)
	s.Queue = *drr.New(drr.Config{
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
}

// ServedBy says on which processor (cpu.Hint) the caller is about to deliver. A histogram is
// spread over hundreds of cache lines, and a delivery writes any of them. So there are two:
// where processors take turns to serve the shard, most often each writes its own lines.
func (s *Shard[K, T]) ServedBy(processor int) { s.servedBy = processor }

// LastServedBy returns the processor of the last ServedBy.
func (s *Shard[K, T]) LastServedBy() int { return s.servedBy }

// SetQuantum sets a tenant's quantum.
func (s *Shard[K, T]) SetQuantum(t *Tenant[K, T], quantum int64) {
	s.Queue.SetQuantum(&t.Tenant, quantum)
	if s.bounded {
		s.Queue.Forgive(&t.Tenant) // SetQuantum has, unless the quantum is the same
		s.reclassify(t)
	}
}

// Push queues a task.
func (s *Shard[K, T]) Push(t *Tenant[K, T], task *drr.Task[T]) {
	s.enqueued++
	s.Queue.Push(&t.Tenant, task)
	if s.bounded {
		s.reclassify(t)
	}
}

// Pushed counts n plain tasks that the caller has pushed into Queue itself.
func (s *Shard[K, T]) Pushed(t *Tenant[K, T], n int) {
	s.enqueued += uint64(n)
	if s.bounded {
		s.reclassify(t)
	}
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
		s.reclassify(t)
	}
	return true
}

// LimitFlights sets the in-flight limit of a tenant, 0 for the one that all have.
func (s *Shard[K, T]) LimitFlights(t *Tenant[K, T], limit int) {
	if limit == 0 {
		limit = int(s.shared.limits.inFlight.Load())
	}
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
		s.reclassify(t)
	}
}

// Dropped books a task that left without being delivered. OnDrop is called when
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
		t.lastUsed = max(t.lastUsed, s.shared.Clock.Now())
	}
	if s.bounded {
		s.reclassify(t)
	}
	if s.shared.Config.OnDrop == nil {
		return
	}
	if s.drops == nil {
		if s.drops, _ = s.shared.dropPool.Get().(*Drops[K, T]); s.drops == nil {
			s.drops = new(Drops[K, T])
		}
	}
	s.drops.list = append(s.drops.list, drop[K, T]{t.Key, task.Payload, why})
}

// TakeDrops returns the tasks dropped since the last call, nil for none. The caller that
// takes them tells OnDrop after releasing the lock.
func (s *Shard[K, T]) TakeDrops() *Drops[K, T] {
	d := s.drops
	if d != nil {
		s.drops = nil
	}
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

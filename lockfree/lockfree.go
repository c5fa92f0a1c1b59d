package lockfree

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/core/park"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/core/shardsel"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/credit"
)

// Scheduler is a firq.Scheduler. Make it with New; safe for concurrent use.
type Scheduler[K comparable, T any] struct {
	// Immutable after New.
	shared      *serve.Shared[K, T]
	placer      shardsel.Placer[K]
	cursors     *shardsel.Cursors
	rounds      *shardsel.Rounds
	parker      *park.Parker
	credit      *credit.Pool
	shards      []*shard[K, T]
	tenants     *xsync.MapOf[K, *tenant[K, T]]
	firstTicket uint32
	firstBox    int
	bare        bool // a plain task gets nothing from the config; see bareOf
	direct      bool // and may pass by the inbox; see enqueueDirect

	// Read by every call, written hardly ever.
	_         pad.Pad
	life      serve.Life
	deadlines atomic.Bool // some task had a deadline: expired ones may hold places
	eager     atomic.Bool // some task had a priority other than normal

	_     pad.Pad
	known atomic.Int64 // tenants in the map; CAS keeps it within MaxTenants
	_     pad.Pad
}

// New builds a scheduler. A config that makes no sense is firq.ErrInvalidConfig.
func New[K comparable, T any](cfg firq.Config[K, T]) (*Scheduler[K, T], error) {
	s, err := newAt(cfg, lendSize, firstBox) // past those that use their slots; see piggybacks
	if err == nil {
		s.direct = s.bare
	}
	return s, err
}

// newAt is New with the first ticket of every ring given, so that tests can start
// just below the wrap, and with the number of slots that inboxes start with.
func newAt[K comparable, T any](cfg firq.Config[K, T], firstTicket uint32, box int) (*Scheduler[K, T], error) {
	shared, err := serve.NewShared(cfg)
	if err != nil {
		return nil, err
	}
	n := shared.Config.Shards
	s := &Scheduler[K, T]{
		shared:      shared,
		placer:      shardsel.NewPlacer[K](n),
		cursors:     shardsel.NewCursors(runtime.GOMAXPROCS(0), n),
		rounds:      shardsel.NewRounds(n, shared.Config.FairnessSlack),
		credit:      credit.New(shared.Config.MaxGlobal),
		shards:      make([]*shard[K, T], n),
		tenants:     xsync.NewMapOf[K, *tenant[K, T]](),
		firstTicket: firstTicket,
		firstBox:    box,
		bare:        bareOf(&shared.Config),
	}
	s.parker = park.New(s.work)
	s.life.Init(func() {
		s.parker.WakeAll()
		s.shared.Waiters.WakeAll()
	})
	for i := range s.shards {
		s.shards[i] = newShard(s, i)
	}
	return s, nil
}

// work reports whether a consumer has to stay awake.
func (s *Scheduler[K, T]) work() bool { return s.anyWork("work?") || s.life.Over() }

// lookUp returns the live tenant of a key, a new one if need be. says is what was asked
// about it, nil for nothing.
func (s *Scheduler[K, T]) lookUp(k K, conf *serve.TenantConfig) (*tenant[K, T], error) {
	if t, ok := s.tenants.Load(k); ok && t.word.Load()&deadBit == 0 {
		return t, nil
	}
	// MaxTenants is about what is in the map: a new tenant takes over the place
	// of a dead one of the same key.
	failpoint.At("look up")
	if conf == nil {
		conf = &s.shared.Defaults
	}
	t, _ := s.tenants.Compute(k, func(old *tenant[K, T], loaded bool) (*tenant[K, T], bool) {
		if loaded && old.word.Load()&deadBit == 0 {
			return old, false
		}
		if !loaded && !s.addKnown() {
			return nil, true
		}
		return newTenant(s.shards[s.placer.Shard(k)], k, conf), false
	})
	if t == nil {
		return nil, firq.ErrTooManyTenants
	}
	if s.shared.Config.MaxPerTenantFor != nil { // it may have more room than when it was forgotten
		s.shared.Waiters.TenantRaised(k, t.limit.get())
	}
	return t, nil
}

// addKnown counts one more tenant, unless there are MaxTenants. No mark is in here: it is
// called with a lock of the map held, for which a call that comes to the same bucket waits.
func (s *Scheduler[K, T]) addKnown() bool {
	limit := int64(s.shared.Config.MaxTenants)
	for limit > 0 {
		n := s.known.Load()
		if n >= limit {
			return false
		}
		if s.known.CompareAndSwap(n, n+1) {
			break
		}
	}
	return true
}

// remove takes a dead tenant out of the map, unless another has taken its place.
func (s *Scheduler[K, T]) remove(t *tenant[K, T]) {
	s.tenants.Compute(t.Key, func(old *tenant[K, T], loaded bool) (*tenant[K, T], bool) {
		if !loaded || old != t {
			return old, !loaded
		}
		if s.shared.Config.MaxTenants > 0 {
			s.known.Add(-1)
		}
		return nil, true
	})
}

// Len returns the number of queued tasks, and of places that calls in progress
// have reserved. Lock-free.
func (s *Scheduler[K, T]) Len() int { return s.credit.Out() }

// Stats returns a snapshot; it takes each lease in turn and forgets idle
// tenants.
func (s *Scheduler[K, T]) Stats() firq.Stats[K] {
	counters := serve.NewCounters[K]()
	s.lookAhead()
	for _, sh := range s.shards {
		sh.sweepAll()
		sh.lock()
		sh.drainPolled() // tasks are counted when they are drained
		sh.AddTo(counters)
		sh.unlock()
	}
	return s.shared.Stats(counters, s.credit.Out(), s.credit.Cap())
}

// SetQuantum overrides the tenant's quantum from its next turn on. It takes the
// lease of the tenant's shard.
func (s *Scheduler[K, T]) SetQuantum(k K, quantum int64) {
	if s.shared.CheckTenant(k) != nil {
		return // it could not be found again
	}
	quantum = max(quantum, 1)
	sh := s.shards[s.placer.Shard(k)]
	sh.lock()
	s.shared.SetQuantum(k, quantum)
	if t, ok := s.tenants.Load(k); ok {
		t.override(quantum)
	}
	sh.unlock()
}

// ResetQuantum gives the tenant back the quantum that the config says. It takes
// the lease of the tenant's shard.
func (s *Scheduler[K, T]) ResetQuantum(k K) {
	if s.shared.CheckTenant(k) != nil {
		return
	}
	quantum := s.shared.ResetQuantum(k)
	sh := s.shards[s.placer.Shard(k)]
	sh.lock()
	if t, ok := s.tenants.Load(k); ok {
		t.quantum.Store(quantum)
		t.override(s.shared.Override(k, quantum)) // SetQuantum may have come first
	}
	sh.unlock()
}

// override sets the quantum from the next turn on. Under the lease.
func (t *tenant[K, T]) override(quantum int64) {
	t.shard.drainFront(t)
	t.shard.SetQuantum(&t.Tenant, quantum)
}

// Shutdown stops admitting and returns once the backlog is gone.
func (s *Scheduler[K, T]) Shutdown(ctx context.Context) error {
	return s.life.Shutdown(ctx, func() {
		s.shared.Waiters.WakeAll() // no call will be admitted
		s.drainCheck()
	})
}

// drainCheck ends a Shutdown when every credit is home. A call that gives one back
// while draining calls it afterwards. If it cannot be sure, another call has
// just changed the credits, and will call it.
func (s *Scheduler[K, T]) drainCheck() {
	failpoint.At("drained?")
	if s.credit.Home() {
		s.life.TryFinish()
	}
}

// Close stops immediately and hands what was queued to OnDrop.
func (s *Scheduler[K, T]) Close() error {
	failpoint.At("close")
	if s.life.Close() {
		defer s.life.Finish() // even if OnDrop panics
		left := s.shards
		serve.RunAll(func() bool {
			if !left[0].discard() {
				left = left[1:]
			}
			return len(left) > 0
		})
	}
	return nil
}

// discardAll drops everything that the shard holds.
func (sh *shard[K, T]) discardAll() { serve.RunAll(sh.discard) }

// discard drops a few hundred tasks of the shard, and reports whether there are
// more.
func (sh *shard[K, T]) discard() bool {
	sh.lock()
	for range serve.MaxHold {
		dt, task, ok := sh.Queue.Drain()
		if !ok {
			break
		}
		t := ownerOf(dt)
		sh.Dropped(&t.Tenant, &task, firq.DropClosed)
		sh.left(t)
	}
	sh.unpollEmptied() // may find tasks in inboxes
	more := sh.Queue.Len() > 0
	sh.unlock()
	return more
}

var _ firq.Scheduler[int, int] = (*Scheduler[int, int])(nil)

// lookAhead says how far each shard is, for tenants that are behind another one.
func (s *Scheduler[K, T]) lookAhead() {
	for _, sh := range s.shards {
		sh.lock()
		sh.LookAhead()
		sh.unlock()
	}
}

// Package baseline is the scheduler of package firq with a mutex: the simplest correct one of
// this module, and a good choice where contention is low.
//
//	s, err := baseline.New(firq.Config[string, Job]{MaxPerTenant: 100})
//	err = s.Enqueue("tenant-a", firq.Task[Job]{Payload: job})
//	it, err := s.Dequeue(ctx)
//
// It is package drr under one lock (Shards: 1), or under one per shard. Package lockfree, which
// does the same with less contention, is measured against it. The comparison is fair: both have
// the same order of service, checks, histograms, clock, parking and batch calls.
//
// # Concurrency properties
//
// Every method takes a mutex and may wait for it; none does unbounded work under it.
// User code is never called with a lock held; keys that cannot be hashed panic before a
// lock is taken (see firq.Producer).
package baseline

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/core/park"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/core/shardsel"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Scheduler is a firq.Scheduler. Make it with New; safe for concurrent use.
type Scheduler[K comparable, T any] struct {
	shared  *serve.Shared[K, T]
	placer  shardsel.Placer[K]
	cursors *shardsel.Cursors
	rounds  *shardsel.Rounds
	parker  *park.Parker
	shards  []*shard[K, T]
	bare    bool // a plain task needs nothing from the config: see put; immutable

	life      serve.Life
	deadlines atomic.Bool // some task had a deadline: expired ones may be all that a tenant has
	drains    atomic.Bool // Shutdown, and every call that came before it is over: the last one out ends it

	_       pad.Pad
	held    atomic.Int64 // tasks queued, over all shards; CAS keeps it within most
	_       pad.Pad
	most    atomic.Int64 // MaxGlobal; changed under the locks of all shards
	_       pad.Pad
	tenants atomic.Int64 // tenants known; CAS keeps it within MaxTenants
}

// shard is one lock and what it guards.
type shard[K comparable, T any] struct {
	_  pad.Pad
	mu sync.Mutex
	// All guarded by mu.
	*serve.Shard[K, T]
	s       *Scheduler[K, T] // immutable
	tenants map[K]*tenant[K, T]
	most    int // tenants at a time, since the map was last made anew
	_       pad.Pad
}

// tenant is guarded by its shard's mu.
type tenant[K comparable, T any] struct {
	serve.Tenant[K, T]
	shard *shard[K, T] // immutable
	limit int          // tasks queued
}

// ownerOf returns the tenant that dt is a part of, being its first field's.
func ownerOf[K comparable, T any](dt *drr.Tenant[K, T]) *tenant[K, T] {
	return (*tenant[K, T])(unsafe.Pointer(serve.TenantOf(dt)))
}

// New builds a scheduler. A config that makes no sense is firq.ErrInvalidConfig.
// Without Shards it has one, and one lock.
func New[K comparable, T any](cfg firq.Config[K, T]) (*Scheduler[K, T], error) {
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	shared, err := serve.NewShared(cfg)
	if err != nil {
		return nil, err
	}
	n := shared.Config.Shards
	s := &Scheduler[K, T]{
		shared:  shared,
		placer:  shardsel.NewPlacer[K](n),
		cursors: shardsel.NewCursors(runtime.GOMAXPROCS(0), n),
		rounds:  shardsel.NewRounds(n, shared.Config.FairnessSlack),
		shards:  make([]*shard[K, T], n),
	}
	s.bare = shared.Config.MaxQueueAge == 0 && shared.Config.DynamicThreshold == 0
	s.most.Store(int64(shared.Config.MaxGlobal))
	s.parker = park.New(s.work)
	s.life.Init(func() {
		s.parker.WakeAll()
		s.shared.Waiters.WakeAll()
	})
	for i := range s.shards {
		sh := &shard[K, T]{s: s, tenants: make(map[K]*tenant[K, T])}
		sh.Shard = serve.NewShard(shared, sh)
		sh.Share(s.rounds, i)
		sh.Queue.Lazy(true) // nothing waits elsewhere
		s.shards[i] = sh
	}
	return s, nil
}

// work reports whether a consumer has to stay awake.
func (s *Scheduler[K, T]) work() bool { return s.rounds.AnyReady() || s.life.Over() }

func (s *Scheduler[K, T]) shardOf(tenant K) *shard[K, T] { return s.shards[s.placer.Shard(tenant)] }

// Fill and Expired make the shard a drr.Host.

// Fill does nothing: tasks are pushed under the lock.
func (sh *shard[K, T]) Fill(*drr.Tenant[K, T]) {}

// Expired books a task that the queue has dropped.
func (sh *shard[K, T]) Expired(t *drr.Tenant[K, T], task *drr.Task[T]) {
	sh.left(ownerOf(t), task, firq.DropExpired)
}

// Late books a task that the queue has dropped for CoDel.
func (sh *shard[K, T]) Late(t *drr.Tenant[K, T], task *drr.Task[T]) {
	sh.left(ownerOf(t), task, firq.DropOverload)
}

// left books a task that left without being delivered, and frees its place.
func (sh *shard[K, T]) left(t *tenant[K, T], task *drr.Task[T], why firq.DropReason) {
	sh.Dropped(&t.Tenant, task, why)
	sh.s.held.Add(-1)
	sh.s.shared.Waiters.Released(t.Key, 1)
}

// lock takes the lock and lets the queue catch up with the other shards, so that
// what the caller changes is changed as of now, and not of the last look.
func (sh *shard[K, T]) lock() {
	failpoint.Lock(&sh.mu, "lock")
	if sh.SharesTime() {
		sh.wakeUp()
	}
}

func (sh *shard[K, T]) wakeUp() {
	if !sh.Ready() {
		sh.Join() // idle until now
	}
	sh.CatchUp()
}

// unlock publishes what consumers have to know, releases the lock, wakes one of
// them if there is work, and tells OnDrop.
func (sh *shard[K, T]) unlock() { sh.unlockWith(nil) }

// unlockWith is unlock for a call that has items to return.
func (sh *shard[K, T]) unlockWith(served []firq.Item[K, T]) {
	s := sh.s
	ready := sh.Queue.Ready() > 0
	if !ready || !sh.Ready() || sh.SharesTime() && !sh.Unchanged() || sh.Bounded() {
		sh.PublishChanges(ready)
	}
	drops := sh.TakeDrops()
	sh.mu.Unlock()
	failpoint.At("notify")
	if ready {
		s.parker.Notify()
	}
	if drops == nil && !s.drains.Load() {
		return
	}
	if s.drains.Load() {
		defer s.drainCheck() // after OnDrop was told, even if it panics
	}
	if len(served) > 0 {
		s.shared.NotifyServed(drops, served)
	} else {
		s.shared.NotifyDrops(drops)
	}
}

// Len returns the number of queued tasks.
func (s *Scheduler[K, T]) Len() int { return int(s.held.Load()) }

// Stats returns a snapshot; it takes each lock in turn and forgets idle tenants.
func (s *Scheduler[K, T]) Stats() firq.Stats[K] {
	counters := serve.NewCounters[K]()
	s.lookAhead()
	for _, sh := range s.shards {
		sh.sweepAll()
		failpoint.Lock(&sh.mu, "lock")
		sh.AddTo(counters)
		sh.mu.Unlock()
	}
	return s.shared.Stats(counters, s.Len(), int(s.most.Load()))
}

// SetQuantum overrides the tenant's quantum from its next turn on.
func (s *Scheduler[K, T]) SetQuantum(k K, quantum int64) {
	if s.shared.CheckTenant(k) != nil {
		return // it could not be found again
	}
	quantum = max(quantum, 1)
	sh := s.shardOf(k)
	sh.lock()
	defer sh.unlock()
	s.shared.SetQuantum(k, quantum)
	if t := sh.tenants[k]; t != nil {
		sh.SetQuantum(&t.Tenant, quantum)
	}
}

// ResetQuantum gives the tenant back the quantum that the config says.
func (s *Scheduler[K, T]) ResetQuantum(k K) {
	if s.shared.CheckTenant(k) != nil {
		return
	}
	quantum := s.shared.ResetQuantum(k)
	sh := s.shardOf(k)
	sh.lock()
	defer sh.unlock()
	if t := sh.tenants[k]; t != nil {
		sh.SetQuantum(&t.Tenant, s.shared.Override(k, quantum)) // SetQuantum may have come first
	}
}

// Shutdown stops admitting and returns once the backlog is gone.
func (s *Scheduler[K, T]) Shutdown(ctx context.Context) error {
	return s.life.Shutdown(ctx, func() {
		s.fence()
		s.drains.Store(true)
		s.shared.Waiters.WakeAll() // no call will be admitted
		s.drainCheck()
	})
}

// fence waits until no call is at work that has looked at the state before it was
// changed: it is looked at under each lock.
func (s *Scheduler[K, T]) fence() {
	for _, sh := range s.shards {
		failpoint.Lock(&sh.mu, "lock")
		sh.mu.Unlock() // nothing to do in between
	}
}

// drainCheck ends a Shutdown when nothing is left. The call that takes the last task
// out calls it, after the task has given back its place.
func (s *Scheduler[K, T]) drainCheck() {
	failpoint.At("drained?")
	if s.held.Load() == 0 {
		s.life.TryFinish()
	}
}

// Close stops immediately and hands what was queued to OnDrop.
func (s *Scheduler[K, T]) Close() error {
	failpoint.At("close")
	if !s.life.Close() {
		return nil
	}
	defer s.life.Finish() // even if OnDrop panics
	left := s.shards
	serve.RunAll(func() bool {
		if !left[0].discard() {
			left = left[1:]
		}
		return len(left) > 0
	})
	return nil
}

// discard drops a few hundred tasks, and reports whether there are more.
func (sh *shard[K, T]) discard() bool {
	failpoint.Lock(&sh.mu, "lock")
	for range serve.MaxHold {
		t, task, ok := sh.Queue.Drain()
		if !ok {
			break
		}
		sh.left(ownerOf(t), &task, firq.DropClosed)
	}
	more := sh.Queue.Len() > 0
	sh.unlock()
	return more
}

var _ firq.Scheduler[int, int] = (*Scheduler[int, int])(nil)

// lookAhead says how far each shard is, for tenants that are behind another one.
func (s *Scheduler[K, T]) lookAhead() {
	for _, sh := range s.shards {
		failpoint.Lock(&sh.mu, "lock")
		sh.LookAhead()
		sh.mu.Unlock()
	}
}

package lockfree

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
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
	shared   *serve.Shared[K, T]
	placer   shardsel.Placer[K]
	cursors  *shardsel.Cursors
	rounds   *shardsel.Rounds
	parker   *park.Parker
	credit   *credit.Pool
	shards   []*shard[K, T]
	alone    *shard[K, T]                   // the only one, if there is one
	tenants  *xsync.MapOf[K, *tenant[K, T]] // written under the lock of the tenant's shard
	bare     bool                           // a plain task gets nothing from the config
	ringed   bool                           // a task of a known tenant may go by the ring
	maxLanes int                            // tenants of a shard that have a lane, at most

	// Read by every call, written hardly ever.
	_         pad.Pad
	life      serve.Life
	deadlines atomic.Bool // some task had a deadline: expired ones may hold places

	_     pad.Pad
	known atomic.Int64 // tenants known; CAS keeps it within MaxTenants
	_     pad.Pad
}

// New builds a scheduler. A config that makes no sense is firq.ErrInvalidConfig.
func New[K comparable, T any](cfg firq.Config[K, T]) (*Scheduler[K, T], error) {
	return newScheduler(cfg, true)
}

// NewLocked builds the scheduler of package baseline: that of New without rings and lanes, so every
// producer takes the lock of its tenant's shard.
func NewLocked[K comparable, T any](cfg firq.Config[K, T]) (*Scheduler[K, T], error) {
	return newScheduler(cfg, false)
}

func newScheduler[K comparable, T any](cfg firq.Config[K, T], ways bool) (*Scheduler[K, T], error) {
	shared, err := serve.NewShared(cfg)
	if err != nil {
		return nil, err
	}
	c := &shared.Config
	n := c.Shards
	s := &Scheduler[K, T]{
		shared:  shared,
		placer:  shardsel.NewPlacer[K](n),
		cursors: shardsel.NewCursors(runtime.GOMAXPROCS(0), n),
		rounds:  shardsel.NewRounds(n, c.FairnessSlack),
		credit:  credit.New(c.MaxGlobal),
		shards:  make([]*shard[K, T], n),
		tenants: serve.NewMap[K, *tenant[K, T]](),
		bare:    c.MaxQueueAge == 0 && c.DynamicThreshold == 0,
	}
	var payload T
	size := int(unsafe.Sizeof(payload))
	s.ringed = ways && !shared.Asks && c.DynamicThreshold == 0 && size <= largest
	if ways && s.bare && c.TargetWait == 0 && c.Order == firq.FIFO && c.PriorityScope == firq.PriorityWithinTenant {
		s.maxLanes = lanesFor(size)
	}
	s.parker = park.New(s.work)
	s.life.Init(func() {
		s.parker.WakeAll()
		s.shared.Waiters.WakeAll()
	})
	for i := range s.shards {
		s.shards[i] = newShard(s, i, size)
	}
	if n == 1 {
		s.alone = s.shards[0]
	}
	return s, nil
}

// work reports whether a consumer has to stay awake.
func (s *Scheduler[K, T]) work() bool { return s.anyWork("work?") || s.life.Over() }

func (s *Scheduler[K, T]) shardOf(k K) *shard[K, T] { return s.shards[s.placer.Shard(k)] }

// Len returns the number of queued tasks, and of places that calls in progress
// have reserved. Lock-free.
func (s *Scheduler[K, T]) Len() int { return s.credit.Out() }

// Stats returns a snapshot; it takes each lock in turn and forgets idle tenants.
func (s *Scheduler[K, T]) Stats() firq.Stats[K] {
	counters := serve.NewCounters[K]()
	for _, sh := range s.shards { // say how far each is, for tenants that are behind another one
		sh.lock()
		sh.LookAhead()
		sh.unlock()
	}
	for _, sh := range s.shards {
		sh.sweepAll()
		sh.lock()
		sh.fetchLanes() // tasks are counted when the engine has them
		sh.AddTo(counters)
		sh.unlock()
	}
	return s.shared.Stats(counters, s.credit.Out(), s.credit.Cap())
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
	if t, ok := s.tenants.Load(k); ok {
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
	if t, ok := s.tenants.Load(k); ok {
		sh.SetQuantum(&t.Tenant, s.shared.Override(k, quantum)) // SetQuantum may have come first
	}
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
	// No credit is out, and none can be taken any more: a call that takes one now sees the state, and gives it
	// back (takeCredits). So nothing is queued, nor will be.
	if s.credit.Home() {
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
	sh.lock()
	for range serve.MaxHold {
		dt, task, ok := sh.Queue.Drain()
		if !ok {
			break
		}
		t := ownerOf(dt)
		sh.left(t, &task, firq.DropClosed)
		sh.ranDry(t) // what its lane holds is dropped next; an empty lane is closed
	}
	more := sh.Queue.Len() > 0
	sh.unlock()
	return more
}

// takeCredits takes credits for up to n tasks, unless the scheduler is closed. hint says from which stripe:
// a cpu.Hint, or under a lock the one that the shard's consumers give back to. The state is looked at
// last: a call that closes or drains looks at the credits after it has set the state, so a task
// with a credit is waited for, or refused here.
func (s *Scheduler[K, T]) takeCredits(hint, n int) (got int, err error) {
	failpoint.At("credit")
	// Before: the credits are a stripe's. After: this call's, until its tasks are queued with them.
	if got = s.credit.TakeOwn(hint, n); got == 0 {
		got = s.credit.TakeAt(hint, n)
	}
	if got == 0 {
		if s.life.State() != serve.Open {
			return 0, firq.ErrClosed
		}
		return 0, firq.ErrGlobalFull
	}
	failpoint.At("credit state")
	// Pairs with Shutdown and Close, which set the state, and look at the credits after that: either this
	// call sees their state, or they see its credits.
	if s.life.State() != serve.Open {
		s.credit.Give(got)
		if s.life.State() == serve.Draining {
			s.drainCheck()
		}
		return 0, firq.ErrClosed
	}
	return got, nil
}

// published comes after a task was published without the lock: after a Close no consumer may
// come by.
func (sh *shard[K, T]) published() {
	failpoint.At("closed?")
	// Pairs with Close, which sets the state and takes in the ring after that: it finds the task, or this
	// call sees its state and drops the task, and what else there is.
	if sh.s.life.State() == serve.Closed {
		serve.RunAll(sh.discard)
	}
}

var _ firq.Scheduler[int, int] = (*Scheduler[int, int])(nil)

// shard is one lock, what it guards, and the ring in front of it.
type shard[K comparable, T any] struct {
	ring       ring[message[K, T]]
	affinity   affinity // written by the holder, now and then
	_          pad.Pad
	contention contention
	_          pad.Pad
	mu         sync.Mutex
	due        atomic.Int64 // a time before which nothing expires that the holder knew of when it last released the lock

	// All guarded by mu.
	serve.Shard[K, T]
	s         *Scheduler[K, T] // immutable
	index     int              // immutable
	tookIn    bool             // something was taken out of the ring in this hold
	withLane  []*tenant[K, T]  // that have a lane; each at its place
	toShut    []*tenant[K, T]  // whose lanes takeIn has to close
	freeLanes *lane[T]         // that are free
	_         pad.Pad
}

// message is a whole task on its way to the holder, with its place and its credit.
type message[K comparable, T any] struct {
	t     *tenant[K, T]
	plain bool // of the task only Payload, Cost and Enqueued are there
	task  drr.Task[T]
}

// largest is the largest payload, in bytes, that is copied while its goroutine is pinned.
const largest = 1024

// ringSize is the number of slots of a ring for payloads of some bytes: at most 1,024.
func ringSize(payload int) int {
	n := 1024
	for n > 64 && n*payload > 1<<18 {
		n /= 2
	}
	return n
}

func newShard[K comparable, T any](s *Scheduler[K, T], index, payload int) *shard[K, T] {
	sh := &shard[K, T]{s: s, index: index}
	if s.ringed {
		sh.ring.slots = make([]slot[message[K, T]], ringSize(payload))
	}
	sh.contention.at.Store(never)
	sh.due.Store(drr.NoDeadline)
	sh.Init(s.shared, sh)
	sh.Share(s.rounds, index)
	return sh
}

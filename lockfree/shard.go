package lockfree

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/inbox"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// announceSize is the number of slots of a shard's activation ring. A producer
// that finds it full takes the lease and drains it.
const announceSize = 256

// shard is one lease and what it guards.
//
// How a task gets from a producer to the queue, and why none is forgotten:
//
//	[E4] put the task into the tenant's inbox
//	[E5] tenant polled? then done: a consumer will come by; else push the tenant
//	     into the activation ring, and notify the parker
//
//	[L1] take the lease; take the activations out of the ring; drain each one's
//	     inbox up to its ticket
//	[L2] serve; before a tenant is looked at, its inbox is drained if that can
//	     matter (Fill)
//	[L3] at the end of a visit, and before releasing the lease: each polled tenant
//	     without a queued task becomes unpolled (the bit is cleared), and then its
//	     inbox is looked at again
//	[L4] say whether the shard is ready; release; if it is, notify
//
// While the lease is free, a polled tenant therefore has a task in the queue
// and either the shard says that it is ready, or the tenant is at its in-flight
// limit and Item.Done will come. Between E4, E5 and L3 it is Dekker's
// pattern: either E5 sees the cleared bit, or L3 sees the task. A tenant may be
// in the ring several times, and when it has nothing: an activation only says
// "look here, up to this ticket".
//
// A goroutine that asks whether there is work asks for the ring and then for ready. The
// slots of the ring are freed at L4, after the shard has said whether it is ready,
// and it says so before it makes a tenant polled; so a task whose Enqueue has
// returned is always seen.
type shard[K comparable, T any] struct {
	activations ring.MPSC[activation[K, T]]
	_           pad.Pad

	affinity affinity // written under the lease, now and then
	_        pad.Pad

	contention contention
	_          pad.Pad

	lease sync.Mutex

	// due is a time before which nothing in the queue expires; written under the
	// lease, read by producers that find no capacity.
	due atomic.Int64
	// boxDue is before every deadline in an inbox whose task's Enqueue has returned; see
	// tenant.deadline.
	boxDue atomic.Int64

	// All guarded by the lease.
	*serve.Shard[K, T]
	s     *Scheduler[K, T] // immutable
	index int              // immutable
	// kept is before every deadline that a tenant's boxDue was reset for though its task
	// stayed in the inbox: due is not later, until drainPolled has taken in all of them. So
	// a goroutine that reads boxDue while it is reset, and then due, misses none.
	kept int64
	// across is PriorityAcrossTenants, immutable. Each task may then be the one
	// to serve first, and a tenant takes turns at each level: no tenant is polled.
	across bool
	// owing is the tenant to whose word flush adds owed: see owe.
	owing *tenant[K, T]
	owed  uint64
	lazy  bool // immutable: an inbox may wait while its tenant has tasks; see Fill
	// saidLazy: Queue.Lazy was called with true, which holds until eager is set.
	saidLazy bool
	tookIn   bool // something was taken out of the ring in this hold
	polled   []*tenant[K, T]
	emptied  []*tenant[K, T]   // polled tenants whose last queued task left in this hold
	freed    []*tenant[K, T]   // one entry per place that came free in this hold
	large    int               // tenants with an inbox of lendSize
	boxes    []*inbox.Inbox[T] // for tenants that need a large one
	_        pad.Pad
}

// activation says: look at the tenant's inbox, up to this ticket. What came later
// is announced by its own producer, or the tenant is polled by then; taken in with
// this one it would go ahead of other tenants that were announced in between.
//
// Or it carries the task of this ticket itself, which then is not in the inbox; no
// earlier ticket was out when this one was drawn.
type activation[K comparable, T any] struct {
	t       *tenant[K, T]
	ticket  uint32
	carries bool
	task    drr.Task[T]
}

func newShard[K comparable, T any](s *Scheduler[K, T], index int) *shard[K, T] {
	sh := &shard[K, T]{s: s, index: index}
	sh.across = s.shared.Config.PriorityScope == firq.PriorityAcrossTenants
	// With TargetWait it matters whether a task is the tenant's last one.
	sh.lazy = s.shared.Config.Order == firq.FIFO && !sh.across && s.shared.Config.TargetWait == 0
	sh.activations.InitAt(announceSize, s.firstTicket)
	sh.due.Store(clock.Never)
	sh.boxDue.Store(clock.Never)
	sh.kept = clock.Never
	sh.contention.at.Store(never)
	sh.Shard = serve.NewShard(s.shared, sh)
	sh.Share(s.rounds, index)
	return sh
}

// work reports whether there is something to serve, or to look at. The order
// matters: a consumer that moves work from the ring to the queue says ready before it frees
// the ring.
func (sh *shard[K, T]) work() bool { return sh.activations.Ready() || sh.s.rounds.Ready(sh.index) }

// lock takes the lease, waiting for it, and does L1.
func (sh *shard[K, T]) lock() {
	for tries := 0; ; tries++ {
		if failpoint.On || tries == leaseTries {
			failpoint.Lock(&sh.lease, "L1 lease")
			break
		}
		if sh.lease.TryLock() {
			break
		}
		runtime.Gosched()
	}
	sh.begin()
}

// begin does L1 for a goroutine that has just taken the lease.
func (sh *shard[K, T]) begin() {
	sh.wakeUp()
	sh.takeIn()
}

// wakeUp is begin without a look at the ring.
func (sh *shard[K, T]) wakeUp() {
	if sh.SharesTime() && !sh.Ready() {
		sh.Join() // idle until now
	}
}

// unpoll takes back that the tenant is polled. Its inbox has to be looked at after
// flush.
func (sh *shard[K, T]) unpoll(t *tenant[K, T]) {
	last := len(sh.polled) - 1
	moved := sh.polled[last]
	sh.polled[t.at], moved.at = moved, t.at
	sh.polled[last] = nil
	sh.polled = sh.polled[:last]
	t.polled, t.at = false, 0
	sh.owe(t, ^uint64(0)) // polledBit is 1
}

// drainPolled drains every inbox: it brings in every task whose Enqueue has returned.
// What was announced since the lease was taken comes in after the reset: its producer
// may have said its deadline for the last time before that.
func (sh *shard[K, T]) drainPolled() {
	sh.takeDue(&sh.boxDue, "drain polled due")
	sh.kept = clock.Never
	sh.takeIn()
	for _, t := range sh.polled {
		sh.drainAll(t)
	}
}

// Fill drains a tenant's inbox before the queue looks at its tasks. Where the
// oldest task goes first whatever comes behind it, the inbox waits until there is
// no other task, or it is crowded (NeedsFill). It makes the shard a drr.Host.
//
// Else each look needs it, also the second one in the same hold: what was announced
// in between, and is later, may have been taken in.
//
// The queue does not even ask (drr.Queue.Lazy) as long as no task of the scheduler
// had a priority. Whether one had is looked at after each look at the ring's tail,
// in takeIn: a producer that enqueued one has noted it before; so what was announced after
// its Enqueue returned is not taken in without its being seen.
//
// Fill also empties an inbox that is crowded with plain tasks, and lets it grow. Their slots
// come free only when they are delivered, so a producer would find it full, and take the lease.
func (sh *shard[K, T]) Fill(dt *drr.Tenant[K, T]) {
	t := ownerOf(dt)
	if sh.across || t.Len() > 0 && sh.lazy && !t.NeedsFill && !t.eager() {
		return
	}
	crowded := t.NeedsFill
	sh.drainAll(t)
	if crowded && !t.inbox.Load().Mixed() {
		sh.emptyAndGrow(t)
		t.NeedsFill = false
	}
}

// Expired books a task that the queue has dropped.
func (sh *shard[K, T]) Expired(dt *drr.Tenant[K, T], task *drr.Task[T]) {
	t := ownerOf(dt)
	sh.Dropped(&t.Tenant, task, firq.DropExpired)
	sh.left(t)
}

// Late books a task that the queue has dropped for CoDel.
func (sh *shard[K, T]) Late(dt *drr.Tenant[K, T], task *drr.Task[T]) {
	t := ownerOf(dt)
	sh.Dropped(&t.Tenant, task, firq.DropOverload)
	sh.left(t)
}

// left notes that a task has left the queue other than by delivery, and gives
// the tenant its place back. The scheduler's comes back in unlock.
func (sh *shard[K, T]) left(t *tenant[K, T]) {
	sh.owe(t, roomUnit)
	sh.freed = append(sh.freed, t)
	sh.checkEmptied(t)
}

// checkEmptied remembers a polled tenant that has no queued task, for L3.
func (sh *shard[K, T]) checkEmptied(t *tenant[K, T]) {
	if t.polled && !t.emptied && t.Len() == 0 {
		t.emptied = true
		sh.emptied = append(sh.emptied, t)
	}
}

// unpollEmptied does L3.
func (sh *shard[K, T]) unpollEmptied() {
	for n := len(sh.emptied); n > 0; n = len(sh.emptied) {
		t := sh.emptied[n-1]
		sh.emptied[n-1] = nil
		sh.emptied = sh.emptied[:n-1]
		t.emptied = false
		if t.polled && t.Len() == 0 {
			sh.unpoll(t)
			sh.flush()
			sh.lookAgain(t)
			sh.flush()
			t.shrink()
		}
	}
}

// sayReady lets consumers know that there is something to serve.
func (sh *shard[K, T]) sayReady() {
	if !sh.Ready() {
		sh.Publish(true)
	}
}

// unlock gives back what came free, does L3 and L4, and tells OnDrop.
func (sh *shard[K, T]) unlock() { sh.unlockWith(nil) }

// unlockWith is unlock for a call that has items to return.
func (sh *shard[K, T]) unlockWith(served []firq.Item[K, T]) {
	s := sh.s
	if len(sh.emptied) > 0 {
		sh.unpollEmptied()
	}
	sh.flush()
	if n := len(sh.freed); n > 0 {
		failpoint.At("L3 credit")
		s.credit.Give(n)
		failpoint.At("L3 released")
		if s.shared.Waiters.Waiting() {
			for _, t := range sh.freed {
				s.shared.Waiters.Released(t.Key, 1)
			}
		}
		clear(sh.freed)
		sh.freed = sh.freed[:0]
	}
	failpoint.At("L4 publish")
	ready := sh.Queue.Ready() > 0
	sh.Publish(ready)
	sh.PublishIdle()
	failpoint.At("L4 free")
	sh.tookIn = false
	sh.activations.Free() // not before the shard has said whether it is ready
	if due := min(sh.Queue.NextDue(), sh.kept); due != sh.due.Load() {
		sh.due.Store(due)
	}
	drops := sh.TakeDrops()
	failpoint.At("L4 unlock")
	sh.lease.Unlock()
	if ready {
		failpoint.At("L4 notify")
		s.parker.Notify()
	}
	failpoint.At("L4 draining?")
	if s.life.State() == serve.Draining {
		defer s.drainCheck() // after OnDrop was told, even if it panics
	}
	switch {
	case drops == nil:
	case len(served) > 0:
		s.shared.NotifyServed(drops, served)
	default:
		s.shared.NotifyDrops(drops)
	}
}

// forget is SweepSome's callback for idle tenants: the tenant dies if no producer is
// at work on it. A producer that holds a dead tenant looks it up again.
func (sh *shard[K, T]) forget(st *serve.Tenant[K, T]) bool {
	t := ownerOf(&st.Tenant)
	w := t.word.Load()
	failpoint.At("forget")
	if tailOf(w) != t.taker.Head() || t.held(w) != 0 || w&polledBit != 0 ||
		!t.word.CompareAndSwap(w, w|deadBit) {
		return false
	}
	failpoint.At("forget remove")
	sh.s.remove(t)
	if box := t.inbox.Load(); box.Size() == lendSize {
		sh.keepBox(box) // no ticket of it is out, nor will one be
	}
	return true
}

package lockfree

import (
	"runtime"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// lock takes the shard's lock and begins a hold.
func (sh *shard[K, T]) lock() {
	for tries := 0; ; tries++ {
		// A hold is shorter than it takes to sleep and to be woken, so the goroutine lets others run first.
		// After that it sleeps in the mutex's line.
		if failpoint.On || tries == lockTries {
			failpoint.Lock(&sh.mu, "lock")
			break
		}
		if sh.mu.TryLock() {
			break
		}
		runtime.Gosched()
	}
	sh.begin()
}

// try takes the lock unless another goroutine has it. The caller begins the hold.
func (sh *shard[K, T]) try() bool {
	failpoint.At("lock try")
	return sh.mu.TryLock()
}

// begin begins a hold with every task whose Enqueue has returned, except those in lanes: it lets
// the queue catch up with the other shards, so that what the caller changes is changed as of now,
// and takes in the ring.
func (sh *shard[K, T]) begin() {
	if sh.SharesTime() {
		sh.KeepUp() // first: a tenant that the ring makes active joins the round that there is now
	}
	sh.takeIn()
}

// isBehind reports whether begin has something to do.
func (sh *shard[K, T]) isBehind() bool {
	return sh.IsBehind() || sh.ring.tail.Load() != sh.ring.head
}

// takeIn queues what is in the ring, in its order.
func (sh *shard[K, T]) takeIn() {
	if sh.ring.tail.Load() != sh.ring.head {
		sh.takeInAll()
	}
}

func (sh *shard[K, T]) takeInAll() {
	// All tickets before the tail are drawn, and will be published without a wait. Pairs with the CAS of
	// draw: what was published before this hold began is before it.
	tail := sh.ring.tail.Load()
	failpoint.At("take in")
	sh.tookIn = true
	for sh.ring.head != tail {
		m := sh.ring.next() // the holder's from here on, with its place and its credit
		t := m.t
		if !m.plain {
			sh.push(t, &m.task)
			if *m = (message[K, T]{}); t.laned != noLane { // its place was taken before the lane was opened
				// From here to shut the lane is open, though not all of the tenant's tasks are plain.
				sh.toShut = append(sh.toShut, t)
			}
			continue
		}
		var zero T
		if t.Len() == 0 {
			t.mixed = false
		}
		sh.Queue.PushPlain(&t.Tenant.Tenant, &m.task.Payload, m.task.Cost, m.task.Enqueued)
		sh.Pushed(&t.Tenant, 1)
		m.t, m.task.Payload = nil, zero // keep nothing alive
		sh.openIfBusy(t, m.task.Enqueued)
	}
	// After the loop, and one at a time: shut takes in the ring again, which may add to the list.
	for n := len(sh.toShut); n > 0; n = len(sh.toShut) {
		t := sh.toShut[n-1]
		sh.toShut = sh.toShut[:n-1]
		sh.shut(t)
	}
}

// push queues a task that may be anything, and has its place and its credit. The engine has all three
// from here on, until the task is delivered (next) or dropped (left).
func (sh *shard[K, T]) push(t *tenant[K, T], task *drr.Task[T]) {
	// It stays mixed until it has been empty: no lane is opened for a tenant of which the engine has
	// a task that is not plain, as tasks in a lane all count as equals.
	t.mixed = t.mixed && t.Len() > 0 || !task.IsPlain()
	sh.Push(&t.Tenant, task)
}

// left books a task that left without being delivered, and frees its place.
func (sh *shard[K, T]) left(t *tenant[K, T], task *drr.Task[T], why firq.DropReason) {
	sh.Dropped(&t.Tenant, task, why)
	sh.giveUp(t)
}

// giveUp gives back what a task has held that left without being delivered.
func (sh *shard[K, T]) giveUp(t *tenant[K, T]) {
	t.freePlaces(1) // owed, or in the word, for any producer
	sh.s.credit.Give(1)
	// Last: a producer that waits announces itself, and looks at both after that.
	sh.s.shared.Waiters.Released(t.Key, 1)
}

// Expired and Late make the shard a drr.Host.

// Expired books a task that the queue has dropped. Its tenant has no lane, as it had a task that
// is not plain.
func (sh *shard[K, T]) Expired(t *drr.Tenant[K, T], task *drr.Task[T]) {
	sh.left(ownerOf(t), task, firq.DropExpired)
}

// Late books a task that the queue has dropped for CoDel, with which there are no lanes.
func (sh *shard[K, T]) Late(t *drr.Tenant[K, T], task *drr.Task[T]) {
	sh.left(ownerOf(t), task, firq.DropOverload)
}

// unlock publishes what consumers have to know, releases the lock, wakes one of
// them if there is work, and tells OnDrop.
func (sh *shard[K, T]) unlock() { sh.unlockWith(nil, false) }

// unlockWith is unlock for a call that has items to return; delivered: one of this hold.
func (sh *shard[K, T]) unlockWith(items []firq.Item[K, T], delivered bool) {
	if drops, after := sh.release(delivered); after {
		sh.s.afterHold(drops, items)
	}
}

// release is unlockWith without afterHold, which the caller calls with the drops if after is true.
//
// The order matters: a goroutine that asks whether there is work looks at the ring, and then at
// ready; one that asks whether something has expired looks at the ring, and then at due.
func (sh *shard[K, T]) release(delivered bool) (drops *serve.Drops[K, T], after bool) {
	s := sh.s
	ready := sh.Queue.Ready() > 0
	if sh.HasNews(ready, delivered) {
		// Before: what the hold has taken in is seen in the ring alone, which is not freed. After: in ready.
		// So at each instant one of the two says that there is work.
		failpoint.At("publish")
		sh.Publish(ready)
	}
	if s.deadlines.Load() { // before the ring is freed: see nothingExpired
		sh.publishDue()
	}
	if sh.tookIn { // after ready: see work
		sh.tookIn = false
		sh.ring.freeSlots()
	}
	drops = sh.TakeDrops()
	failpoint.At("unlock")
	// Before: the engine, the tenants' fields below the word, and what the ring and the lanes have handed
	// over are this goroutine's. After: the next holder's.
	sh.mu.Unlock()
	// Without the lock: the consumer that is woken wants it. It has announced that it sleeps, and looked
	// at ready after that: either it has seen the work, or Notify sees it (see park).
	if ready {
		failpoint.At("notify")
		s.parker.Notify()
	}
	return drops, drops != nil || s.life.State() == serve.Draining
}

// afterHold ends a hold in which tasks were dropped, or which may be the last of a Shutdown.
func (s *Scheduler[K, T]) afterHold(drops *serve.Drops[K, T], served []firq.Item[K, T]) {
	if s.life.State() == serve.Draining {
		defer s.drainCheck() // after the calls of OnDrop, even if it panics
	}
	if len(served) > 0 {
		s.shared.NotifyServed(drops, served)
	} else {
		s.shared.NotifyDrops(drops)
	}
}

func (sh *shard[K, T]) publishDue() {
	// Only the holder writes it. Pairs with the Loads of surelyFull and nothingExpired.
	if due := sh.Queue.NextDue(); due != sh.due.Load() {
		failpoint.At("due")
		sh.due.Store(due)
	}
}

// nothingExpired reports whether no task of the shard, whose Enqueue has returned, had expired at a
// moment during the call. Any goroutine may ask.
func (sh *shard[K, T]) nothingExpired(now int64) bool {
	return !sh.s.deadlines.Load() || !sh.ring.ready() && sh.due.Load() >= now
}

// work reports whether there is something to serve, or to look at. The order matters; see release.
func (sh *shard[K, T]) work() bool { return sh.ring.ready() || sh.s.rounds.Ready(sh.index) }

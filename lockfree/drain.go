package lockfree

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// takeIn takes the tenants out of the ring. Before it lets a tenant join, the
// queue catches up with the other shards. (Where the ring is empty, the tenant that
// joins does it: drr calls Back first.)
func (sh *shard[K, T]) takeIn() {
	failpoint.At("L1 tail")
	if tail := sh.activations.Tail(); tail != sh.activations.Head() || !sh.saidLazy || sh.s.eager.Load() {
		sh.takeInAll(tail)
	}
}

// takeInAll calls takeIn until the ring has nothing before the tail that it has now.
func (sh *shard[K, T]) takeInAll(tail uint32) {
	at := sh.activations.Head()
	sh.saidLazy = sh.lazy
	sh.Queue.Lazy(sh.lazy && !sh.s.eager.Load()) // after Tail: see Fill
	sh.CatchUp()
	if at == tail {
		return
	}
	sh.tookIn = true
	for {
		failpoint.At("L1 pop")
		a := sh.activations.Next(&at, tail)
		if a == nil {
			return
		}
		if a.carries {
			sh.unload(a)
		} else {
			sh.drain(a.t, ring.After(a.ticket))
		}
		*a = activation[K, T]{} // keep no payload alive
	}
}

// register adds a new tenant to those that Sweep looks at.
func (sh *shard[K, T]) register(t *tenant[K, T]) {
	if !t.registered {
		sh.registerNew(t)
	}
}

func (sh *shard[K, T]) registerNew(t *tenant[K, T]) {
	t.registered = true
	sh.Add(&t.Tenant, sh.s.shared.Clock.Now())
	sh.configure(t) // SetQuantum may have come before there was a tenant
}

// drainAll moves the tasks of a tenant's inbox into the queue. Tenants that were announced
// before any of them join first, because they may have to be served first. So a tenant
// that is about to join brings along only the tasks that came before drainAll looked
// at the ring; the producers of later tasks announce them.
func (sh *shard[K, T]) drainAll(t *tenant[K, T]) {
	failpoint.At("drain all")
	end := tailOf(t.word.Load())
	if end == t.taker.Head() && t.boxDue.Load() == clock.Never {
		sh.register(t)
		return // no ticket is out: there is nothing, and no task has to go before it
	}
	if !t.polled && !t.Active() {
		end = t.inbox.Load().Prefix(&t.taker, end)
	}
	sh.takeIn()
	sh.drain(t, end)
}

// drainFront fills the queue with what it needs to know which of the tenant's tasks is next.
func (sh *shard[K, T]) drainFront(t *tenant[K, T]) {
	if t.eager() || !sh.lazy {
		sh.drainAll(t)
	}
}

// lookAgain is drainAll for a tenant that has just become unpolled: no producer announced
// the tasks that came while it was polled, even those behind a hole.
func (sh *shard[K, T]) lookAgain(t *tenant[K, T]) {
	failpoint.At("look again")
	end := tailOf(t.word.Load())
	sh.takeIn()
	sh.drain(t, end)
}

// drain moves the tasks of a tenant's inbox with tickets before end into the queue.
func (sh *shard[K, T]) drain(t *tenant[K, T], end uint32) {
	boxDue := sh.beginDrain(t)
	failpoint.At("drain tail")
	tail := tailOf(t.word.Load())
	head := t.taker.Head()
	if head == tail || ring.Distance(end, head) <= 0 {
		t.keepDue(boxDue, tail)
		return
	}
	if ring.Distance(tail, end) < 0 {
		end = tail
	}
	sh.takeAll(t, head, end)
	t.keepDue(boxDue, tail)
	sh.endDrain(t)
}

// takeAll brings the tasks of a tenant's inbox with tickets before end into the queue. Plain
// tasks that are next in turn stay in their slots, which are lent to the queue, unless there
// was ever another one in the inbox. With everything else, what was lent is copied first: the
// slots that are lent at a time have tickets one after the other, up to the taker's head.
func (sh *shard[K, T]) takeAll(t *tenant[K, T], at, end uint32) {
	box, dt := t.inbox.Load(), &t.Tenant.Tenant
	for {
		failpoint.At("drain pop")
		if at == t.taker.Head() && !box.Mixed() && sh.Queue.Lends(dt) {
			if n := box.Run(&t.taker, end); n > 0 {
				sh.admits(t)
				sh.Queue.Lend(dt, box.Slots(), box.Index(at), n)
				sh.Pushed(&t.Tenant, n)
				if at = t.taker.Head(); at == end {
					return
				}
			}
		}
		plain, more, ok := box.Next(&t.taker, &at, end)
		switch {
		case !ok:
			return
		case plain != nil:
			sh.admits(t)
			sh.Queue.PushPlain(dt, &plain.Payload, int64(plain.Cost), plain.Enqueued) // copies what was lent
			sh.Pushed(&t.Tenant, 1)
			var zero T
			plain.Payload = zero // keep no payload alive
		case more != nil:
			sh.push(t, more)
			*more = drr.Task[T]{} // keep no payload alive
		default: // it was refused
			sh.Queue.Spill(dt)
		}
	}
}

// unload queues the task that an activation carries.
func (sh *shard[K, T]) unload(a *activation[K, T]) {
	t := a.t
	boxDue := sh.beginDrain(t)
	if t.taker.Head() != a.ticket {
		panic("firq: a task that came alone is not the first of its tenant's inbox")
	}
	sh.push(t, &a.task)
	t.inbox.Load().Skip(&t.taker)
	if boxDue != clock.Never {
		failpoint.At("unload tail")
		t.keepDue(boxDue, tailOf(t.word.Load()))
	}
	sh.endDrain(t)
}

// beginDrain resets the tenant's boxDue and returns its old value; the caller drains next.
func (sh *shard[K, T]) beginDrain(t *tenant[K, T]) (boxDue int64) {
	sh.register(t)
	return sh.takeDue(&t.boxDue, "drain due")
}

// takeDue resets boxDue, of a tenant or of the shard, and returns its old value.
// It lowers due first, because a producer at a limit looks at both. A time that is set in
// between stays, because its producer may not set it again. The caller drains
// next: see tenant.deadline.
func (sh *shard[K, T]) takeDue(box *atomic.Int64, mark string) int64 {
	for {
		due := box.Load()
		if due == clock.Never {
			return due
		}
		lower(&sh.due, due)
		failpoint.At(mark)
		if box.CompareAndSwap(due, clock.Never) {
			return due
		}
	}
}

// keepDue restores boxDue after a reset, if its time may be that of a task that is still
// in the inbox: one before tail, the inbox's tail after the reset.
func (t *tenant[K, T]) keepDue(boxDue int64, tail uint32) {
	if boxDue != clock.Never && t.taker.Head() != tail {
		lower(&t.boxDue, boxDue)
		t.shard.kept = min(t.shard.kept, boxDue)
	}
}

// endDrain gives back the slots that were drained, and makes the tenant polled if that is
// worthwhile.
func (sh *shard[K, T]) endDrain(t *tenant[K, T]) {
	change := t.catchUp()
	// With one task it would most likely be unpolled again soon.
	if t.Len() > 1 && !t.polled && !sh.across {
		sh.sayReady() // first: from now on no producer announces
		t.polled, t.at = true, int32(len(sh.polled))
		sh.polled = append(sh.polled, t)
		change += polledBit
	}
	t.NeedsFill = false
	sh.owe(t, change)
}

// owe collects changes of the tenant's word: slots and places that came
// free, and the polled bit. flush adds all that were collected for a tenant in one step,
// before the holder releases the lease; producers see less room until then.
func (sh *shard[K, T]) owe(t *tenant[K, T], change uint64) {
	if sh.owing != t {
		sh.flush()
		sh.owing = t
	}
	sh.owed += change + t.catchUp() - t.freed()
}

// freed returns the slots that have come free since its last call, in units of the word: the
// caller takes them off.
func (t *tenant[K, T]) freed() uint64 { return uint64(t.taker.Free(t.Lent())) * usedUnit }

// empty copies the tasks that are in lent slots, so that these are free.
func (sh *shard[K, T]) empty(t *tenant[K, T]) {
	sh.Queue.Spill(&t.Tenant.Tenant)
	sh.owe(t, 0)
}

// leaveBehind notes that a place of the tenant has come free, if its word is behind
// anyway. This spares a step on the word: the next task past the inbox adds it in
// its own step, or the goroutine that finds the tenant, or its inbox, full takes the lease
// for it. The word of a tenant without tasks is not behind.
func (t *tenant[K, T]) leaveBehind() bool {
	if !t.behind || t.Len() == 0 {
		return false
	}
	t.at++
	return true
}

// missing returns the sum that a word which is behind lacks: the slot of the last
// ticket that was passed by, and the places that have come free since. Under the lease.
func (t *tenant[K, T]) missing() uint64 {
	if !t.behind {
		return 0
	}
	return uint64(t.at)*roomUnit - usedUnit
}

// catchUp returns missing and notes that the word is not behind any more: the caller adds the sum.
func (t *tenant[K, T]) catchUp() (missing uint64) {
	if missing = t.missing(); t.behind {
		t.behind, t.at = false, 0
	}
	return missing
}

// settle brings the word up to date, so that a producer may rely on it.
func (t *tenant[K, T]) settle() {
	if t.behind {
		failpoint.At("settle")
		t.word.Add(t.catchUp())
	}
}

// flush adds the changes that owe has collected, and returns the tenant's new word; 0 if nothing
// is owed.
func (sh *shard[K, T]) flush() (word uint64) {
	t := sh.owing
	if t == nil {
		return 0
	}
	failpoint.At("flush")
	word = t.word.Add(sh.owed)
	sh.owing, sh.owed = nil, 0
	return word
}

// push queues a task of the tenant.
func (sh *shard[K, T]) push(t *tenant[K, T], task *drr.Task[T]) {
	sh.admits(t)
	if sh.s.overtakes(task) {
		t.setEager()
	}
	if t.Lent() > 0 { // see takeAll
		sh.empty(t)
	}
	sh.Push(&t.Tenant, task)
}

// admits comes before a task of the tenant is queued. If it has none, its quantum is from
// now on what the producer has asked for, unless SetQuantum has been called since, and so is
// its in-flight limit: also if it has still a place in the list. Where the config has no functions to ask, it has
// that since it was registered.
func (sh *shard[K, T]) admits(t *tenant[K, T]) {
	if sh.s.shared.Asks && t.Len() == 0 {
		sh.configure(t)
	}
}

func (sh *shard[K, T]) configure(t *tenant[K, T]) {
	if sh.s.shared.Config.MaxInFlightFor != nil {
		sh.LimitFlights(&t.Tenant, t.inFlight())
	}
	sh.SetQuantum(&t.Tenant, sh.s.shared.Override(t.Key, t.quantum.Load()))
}

package lockfree

import (
	"context"
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Enqueue admits the task or says why not. (It is small, so that it is inlined into its wrapper
// for the type: a task is some ten words to copy.)
func (s *Scheduler[K, T]) Enqueue(k K, t firq.Task[T]) error { return s.enqueue(k, &t) }

func (s *Scheduler[K, T]) enqueue(k K, t *firq.Task[T]) error {
	if err := s.shared.CheckTenant(k); err != nil {
		return err
	}
	at, _ := s.tenants.Load(k)
	now := s.shared.Clock.Now()
	var full error
	if at != nil {
		var n int
		if n, full = at.enter(unsafe.Slice(t, 1), now); n == 1 {
			return nil
		}
	}
	return s.enqueueLocked(s, k, t, now, full)
}

// enter admits tasks of a known tenant in one of three ways: by its lane, if it is open; under the
// lock, if no two goroutines have met there for a while and it is free, or they are several; else by
// the ring. It returns how many of them it has admitted, the first ones; or none, and why the first is
// refused; nil: ask under the lock.
func (t *tenant[K, T]) enter(ts []firq.Task[T], now int64) (n int, full error) {
	sh := t.shard
	plain := 0
	if sh.s.bare {
		for plain < len(ts) && serve.IsPlain(&ts[plain]) {
			plain++
		}
	}
	// Both are guesses about the next moment. What has to be true is looked at again in the step that
	// relies on it: drawTickets fails if the lane is closed, takeClosed if it is open.
	open, uncontended := t.load().open(), sh.contention.none(now)
	switch {
	case plain == 0 && (open || uncontended || len(ts) > 1 || !sh.s.ringed):
		// A task that is not plain closes the lane, for which it takes the lock. Where goroutines do not meet
		// the lock costs less than the ring, and the ring takes one task at a time.
		return 0, nil
	case open:
		return t.enterLane(ts[:plain], now)
	case len(ts) > 1 || !sh.s.ringed:
		sh.lock()
	case uncontended && sh.try():
		if sh.isBehind() { // else begin has nothing to do, and the call is spared
			sh.begin()
		}
	default:
		if uncontended {
			sh.contention.note(now) // another goroutine has the lock: they have met
		}
		if sh.send(t, &ts[0], plain > 0, now) {
			n = 1
		}
		return n, nil
	}
	// Under the lock. The tasks are plain.
	ts, got := ts[:plain], 0
	if t.Len() == 0 {
		t.mixed = false // what it has had is gone
	}
	// If a lane was opened since the look above, the tasks come after what is in it. forget runs
	// under the lock, so a tenant that is not dead now stays so in this hold. One that becomes active gets what
	// the config says first, which is asked without the lock (lockActive).
	if t.laned == noLane && !t.load().dead() && (t.Len() > 0 || !sh.s.shared.Asks) {
		if n := t.takePlaces(len(ts)); n > 0 {
			// Between the two steps this hold has places without credits: no producer is refused for these
			// places without the lock, as the word says full only in takeLocked, under it.
			if got, _ = sh.s.takeCredits(sh.LastServedBy(), n); got < n {
				t.freePlaces(n - got)
			}
			sh.takeIn() // what came before there was a credit goes first
			sh.fetchOpen(t)
			if got == 1 {
				sh.Queue.PushPlain(&t.Tenant.Tenant, &ts[0].Payload, max(ts[0].Cost, 1), now)
			} else {
				sh.Queue.PushAll(&t.Tenant.Tenant, ts[:got], now)
			}
			sh.Pushed(&t.Tenant, got)
			if t.Len() >= busy {
				sh.openIfBusy(t, now)
			}
		}
	}
	if drops, after := sh.release(false); after { // as unlock
		sh.s.afterHold(drops, nil)
	}
	return got, nil
}

// fetchOpen fetches what the tenant's lane holds, if it has one.
func (sh *shard[K, T]) fetchOpen(t *tenant[K, T]) {
	if t.laned != noLane {
		sh.fetch(t)
	}
}

// send puts a task into the ring, with its place and its credit.
func (sh *shard[K, T]) send(t *tenant[K, T], task *firq.Task[T], plain bool, now int64) bool {
	s := sh.s
	if !plain && (task.Cost < 0 || task.Priority > firq.PriorityCritical) || s.credit.NoneAt(cpu.Hint()) {
		return false
	}
	if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
		return false
	}
	// From here on the task has its place and its credit: it is not refused any more, whichever way it goes.
	if !t.takeClosed() || s.credited(t) != nil {
		if task.Ticket != nil {
			task.Ticket.Abandon() // it was never published: no Cancel has found the task
		}
		return false
	}
	var whole drr.Task[T] // made before the ticket is drawn, behind which the holder waits
	if !plain {
		_ = s.shared.Task(&whole, task, now) // is valid
		s.sawDeadline(whole.Due)
	}
	cpu.Pin() // until publish: the holder waits for a ticket that is out, so this goroutine must not lose its thread
	at, ok := sh.ring.draw()
	if !ok {
		cpu.Unpin() // first: a pinned goroutine must not wait for a lock
		sh.pushSent(t, task, now)
		return true
	}
	m := &sh.ring.at(at).value // this producer's until publish
	if m.t, m.plain = t, plain; plain {
		m.task.Payload, m.task.Cost, m.task.Enqueued = task.Payload, max(task.Cost, 1), now
	} else {
		m.task = whole
	}
	sh.ring.publish(at) // the holder's now, with its place and its credit
	cpu.Unpin()
	failpoint.At("notify")
	s.parker.Notify() // after publish; a consumer announces itself, and looks at the ring after that
	sh.published()    // likewise: Close sets the state, and takes in the ring after that
	if !plain {
		s.expires(t.Key, whole.Due)
	}
	return true
}

// takeClosed takes a place of a tenant whose lane is closed.
func (t *tenant[K, T]) takeClosed() bool {
	for {
		w := t.load()
		if !w.hasRoom() || w.open() {
			return false
		}
		failpoint.At("place")
		// Before: any call may take the place. After: this call's, until its task is published with it
		// (send), or the call gives it back. It fails if the holder has opened a lane in between, so that
		// no place is drawn for the ring while one is open: see fetch.
		if t.cas(w, w.take(1)) {
			return true
		}
	}
}

// credited takes a credit for a call that has a place, which it gives back if there is none.
func (s *Scheduler[K, T]) credited(t *tenant[K, T]) error {
	_, err := s.takeCredits(cpu.Hint(), 1) // after the place: no call waits for a credit of one that is itself refused
	if err != nil {
		t.giveBack(1)
	}
	return err
}

// pushSent is for a task that has its place and its credit, where the ring is full. It is queued under
// the lock, behind all that the ring holds, so the producer's tasks keep their order.
func (sh *shard[K, T]) pushSent(t *tenant[K, T], task *firq.Task[T], now int64) {
	var whole drr.Task[T]
	_ = sh.s.shared.Task(&whole, task, now)
	sh.lock()
	sh.pushClosing(t, &whole)
	sh.unlock()
	sh.published()
	sh.s.expires(t.Key, whole.Due)
}

// pushClosing is push of a task that comes after all that was published: also after what is in the
// tenant's lane, which it closes if the task is not plain.
func (sh *shard[K, T]) pushClosing(t *tenant[K, T], task *drr.Task[T]) {
	sh.takeIn()
	if t.laned != noLane {
		if task.IsPlain() {
			sh.fetch(t)
		} else {
			sh.shut(t)
		}
	}
	sh.push(t, task)
}

// sawDeadline notes, before a task is published, that tasks can expire.
func (s *Scheduler[K, T]) sawDeadline(due int64) {
	if due != clock.Never && !s.deadlines.Load() {
		// Before the task is published: a goroutine that finds the task in the ring, or the holder that has it,
		// sees true (nothingExpired, release). It never goes back.
		s.deadlines.Store(true)
	}
}

// expires tells producers that wait, after a task is queued, that it will make room when it expires.
func (s *Scheduler[K, T]) expires(k K, due int64) {
	if due != clock.Never && s.shared.Waiters.Waiting() {
		s.shared.Waiters.Expires(k, due)
	}
}

// enqueueLocked is Enqueue by the lock, unless full already says why the task is refused; a is the handle or
// the scheduler.
func (s *Scheduler[K, T]) enqueueLocked(a serve.Admitter[K, T], k K, t *firq.Task[T], now int64, full error) error {
	var task drr.Task[T]
	err := s.shared.Task(&task, t, now)
	if err != nil {
		return err
	}
	if full == nil {
		full = s.admit(k, &task)
	}
	if full != nil {
		return s.shared.Overflow(a, k, task, full)
	}
	return nil
}

// EnqueueWait waits for capacity until ctx is done.
func (s *Scheduler[K, T]) EnqueueWait(ctx context.Context, k K, t firq.Task[T]) error {
	return s.shared.EnqueueWait(ctx, s, k, t)
}

// EnqueueBatch admits a prefix of ts: as many as fit in one step, then one at a time as the policy
// says.
func (s *Scheduler[K, T]) EnqueueBatch(k K, ts []firq.Task[T]) (accepted int, err error) {
	return s.enqueueBatch(s, k, ts)
}

// batchSize is how many tasks are admitted in one hold of the lock at most.
const batchSize = 128

func (s *Scheduler[K, T]) enqueueBatch(a serve.Admitter[K, T], k K, ts []firq.Task[T]) (accepted int, err error) {
	if len(ts) == 0 {
		return 0, nil
	}
	if err := s.shared.CheckTenant(k); err != nil {
		return 0, err
	}
	now := s.shared.Clock.Now()
	for accepted < len(ts) {
		var n int // first as many as one step takes, by lane or lock
		var full error
		if t, _ := s.tenants.Load(k); t != nil {
			n, full = t.enter(ts[accepted:min(len(ts), accepted+batchSize)], now)
		}
		if n == 0 && full == nil {
			n = s.admitSome(k, ts[accepted:], now) // then what is not plain, or whose tenant is new
		}
		if n == 0 { // and one at a time, for which room is made on other shards, too
			if err := s.enqueueLocked(a, k, &ts[accepted], now, full); err != nil {
				s.shared.RejectedMore(err, len(ts)-accepted-1) // this one is counted
				return accepted, err
			}
			n = 1
			now = s.shared.Clock.Now() // it may have waited
		}
		accepted += n
	}
	return accepted, nil
}

// admitSome takes in as many of ts as it can in one hold of the lock.
func (s *Scheduler[K, T]) admitSome(k K, ts []firq.Task[T], now int64) (n int) {
	var into serve.TenantConfig
	sh, conf := s.lockActive(k, &into)
	defer sh.unlock()
	for n < min(len(ts), batchSize) {
		var task drr.Task[T]
		if s.shared.Task(&task, &ts[n], now) != nil || sh.admit(k, &task, conf) != nil {
			break
		}
		n++
	}
	return n
}

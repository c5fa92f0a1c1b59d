package lockfree

import (
	"context"
	"runtime"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/lockfree/internal/inbox"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// Enqueue admits the task or says why not. It waits for no lock as long as there is room
// and the tenant's inbox is not full; see the package comment.
func (s *Scheduler[K, T]) Enqueue(k K, t firq.Task[T]) error {
	if err := s.shared.CheckTenant(k); err != nil {
		return err
	}
	at, now := s.find(k, nil), s.shared.Clock.Now()
	if s.enqueueDirect(at, &t, now) {
		return nil
	}
	return s.enqueueInbox(k, at, &t, now)
}

// enqueueInbox goes on where enqueueDirect could not.
func (s *Scheduler[K, T]) enqueueInbox(k K, at *tenant[K, T], t *firq.Task[T], now int64) error {
	var task drr.Task[T]
	err := s.shared.Task(&task, t, now)
	if err != nil {
		return err
	}
	if err = s.admit(k, at, &task); err == nil {
		return nil
	}
	return s.refused(k, task, err)
}

// refused goes on where the first try of admit failed.
func (s *Scheduler[K, T]) refused(k K, task drr.Task[T], err error) error {
	if s.makeRoom(k, err) {
		err = s.Admit(k, task)
	}
	if err != nil {
		err = s.shared.Overflow(s, k, task, err)
	}
	return err
}

// EnqueueWait waits for capacity until ctx is done.
func (s *Scheduler[K, T]) EnqueueWait(ctx context.Context, k K, t firq.Task[T]) error {
	return s.shared.EnqueueWait(ctx, s, k, t)
}

// EnqueueBatch admits a prefix of ts: as many at a time as there are slots for, and one
// after the other what needs more than a slot, a place and a credit.
func (s *Scheduler[K, T]) EnqueueBatch(k K, ts []firq.Task[T]) (accepted int, err error) {
	return s.enqueueBatch(k, nil, ts)
}

// enqueueBatch is EnqueueBatch, by a handle if there is one.
func (s *Scheduler[K, T]) enqueueBatch(k K, h *handle[K, T], ts []firq.Task[T]) (accepted int, err error) {
	if len(ts) == 0 {
		return 0, nil
	}
	if err := s.shared.CheckTenant(k); err != nil {
		return 0, err
	}
	now := s.shared.Clock.Now()
	for i := 0; i < len(ts); i++ {
		for n := s.admitBatch(k, h, ts[i:], now); n > 0; n = s.admitBatch(k, h, ts[i:], now) {
			i += n
		}
		if i == len(ts) {
			break
		}
		var task drr.Task[T]
		if err := s.shared.Task(&task, &ts[i], now); err != nil {
			return i, err
		}
		if err = s.admitAll(k, h, &task); err != nil {
			if err = s.shared.Overflow(s, k, task, err); err != nil {
				s.shared.RejectedMore(err, len(ts)-i-1) // this one is counted
				return i, err
			}
			now = s.shared.Clock.Now() // it may have waited
		}
	}
	return len(ts), nil
}

// Admit implements serve.Admitter.
func (s *Scheduler[K, T]) Admit(k K, task drr.Task[T]) error { return s.admitAll(k, nil, &task) }

// admitAll is admit that makes room, where there is none, by dropping what has expired,
// and tries again.
func (s *Scheduler[K, T]) admitAll(k K, h *handle[K, T], task *drr.Task[T]) error {
	err := s.admit(k, s.find(k, h), task)
	for err != nil && s.makeRoom(k, err) {
		err = s.admit(k, s.find(k, h), task)
	}
	return err
}

// admit is the way of a task into its tenant's inbox. The order of the steps
// matters:
//
//	[E1] take the ticket, and with it a place of the tenant; the ticket cannot
//	     be given back, but published without a task (void)
//	[E2] take a credit of the scheduler
//	[E3] look at the state: a call that closes or drains looks at the credits after
//	     setting it, so a task with a credit is waited for or refused here
//	[E4] publish the task
//	[E5] announce the tenant, unless it is polled
//	[E6] look at the state again: after a Close no consumer may come by
//
// No call is refused on account of a call that is itself refused in the end: a
// credit is taken only when nothing but the state can stand in the way, and who
// finds a tenant full waits for the calls that are between E1 and E4
// (tenant.full).
//
// t is what the caller has found the tenant to be, nil for nothing.
func (s *Scheduler[K, T]) admit(k K, t *tenant[K, T], task *drr.Task[T]) error {
	failpoint.At("E0 state")
	if s.life.State() != serve.Open {
		return firq.ErrClosed
	}
	failpoint.At("E0 none left?")
	hint := cpu.Hint()
	if s.credit.NoneAt(hint) { // a rejection takes nothing that it would have to give back
		return firq.ErrGlobalFull
	}
	var word uint64
	if t != nil {
		word = t.word.Load()
		if word&roomBit == 0 && t.full() {
			return firq.ErrTenantFull
		}
		if s.shared.Config.DynamicThreshold != 0 && s.overThreshold(t) {
			return firq.ErrTenantThreshold
		}
	}
	if s.shared.Asks && (t == nil || word&polledBit == 0) {
		return s.enterAsking(t, k, task, hint)
	}
	return s.enter(t, k, task, nil, hint)
}

// enter is admit from E1 on. says is what was asked about the tenant, nil for nothing.
func (s *Scheduler[K, T]) enter(t *tenant[K, T], k K, task *drr.Task[T], conf *serve.TenantConfig, hint int) error {
	for tries := 0; ; tries++ {
		if t == nil || t.word.Load()&deadBit != 0 {
			if conf == nil && s.shared.Asks { // it was busy, and is forgotten by now
				return s.enterAsking(nil, k, task, hint)
			}
			var err error
			if t, err = s.lookUp(k, conf); err != nil {
				return err
			}
		}
		if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
			t.shard.lock()
			t.shard.register(t) // or it would never be forgotten
			t.shard.unlock()
			return serve.ErrTicketInUse
		}
		failpoint.At("E1 ticket")
		limit := t.limit.word.Load()
		word, _, took := t.reserve(1) // [E1]
		if took == ticketTaken {
			if conf != nil {
				t.noteFirst(conf, word, limit)
			}
			if _, err := s.takeCredit(1, hint); err != nil { // [E2], [E3]
				if task.Ticket != nil {
					task.Ticket.Abandon()
				}
				s.publishVoid(t, tailOf(word), 1)
				return err
			}
			s.publish(t, word, task)
			return nil
		}
		if took == inboxFull {
			if tries < leaseTries && s.emptying(t) {
				runtime.Gosched()
			} else if done, err := t.shard.enqueueLocked(t, task, conf); done { // the lease holder's work is ours
				s.sweep(task.Enqueued)
				return err
			}
		}
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		if took == tenantFull && t.full() {
			if s.credit.None() {
				return firq.ErrGlobalFull
			}
			return firq.ErrTenantFull
		}
	}
}

// emptying reports whether a goroutine is about to empty the inbox, being at the shard
// on another processor. One that can grow has to be seen to by the producer that found it full.
func (s *Scheduler[K, T]) emptying(t *tenant[K, T]) bool {
	box := t.inbox.Load()
	return box.Size() == inboxSize && box.Mixed() && t.shard.elsewhere(cpu.Hint(), s.shared.Clock.Now())
}

// takeCredit does E2 and E3, for between 1 and n tasks.
func (s *Scheduler[K, T]) takeCredit(n, hint int) (got int, err error) {
	failpoint.At("E2 credit")
	if got = s.credit.TakeAt(hint, n); got == 0 {
		if s.life.State() != serve.Open {
			return 0, firq.ErrClosed
		}
		return 0, firq.ErrGlobalFull
	}
	failpoint.At("E3 state")
	if s.life.State() != serve.Open {
		failpoint.At("E3 give back")
		s.credit.Give(got)
		failpoint.At("E3 drained?")
		if s.life.State() == serve.Draining {
			s.drainCheck()
		}
		return 0, firq.ErrClosed
	}
	return got, nil
}

// publish puts a task where the lease holder finds it, and sees to it that a consumer looks:
// [E4] to [E6]. word is what its ticket was drawn from.
func (s *Scheduler[K, T]) publish(t *tenant[K, T], word uint64, task *drr.Task[T]) {
	s.foretell(t, task.Due, s.overtakes(task))
	failpoint.At("E4 put")
	if !piggybacks(word) || !t.shard.piggyback(t, tailOf(word), task) {
		ticket, box := tailOf(word), t.inbox.Load()
		box.Put(ticket, task)
		t.handOver(box, ticket, 1)
	}
	s.published(t, task.Due)
}

// foretell notes what has to be known before a task is published: when it expires, and
// whether it overtakes.
func (s *Scheduler[K, T]) foretell(t *tenant[K, T], due int64, overtakes bool) {
	if due != clock.Never {
		t.deadline(due)
		s.sawDeadline()
	}
	if overtakes {
		t.setEager()
	}
}

// handOver publishes what was put into the inbox for n tickets, and sees to it that a consumer
// looks.
func (t *tenant[K, T]) handOver(box *inbox.Inbox[T], ticket uint32, n int) {
	last := publishAll(box, ticket, n) // [E4]; a full barrier before the look at polled
	failpoint.At("E5 polled?")
	if t.word.Load()&polledBit == 0 { // [E5]
		t.shard.announce(t, last)
	}
}

// published comes after tasks were published, of which the first expires at due.
func (s *Scheduler[K, T]) published(t *tenant[K, T], due int64) {
	if due != clock.Never {
		failpoint.At("E5 deadline")
		t.deadline(due) // again, now that a goroutine that drains finds the task
	}
	failpoint.At("E6 closed?")
	if s.life.State() == serve.Closed { // [E6]
		t.shard.discardAll()
	}
}

// overtakes reports whether the task may go before others of its tenant that came before
// it: it has a priority other than normal, or a flow.
func (s *Scheduler[K, T]) overtakes(task *drr.Task[T]) bool {
	return task.Priority != firq.PriorityNormal || task.Flow != 0 && s.shared.Config.MaxFlows > 1
}

// sawDeadline notes that tasks can expire: from now on, a producer that finds no room looks
// for some that have.
func (s *Scheduler[K, T]) sawDeadline() {
	if !s.deadlines.Load() {
		s.deadlines.Store(true)
	}
}

// piggyback puts the task of a ticket into the activation ring: [E4] and
// [E5] in one step. It reports false if the ring is full.
func (sh *shard[K, T]) piggyback(t *tenant[K, T], ticket uint32, task *drr.Task[T]) bool {
	at, ok := sh.activations.Draw()
	if ok {
		a := sh.activations.Slot(at)
		a.t, a.ticket, a.carries = t, ticket, true
		a.task = *task
		sh.activations.Publish(at)
		failpoint.At("E5 notify")
		sh.s.parker.Notify()
	}
	return ok
}

// announce tells the shard to look at the tenant's inbox up to a ticket.
func (sh *shard[K, T]) announce(t *tenant[K, T], ticket uint32) {
	if at, ok := sh.activations.Draw(); ok {
		a := sh.activations.Slot(at)
		a.t, a.ticket = t, ticket
		sh.activations.Publish(at)
		failpoint.At("E5 notify")
		sh.s.parker.Notify()
		return
	}
	sh.lock() // takes all tenants out of the ring
	sh.drain(t, ring.After(ticket))
	sh.unlock() // notifies
}

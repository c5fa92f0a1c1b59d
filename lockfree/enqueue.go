package lockfree

import (
	"context"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/clock"
	"github.com/firq-go/firq/internal/serve"
)

// Enqueue admits the task or says why not. Lock-free as long as there is room
// and the tenant's inbox is not full; see the package comment.
func (s *Scheduler[K, T]) Enqueue(k K, t firq.Task[T]) error {
	task, err := s.env.Task(&t, s.env.Clock.Now())
	if err != nil {
		return err
	}
	if err = s.Admit(k, task); err != nil {
		err = s.env.Overflow(s, k, task, err)
	}
	return err
}

// EnqueueWait waits for capacity until ctx is done.
func (s *Scheduler[K, T]) EnqueueWait(ctx context.Context, k K, t firq.Task[T]) error {
	return s.env.EnqueueWait(ctx, s, k, t)
}

// EnqueueBatch admits a prefix of ts, one after the other.
func (s *Scheduler[K, T]) EnqueueBatch(k K, ts []firq.Task[T]) (accepted int, err error) {
	now := s.env.Clock.Now()
	for i := range ts {
		task, err := s.env.Task(&ts[i], now)
		if err != nil {
			return i, err
		}
		if err = s.Admit(k, task); err != nil {
			if err = s.env.Overflow(s, k, task, err); err != nil {
				return i, err
			}
		}
	}
	return len(ts), nil
}

// Admit implements serve.Admitter. Where there is no room it makes some by
// dropping what has expired, and tries again.
func (s *Scheduler[K, T]) Admit(k K, task drr.Task[T]) error {
	err := s.admit(k, &task)
	for err != nil && s.makeRoom(k, err) {
		err = s.admit(k, &task)
	}
	return err
}

// admit is the way of a task into its tenant's inbox. The order of the steps
// matters:
//
//	[E1] take a credit of the scheduler; it can be given back
//	[E2] look at the state: who closes or drains looks at the credits after
//	     setting it, so a task with a credit is waited for or refused here
//	[E3] take the ticket, and with it a place of the tenant; no way back
//	[E4] publish the task
//	[E5] announce the tenant, unless it is quiet
//	[E6] look at the state again: after a Close nobody else may come by
func (s *Scheduler[K, T]) admit(k K, task *drr.Task[T]) error {
	if s.life.State() != serve.Open {
		return firq.ErrClosed
	}
	t, _ := s.tenants.Load(k)
	if t != nil && t.word.Load()&roomMask == 0 {
		// No locked operation for a rejection. When both limits are reached it
		// is the scheduler's that counts.
		if s.credit.Empty() {
			return firq.ErrGlobalFull
		}
		return firq.ErrTenantFull
	}
	if s.env.Config.DynamicThreshold > 0 && t != nil {
		free, _ := s.credit.Free()
		if free > 0 && s.env.OverThreshold(t.held(t.word.Load()), free) {
			return firq.ErrTenantThreshold
		}
	}
	quantum := s.env.Config.Quantum
	asked := s.env.FixedQuantum()
	if !asked && (t == nil || t.word.Load()&quietBit == 0) {
		quantum = s.env.Quantum(k)
		asked = true
	}
	if !s.credit.Take() { // [E1]
		return firq.ErrGlobalFull
	}
	err := s.admitWithCredit(t, k, task, quantum, asked)
	if err != nil {
		s.giveBack()
	}
	return err
}

// giveBack returns the credit of a task that was not admitted after all.
func (s *Scheduler[K, T]) giveBack() {
	s.credit.Give(1)
	s.env.Room.ReleasedGlobal(1)
	if s.life.State() == serve.Draining {
		s.drainCheck()
	}
}

func (s *Scheduler[K, T]) admitWithCredit(t *tenant[K, T], k K, task *drr.Task[T], quantum int64, asked bool) error {
	for {
		if s.life.State() != serve.Open { // [E2]
			return firq.ErrClosed
		}
		if t == nil || t.word.Load()&deadBit != 0 {
			var err error
			if t, err = s.lookUp(k); err != nil {
				return err
			}
		}
		if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
			t.shard.lock()
			t.shard.know(t) // if it is new, it must not be forgotten to forget it
			t.shard.unlock()
			return serve.ErrTicketInUse
		}
		ticket, took := t.take()
		if took == ticketTaken {
			if asked {
				t.quantum.Store(quantum)
			}
			s.publish(t, ticket, task)
			return nil
		}
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		switch took {
		case tenantFull:
			return firq.ErrTenantFull
		case inboxFull: // then the lease holder's work is ours
			if err, done := t.shard.put(t, task, quantum); done {
				return err
			}
		}
	}
}

// put takes the lease, drains the inbox, and queues the task itself: also when the
// inbox stays full because a producer was stopped between ticket and publishing.
// It reports done false if the tenant was forgotten meanwhile. The caller has a
// credit.
func (sh *shard[K, T]) put(t *tenant[K, T], task *drr.Task[T], quantum int64) (err error, done bool) {
	sh.lock()
	defer sh.unlock()
	sh.drain(t, inboxSize)
	if sh.s.life.State() != serve.Open {
		return firq.ErrClosed, true
	}
	for {
		w := t.word.Load()
		switch {
		case w&deadBit != 0:
			return nil, false
		case w&roomMask == 0:
			return firq.ErrTenantFull, true
		}
		if t.word.CompareAndSwap(w, w-roomUnit) {
			break
		}
	}
	if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
		t.word.Add(roomUnit)
		return serve.ErrTicketInUse, true
	}
	if !t.Active() {
		t.SetQuantum(quantum)
	}
	if task.Due != clock.Never {
		sh.s.deadlines.Store(true)
	}
	sh.Push(&t.Tenant, *task)
	return nil, true
}

// What take says.
const (
	ticketTaken = iota
	tenantFull  // no place left
	inboxFull   // no slot left
	tenantDead  // look it up again
)

// take draws a ticket of the inbox and takes a place of the tenant: [E3].
func (t *tenant[K, T]) take() (ticket uint32, took int) {
	for {
		w := t.word.Load()
		ticket = uint32(w / tailUnit)
		switch {
		case w&deadBit != 0:
			return 0, tenantDead
		case w&roomMask == 0:
			return 0, tenantFull
		case !t.inbox.HasRoom(ticket):
			if t.word.Load() == w {
				return 0, inboxFull
			}
			continue
		}
		if t.word.CompareAndSwap(w, w+tailUnit-roomUnit) {
			return ticket, ticketTaken
		}
	}
}

// publish puts the task where the lease holder finds it, and sees to it that
// somebody looks: [E4] to [E6].
func (s *Scheduler[K, T]) publish(t *tenant[K, T], ticket uint32, task *drr.Task[T]) {
	if task.Due != clock.Never {
		t.deadline(task.Due)
	}
	t.inbox.Put(ticket, *task) // [E4]; a full barrier before the look at quiet
	if task.Due != clock.Never {
		t.deadline(task.Due)
		if !s.deadlines.Load() {
			s.deadlines.Store(true)
		}
	}
	if t.word.Load()&quietBit == 0 { // [E5]
		t.shard.announce(t)
	}
	if s.life.State() == serve.Closed { // [E6]
		t.shard.discardAll()
	}
}

// announce tells the shard to look at the tenant.
func (sh *shard[K, T]) announce(t *tenant[K, T]) {
	for !sh.activations.Push(t) {
		sh.lock() // takes everybody out of the ring
		sh.unlock()
	}
	sh.s.parker.Notify()
}

// Replace implements serve.Admitter. It takes the lease.
func (s *Scheduler[K, T]) Replace(k K, task drr.Task[T], newest bool) (bool, error) {
	for {
		err := s.admit(k, &task) // there may be room by now
		if err == nil {
			return true, nil
		}
		t, _ := s.tenants.Load(k)
		if t == nil || err == firq.ErrClosed || err == serve.ErrTicketInUse {
			return false, err
		}
		sh := t.shard
		sh.lock()
		sh.drain(t, inboxSize)
		done, ok, ticketErr := sh.replace(t, &task, newest)
		sh.unlock()
		if ticketErr != nil {
			return false, ticketErr
		}
		if done {
			return ok, err
		}
	}
}

// replace evicts a task of the tenant and queues the new one in its place, with
// its credit. It reports done false if the tenant was forgotten meanwhile, and
// ok false if there was nothing to evict. Under the lease.
func (sh *shard[K, T]) replace(t *tenant[K, T], task *drr.Task[T], newest bool) (done, ok bool, err error) {
	if t.word.Load()&deadBit != 0 {
		return false, false, nil
	}
	if sh.s.life.State() != serve.Open {
		return true, false, firq.ErrClosed
	}
	if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
		return true, false, serve.ErrTicketInUse
	}
	if !sh.Evict(&t.Tenant, task.Priority, newest) {
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		return true, false, nil
	}
	sh.Push(&t.Tenant, *task)
	return true, true, nil
}

// makeRoom drops expired tasks after an admission failed for want of room, and
// forgets idle tenants if there were too many. It reports whether it is worth
// trying again.
func (s *Scheduler[K, T]) makeRoom(k K, full error) bool {
	switch full {
	case firq.ErrTooManyTenants:
		return s.sweepAll()
	case firq.ErrGlobalFull, firq.ErrTenantFull, firq.ErrTenantThreshold:
	default:
		return false
	}
	if !s.deadlines.Load() {
		return false // nothing can have expired
	}
	now := s.env.Clock.Now()
	t, _ := s.tenants.Load(k)
	if t != nil && (t.boxDue.Load() < now || t.shard.due.Load() < now) && t.shard.reclaim(t, now) {
		return true
	}
	if full == firq.ErrTenantFull {
		return false
	}
	found := false
	for _, sh := range s.shards {
		if (sh.due.Load() < now || sh.activations.Ready()) && sh.reclaim(nil, now) {
			found = true
		}
	}
	return found
}

// reclaim drops a number of expired tasks of the shard, and reports whether there
// were any. t's inbox is looked through as well.
func (sh *shard[K, T]) reclaim(t *tenant[K, T], now int64) bool {
	sh.lock()
	if t != nil {
		sh.drain(t, inboxSize)
	}
	before := len(sh.freed)
	sh.Queue.Reclaim(now, 256)
	found := len(sh.freed) > before
	sh.unlock()
	return found
}

// CancelTicket takes a task of this tenant out of the queue. It takes the lease.
func (t *tenant[K, T]) CancelTicket(tk *firq.Ticket) bool {
	sh := t.shard
	sh.lock()
	sh.drain(t, inboxSize)
	ok := sh.Cancel(&t.Tenant, tk)
	if ok {
		sh.left(t)
	}
	sh.unlock()
	return ok
}

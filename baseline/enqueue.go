package baseline

import (
	"context"
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/clock"
	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/serve"
)

// Enqueue admits the task or says why not.
func (s *Scheduler[K, T]) Enqueue(k K, t firq.Task[T]) error {
	if err := s.env.CheckTenant(k); err != nil {
		return err
	}
	var task drr.Task[T]
	err := s.env.Task(&task, &t, s.env.Clock.Now())
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

// EnqueueBatch admits a prefix of ts: as many as fit under one lock, then one at
// a time as the policy says.
func (s *Scheduler[K, T]) EnqueueBatch(k K, ts []firq.Task[T]) (accepted int, err error) {
	if len(ts) == 0 {
		return 0, nil
	}
	if err := s.env.CheckTenant(k); err != nil {
		return 0, err
	}
	now := s.env.Clock.Now()
	for accepted < len(ts) {
		var n int
		if n, err = s.admit(k, ts[accepted:], now); err == nil && n > 0 {
			accepted += n
			continue
		}
		accepted += n
		if accepted == len(ts) {
			return accepted, nil
		}
		var task drr.Task[T]
		if err := s.env.Task(&task, &ts[accepted], now); err != nil {
			return accepted, err
		}
		if err = s.Admit(k, task); err != nil { // which makes room on other shards
			if err = s.env.Overflow(s, k, task, err); err != nil {
				s.env.RejectedMore(err, len(ts)-accepted-1) // this one is counted
				return accepted, err
			}
			now = s.env.Clock.Now() // it may have waited
		}
		accepted++
	}
	return accepted, nil
}

// admit takes in as many of ts as it can under one lock, at most 256.
func (s *Scheduler[K, T]) admit(k K, ts []firq.Task[T], now int64) (int, error) {
	sh, quantum := s.lockActive(k)
	defer sh.unlock()
	for i := range ts[:min(len(ts), 256)] {
		var task drr.Task[T]
		if err := s.env.Task(&task, &ts[i], now); err != nil {
			return i, err
		}
		if err := sh.admit(k, &task, quantum); err != nil {
			return i, err
		}
	}
	return min(len(ts), 256), nil
}

// Admit implements serve.Admitter.
func (s *Scheduler[K, T]) Admit(k K, task drr.Task[T]) error {
	sh, err := s.try(k, &task)
	for again := true; again && (err == firq.ErrGlobalFull || err == firq.ErrTenantThreshold); {
		// If what had expired elsewhere was dropped by somebody else just now, there
		// was no instant at which this task had to be refused. A threshold moves with
		// everything: one more try.
		again = s.reclaimElsewhere(sh) || err == firq.ErrGlobalFull && s.held.Load() < int64(s.env.Config.MaxGlobal)
		if !again && err == firq.ErrGlobalFull {
			break
		}
		sh, err = s.try(k, &task)
	}
	if err == firq.ErrTooManyTenants && (s.roomForTenant() || s.sweepAll() || s.deadlines.Load() && s.reclaimElsewhere(nil)) {
		return s.Admit(k, task) // another limit may stand in the way now
	}
	return err
}

func (s *Scheduler[K, T]) try(k K, task *drr.Task[T]) (*shard[K, T], error) {
	sh, _, err := s.tryLocked(k, task)
	sh.unlock()
	s.sweep(task.Enqueued)
	return sh, err
}

// tryLocked takes the task in or says why not, and returns with the tenant's shard
// locked. If it does not, nothing of that shard has expired. To find that out can take
// several holds of the lock.
func (s *Scheduler[K, T]) tryLocked(k K, task *drr.Task[T]) (sh *shard[K, T], quantum int64, err error) {
	for {
		sh, quantum = s.lockActive(k)
		err = sh.admit(k, task, quantum)
		if !isFull(err) || sh.Queue.NextDue() >= task.Enqueued {
			return sh, quantum, err
		}
		sh.unlock()
	}
}

// isFull reports whether err is a limit that an expired task may have reached.
func isFull(err error) bool {
	return err == firq.ErrGlobalFull || err == firq.ErrTenantFull || err == firq.ErrTenantThreshold
}

// Replace implements serve.Admitter.
func (s *Scheduler[K, T]) Replace(k K, task drr.Task[T], newest bool) (bool, error) {
	sh, quantum, err := s.tryLocked(k, &task) // there may be room by now
	defer sh.unlock()
	if err == nil {
		return true, nil
	}
	t := sh.tenants[k]
	if t == nil || err == firq.ErrClosed || err == serve.ErrTicketInUse {
		return false, err
	}
	if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
		return false, serve.ErrTicketInUse
	}
	if !sh.Evict(&t.Tenant, task.Priority, newest) {
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		return false, err
	}
	sh.push(t, &task, quantum) // in the place of the evicted one
	return true, nil
}

// lockActive locks the tenant's shard. If the tenant is about to become active
// it asks for its quantum first, without the lock.
func (s *Scheduler[K, T]) lockActive(k K) (*shard[K, T], int64) {
	sh := s.shardOf(k)
	if s.env.Config.QuantumFor == nil {
		sh.lock()
		return sh, s.env.Config.Quantum
	}
	sh.lock()
	if t := sh.tenants[k]; t != nil && t.Active() {
		return sh, t.Quantum()
	}
	sh.mu.Unlock()
	quantum := s.env.Config.QuantumFor(k)
	sh.lock()
	return sh, quantum
}

// admit takes the task in or says why not. Under mu.
func (sh *shard[K, T]) admit(k K, task *drr.Task[T], quantum int64) error {
	if sh.s.life.State() != serve.Open {
		return firq.ErrClosed
	}
	t, err := sh.reserve(k, task.Ticket)
	if isFull(err) && sh.reclaim(task.Enqueued) {
		t, err = sh.reserve(k, task.Ticket)
	}
	if err != nil {
		return err
	}
	if task.Due != clock.Never && !sh.s.deadlines.Load() {
		sh.s.deadlines.Store(true)
	}
	sh.push(t, task, quantum)
	return nil
}

// push queues a task whose place is reserved. If that makes the tenant active,
// its quantum is what was asked for, unless SetQuantum overrides it. Under mu.
func (sh *shard[K, T]) push(t *tenant[K, T], task *drr.Task[T], quantum int64) {
	if !t.Active() {
		sh.SetQuantum(&t.Tenant, sh.s.env.Override(t.Key, quantum))
	}
	sh.Push(&t.Tenant, task)
}

// reserve takes a place for one task of the tenant, which it adds if it is new,
// and acquires its ticket. The scheduler's limit is looked at first, then the
// tenant's; the scheduler's place is taken last, when nothing else can stand in
// the way, so that nobody is refused on account of a call that is itself refused.
// Under mu.
func (sh *shard[K, T]) reserve(k K, tk *firq.Ticket) (*tenant[K, T], error) {
	s, cfg := sh.s, &sh.s.env.Config
	held := s.held.Load()
	if held >= int64(cfg.MaxGlobal) {
		return nil, firq.ErrGlobalFull
	}
	t := sh.tenants[k]
	if t != nil {
		if t.Len() >= cfg.MaxPerTenant {
			return nil, firq.ErrTenantFull
		}
		if s.env.OverThreshold(t.Len(), cfg.MaxGlobal-int(held)) {
			return nil, firq.ErrTenantThreshold
		}
	} else if cfg.MaxTenants > 0 && !addBelow(&s.tenants, int64(cfg.MaxTenants)) {
		return nil, firq.ErrTooManyTenants
	}
	isNew := t == nil
	if isNew {
		t = sh.newTenant(k)
	}
	var err error
	if tk != nil && !tk.Acquire(&t.Ticket) {
		err = serve.ErrTicketInUse
	} else if !addBelow(&s.held, int64(cfg.MaxGlobal)) {
		err = firq.ErrGlobalFull
		if tk != nil {
			tk.Abandon()
		}
	}
	if err != nil {
		if isNew && cfg.MaxTenants > 0 {
			s.tenants.Add(-1)
		}
		return nil, err
	}
	if isNew {
		sh.add(t)
	}
	return t, nil
}

// addBelow adds one to n unless that would exceed limit.
func addBelow(n *atomic.Int64, limit int64) bool {
	for {
		v := n.Load()
		if v >= limit {
			return false
		}
		failpoint.At("take place")
		if n.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// reclaim drops some expired tasks, if any can have expired, and reports whether
// it did. There may be more as long as the queue's NextDue is before now. Under mu.
func (sh *shard[K, T]) reclaim(now int64) bool {
	if sh.Queue.NextDue() >= now {
		return false
	}
	before := sh.Queue.Len()
	sh.Queue.Reclaim(now, serve.MaxHold)
	return sh.Queue.Len() < before
}

// reclaimElsewhere drops expired tasks of the other shards and reports whether
// it found any.
func (s *Scheduler[K, T]) reclaimElsewhere(own *shard[K, T]) bool {
	found := false
	now := s.env.Clock.Now()
	for _, sh := range s.shards {
		if sh == own {
			continue
		}
		for here, more := false, true; more && !here; found = found || here {
			sh.lock()
			here = sh.reclaim(now)
			more = sh.Queue.NextDue() < now
			sh.unlock()
		}
	}
	return found
}

// NextDue implements serve.Admitter.
func (s *Scheduler[K, T]) NextDue(k K, anybody bool) int64 {
	due := int64(clock.Never)
	own := s.shardOf(k)
	for _, sh := range s.shards {
		if sh != own && !anybody {
			continue
		}
		failpoint.Lock(&sh.mu, "lock")
		due = min(due, sh.Queue.NextDue())
		sh.mu.Unlock()
	}
	return due
}

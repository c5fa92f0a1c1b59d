package lockfree

import (
	"errors"
	"runtime"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// errUnsure says that the tenant is full only on account of calls in progress, which may be refused.
var errUnsure = errors.New("calls in progress have places that they may give back")

// Admit implements serve.Admitter.
func (s *Scheduler[K, T]) Admit(k K, task drr.Task[T]) error { return s.admit(k, &task) }

// admit takes the task in under the lock, or says why not.
func (s *Scheduler[K, T]) admit(k K, task *drr.Task[T]) error {
	// Each turn asks all over again: an answer may differ from the last one, whatever was made room for.
	for again := true; ; {
		if err := s.surelyFull(k, task.Enqueued); err != nil {
			return err
		}
		err := s.try(k, task)
		switch err {
		case firq.ErrGlobalFull:
			// If what had expired elsewhere was dropped by another call just now, there
			// was no instant at which this task had to be refused.
			if !s.reclaimElsewhere(s.shardOf(k)) && s.credit.None() {
				return err
			}
		case firq.ErrTenantThreshold: // it moves with everything: one more try
			if !s.reclaimElsewhere(s.shardOf(k)) {
				if !again {
					return err
				}
				again = false
			}
		case firq.ErrTooManyTenants:
			if !s.roomForTenant() && !s.sweepAll() && !s.reclaimElsewhere(nil) {
				return err
			}
		default:
			return err
		}
	}
}

// surelyFull says why a task cannot be admitted, if that can be told without a lock: there was
// a moment during the call at which it had to be refused, and nothing had expired that it could
// have replaced. What expires is known of tasks that the engine holds, and full says that it
// holds all.
func (s *Scheduler[K, T]) surelyFull(k K, now int64) error {
	if s.life.State() != serve.Open {
		return nil // the lock's holder says it
	}
	if s.nothingExpired(now) && s.credit.None() { // in this order: what expires later is of calls in progress
		return firq.ErrGlobalFull
	}
	t, _ := s.tenants.Load(k)
	if t == nil || s.shared.Asks {
		return nil
	}
	w := t.load()
	failpoint.At("surely full")
	// The word once more: if it has changed, what had expired may have left before due was read.
	if w.full() && t.shard.due.Load() >= now && t.load() == w {
		return firq.ErrTenantFull
	}
	return nil
}

func (s *Scheduler[K, T]) nothingExpired(now int64) bool {
	for _, sh := range s.shards {
		if !sh.nothingExpired(now) {
			return false
		}
	}
	return true
}

func (s *Scheduler[K, T]) try(k K, task *drr.Task[T]) error {
	sh, err := s.tryLocked(k, task)
	sh.unlock()
	s.sweep(task.Enqueued)
	return err
}

// tryLocked takes the task in or says why not, and returns with the tenant's shard
// locked. If it does not, nothing of that shard has expired. To find that out can take
// several holds of the lock.
func (s *Scheduler[K, T]) tryLocked(k K, task *drr.Task[T]) (sh *shard[K, T], err error) {
	for {
		var into serve.TenantConfig
		sh, conf := s.lockActive(k, &into)
		if err = sh.admit(k, task, conf); isFull(err) && sh.reclaim(task.Enqueued) {
			err = sh.admit(k, task, conf)
		}
		if err != errUnsure && (!isFull(err) || sh.Queue.NextDue() >= task.Enqueued) {
			return sh, err
		}
		// More has expired than one hold drops, or the calls in progress need a moment: their producers may be
		// waiting for this lock.
		sh.unlock()
		if err == errUnsure {
			failpoint.Gosched("unsure")
		}
	}
}

// isFull reports whether err is a limit that an expired task may have reached.
func isFull(err error) bool {
	return err == firq.ErrGlobalFull || err == firq.ErrTenantFull || err == firq.ErrTenantThreshold
}

// lockActive locks the tenant's shard. If the tenant is about to become active it first asks the
// config, without the lock. It returns the answer, which may be in into.
func (s *Scheduler[K, T]) lockActive(k K, into *serve.TenantConfig) (*shard[K, T], *serve.TenantConfig) {
	sh := s.shardOf(k)
	sh.lock()
	if !s.shared.Asks {
		return sh, &s.shared.Defaults
	}
	if t, _ := s.tenants.Load(k); t != nil && t.Len() > 0 { // it is active: what it was given holds
		*into = serve.TenantConfig{Quantum: t.Quantum(), PerTenant: int(t.limit), InFlight: t.FlightLimit()}
		return sh, into
	}
	sh.unlock()
	*into = s.shared.Ask(k)
	sh.lock()
	return sh, into
}

// admit takes the task in or says why not. Under the lock.
func (sh *shard[K, T]) admit(k K, task *drr.Task[T], conf *serve.TenantConfig) error {
	s := sh.s
	if s.life.State() != serve.Open {
		return firq.ErrClosed
	}
	if s.credit.None() {
		return firq.ErrGlobalFull
	}
	t, _ := s.tenants.Load(k)
	isNew := t == nil
	switch {
	case isNew && !s.addKnown():
		return firq.ErrTooManyTenants
	case isNew:
		t = s.newTenant(sh, k, conf)
	case s.shared.Asks && t.Len() == 0:
		sh.configure(t, conf)
	}
	sh.fetchOpen(t) // the count of its tasks, on which a refusal depends, is the engine's
	if err := sh.reserve(t, task.Ticket); err != nil {
		if isNew && s.shared.Config.MaxTenants > 0 {
			s.known.Add(-1)
		}
		return err
	}
	if isNew {
		// Before: t is this goroutine's. After: producers find it, and take places of its word; the rest
		// of it is the holder's. Its first task is pushed in this hold: no sweep comes in between.
		s.tenants.Store(k, t)
		sh.Add(&t.Tenant, s.shared.Clock.Now())
		sh.configure(t, conf)
		if s.shared.Config.MaxPerTenantFor != nil { // it may have more room than when it was forgotten
			s.shared.Waiters.TenantRaised(k, int(t.limit))
		}
	}
	s.sawDeadline(task.Due)
	sh.pushClosing(t, task)
	s.expires(k, task.Due)
	sh.openIfBusy(t, task.Enqueued)
	return nil
}

// configure gives a tenant that has no task what the config says of it, unless SetQuantum or
// SetLimit overrides it. Under the lock.
func (sh *shard[K, T]) configure(t *tenant[K, T], conf *serve.TenantConfig) {
	shared := sh.s.shared
	if limit := shared.Limit(t.Key, conf.PerTenant); limit != int(t.limit) {
		if risen := t.setLimit(limit); risen > 0 {
			shared.Waiters.TenantRaised(t.Key, risen) // it is empty: a producer woken for that is not alone now
		}
	}
	if shared.Config.MaxInFlightFor != nil {
		sh.LimitFlights(&t.Tenant, conf.InFlight)
	}
	sh.SetQuantum(&t.Tenant, shared.Override(t.Key, conf.Quantum))
}

// reserve takes a place for a task, its ticket, and a credit, which comes last, when nothing but
// the state can stand in the way: so no call is refused on account of a call that is itself
// refused. Under the lock.
func (sh *shard[K, T]) reserve(t *tenant[K, T], tk *firq.Ticket) error {
	s := sh.s
	err := t.takeLocked()
	if err != nil {
		return err
	}
	switch err = s.overThreshold(t); {
	case err != nil:
	case tk != nil && !tk.Acquire(&t.Ticket):
		err = serve.ErrTicketInUse
	default:
		if _, err = s.takeCredits(sh.LastServedBy(), 1); err != nil && tk != nil {
			tk.Abandon()
		}
	}
	if err != nil {
		t.freePlaces(1)
	}
	return err
}

// overThreshold looks at DynamicThreshold.
func (s *Scheduler[K, T]) overThreshold(t *tenant[K, T]) error {
	if s.shared.Config.DynamicThreshold == 0 {
		return nil
	}
	free, sure := s.credit.Free()
	for i := 0; i < lockTries && !sure; i++ { // an unsure sum may be too small
		runtime.Gosched()
		free, sure = s.credit.Free()
	}
	if s.shared.OverThreshold(t.Len(), free) {
		return firq.ErrTenantThreshold
	}
	return nil
}

// addKnown counts one more tenant, unless there are MaxTenants.
func (s *Scheduler[K, T]) addKnown() bool {
	limit := int64(s.shared.Config.MaxTenants)
	for limit > 0 {
		n := s.known.Load()
		if n >= limit {
			return false
		}
		// Before: one of MaxTenants is free. After: it is the new tenant's, which forget gives back.
		if s.known.CompareAndSwap(n, n+1) {
			break
		}
	}
	return true
}

// Replace implements serve.Admitter.
func (s *Scheduler[K, T]) Replace(k K, task drr.Task[T], newest bool) (bool, error) {
	sh, err := s.tryLocked(k, &task) // there may be room by now
	defer sh.unlock()
	if err == nil {
		return true, nil
	}
	t, _ := s.tenants.Load(k)
	if t == nil || err == firq.ErrClosed || err == serve.ErrTicketInUse {
		return false, err
	}
	if task.Ticket != nil && !task.Ticket.Acquire(&t.Ticket) {
		return false, serve.ErrTicketInUse
	}
	sh.shut(t)
	// Evict gives back neither place nor credit. Before: they are the evicted task's. After: the new one's.
	if !sh.Evict(&t.Tenant, task.Priority, newest) {
		if task.Ticket != nil {
			task.Ticket.Abandon()
		}
		return false, err
	}
	s.sawDeadline(task.Due)
	sh.push(t, &task) // in the place of the evicted one
	s.expires(k, task.Due)
	return true, nil
}

// reclaim drops some expired tasks, if any can have expired, and reports whether
// it did. There may be more as long as the queue's NextDue is before now. Under the lock.
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
	if !s.deadlines.Load() {
		return false
	}
	found := false
	now := s.shared.Clock.Now()
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

// NextDueOf implements serve.Admitter. It asks the tenant's shard, which knows no tenant's part.
func (s *Scheduler[K, T]) NextDueOf(k K) int64 { return s.shardOf(k).nextDue() }

// NextDue implements serve.Admitter.
func (s *Scheduler[K, T]) NextDue() int64 {
	due := int64(clock.Never)
	for _, sh := range s.shards {
		due = min(due, sh.nextDue())
	}
	return due
}

func (sh *shard[K, T]) nextDue() int64 {
	if !sh.s.deadlines.Load() {
		return clock.Never
	}
	sh.lock()
	defer sh.unlock()
	return sh.Queue.NextDue()
}

package baseline

import (
	"context"
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/serve"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Enqueue admits the task or says why not.
func (s *Scheduler[K, T]) Enqueue(k K, t firq.Task[T]) error {
	h := s.at(k)
	return h.enqueue(s, &t)
}

// enqueue is Enqueue; a is the handle, or, by key, the scheduler: so that what is made
// for one call stays on the stack.
func (h *handle[K, T]) enqueue(a serve.Admitter[K, T], t *firq.Task[T]) error {
	shared := h.s.shared
	if err := shared.CheckTenant(h.key); err != nil {
		return err
	}
	now := shared.Clock.Now()
	if h.put(t, now) {
		return nil
	}
	return h.enqueueAny(a, t, now)
}

// put is Enqueue of a task that is plain, of a tenant that is known, and about which nobody is
// to be asked, while there is room: one hold of the lock. It reports false, and has changed
// nothing, if one of that is not so.
func (h *handle[K, T]) put(task *firq.Task[T], now int64) bool {
	s, sh := h.s, h.sh
	if !s.bare || !serve.IsPlain(task) || s.held.Load() >= s.most.Load() {
		return false
	}
	sh.lock()
	t := h.tenant()
	if t == nil || t.Len() >= t.limit || t.Len() == 0 && s.shared.Asks ||
		s.life.State() != serve.Open || !addBelow(&s.held, s.most.Load()) {
		sh.unlock()
		return false
	}
	sh.activates(t, &s.shared.Defaults)
	sh.PutPlain(&t.Tenant, &task.Payload, max(task.Cost, 1), now)
	sh.unlock()
	return true
}

// enqueueAny is enqueue in all cases.
func (h *handle[K, T]) enqueueAny(a serve.Admitter[K, T], t *firq.Task[T], now int64) error {
	shared := h.s.shared
	var task drr.Task[T]
	err := shared.Task(&task, t, now)
	if err != nil {
		return err
	}
	if err = h.admitOne(&task); err != nil {
		err = shared.Overflow(a, h.key, task, err)
	}
	return err
}

// EnqueueWait waits for capacity until ctx is done.
func (s *Scheduler[K, T]) EnqueueWait(ctx context.Context, k K, t firq.Task[T]) error {
	return s.shared.EnqueueWait(ctx, s, k, t)
}

// EnqueueBatch admits a prefix of ts: as many as fit under one lock, then one at
// a time as the policy says.
func (s *Scheduler[K, T]) EnqueueBatch(k K, ts []firq.Task[T]) (accepted int, err error) {
	h := s.at(k)
	return h.enqueueBatch(s, ts)
}

func (h *handle[K, T]) enqueueBatch(a serve.Admitter[K, T], ts []firq.Task[T]) (accepted int, err error) {
	if len(ts) == 0 {
		return 0, nil
	}
	shared := h.s.shared
	if err := shared.CheckTenant(h.key); err != nil {
		return 0, err
	}
	now := shared.Clock.Now()
	for accepted < len(ts) {
		var n int
		if n, err = h.admitSome(ts[accepted:], now); err == nil && n > 0 {
			accepted += n
			continue
		}
		accepted += n
		if accepted == len(ts) {
			return accepted, nil
		}
		var task drr.Task[T]
		if err := shared.Task(&task, &ts[accepted], now); err != nil {
			return accepted, err
		}
		if err = h.admitOne(&task); err != nil { // which makes room on other shards
			if err = shared.Overflow(a, h.key, task, err); err != nil {
				shared.RejectedMore(err, len(ts)-accepted-1) // this one is counted
				return accepted, err
			}
			now = shared.Clock.Now() // it may have waited
		}
		accepted++
	}
	return accepted, nil
}

// admitSome takes in as many of ts as it can under one lock, at most 256.
func (h *handle[K, T]) admitSome(ts []firq.Task[T], now int64) (int, error) {
	var into serve.TenantConfig
	conf := h.lockActive(&into)
	defer h.sh.unlock()
	for i := range ts[:min(len(ts), 256)] {
		var task drr.Task[T]
		if err := h.s.shared.Task(&task, &ts[i], now); err != nil {
			return i, err
		}
		if err := h.admit(&task, conf); err != nil {
			return i, err
		}
	}
	return min(len(ts), 256), nil
}

// Admit implements serve.Admitter.
func (s *Scheduler[K, T]) Admit(k K, task drr.Task[T]) error {
	h := s.at(k)
	return h.admitOne(&task)
}

// admitOne is Admit.
func (h *handle[K, T]) admitOne(task *drr.Task[T]) error {
	s := h.s
	err := h.try(task)
	for again := true; again && (err == firq.ErrGlobalFull || err == firq.ErrTenantThreshold); {
		// If what had expired elsewhere was dropped by another call just now, there
		// was no instant at which this task had to be refused. A threshold moves with
		// everything: one more try.
		again = s.reclaimElsewhere(h.sh) || err == firq.ErrGlobalFull && s.held.Load() < s.most.Load()
		if !again && err == firq.ErrGlobalFull {
			break
		}
		err = h.try(task)
	}
	if err == firq.ErrTooManyTenants && (s.roomForTenant() || s.sweepAll() || s.deadlines.Load() && s.reclaimElsewhere(nil)) {
		return h.admitOne(task) // another limit may stand in the way now
	}
	return err
}

func (h *handle[K, T]) try(task *drr.Task[T]) error {
	var into serve.TenantConfig
	_, err := h.tryLocked(task, &into)
	h.sh.unlock()
	h.s.sweep(task.Enqueued)
	return err
}

// tryLocked takes the task in or says why not, and returns with the tenant's shard
// locked. If it does not, nothing of that shard has expired. To find that out can take
// several holds of the lock.
func (h *handle[K, T]) tryLocked(task *drr.Task[T], into *serve.TenantConfig) (conf *serve.TenantConfig, err error) {
	for {
		conf = h.lockActive(into)
		err = h.admit(task, conf)
		if !isFull(err) || h.sh.Queue.NextDue() >= task.Enqueued {
			return conf, err
		}
		h.sh.unlock()
	}
}

// isFull reports whether err is a limit that an expired task may have reached.
func isFull(err error) bool {
	return err == firq.ErrGlobalFull || err == firq.ErrTenantFull || err == firq.ErrTenantThreshold
}

// Replace implements serve.Admitter.
func (s *Scheduler[K, T]) Replace(k K, task drr.Task[T], newest bool) (bool, error) {
	h := s.at(k)
	return h.replace(&task, newest)
}

func (h *handle[K, T]) replace(task *drr.Task[T], newest bool) (bool, error) {
	var into serve.TenantConfig
	conf, err := h.tryLocked(task, &into) // there may be room by now
	sh := h.sh
	defer sh.unlock()
	if err == nil {
		return true, nil
	}
	t := h.tenant()
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
	sh.push(t, task, conf) // in the place of the evicted one
	return true, nil
}

// lockActive locks the tenant's shard. If the tenant is about to become active
// it first asks the config, without the lock. It returns the answer,
// which may be in into.
func (h *handle[K, T]) lockActive(into *serve.TenantConfig) *serve.TenantConfig {
	sh, shared := h.sh, h.s.shared
	sh.lock()
	if !shared.Asks {
		return &shared.Defaults
	}
	if t := h.tenant(); t != nil && t.Len() > 0 {
		*into = serve.TenantConfig{Quantum: t.Quantum(), PerTenant: t.limit, InFlight: t.FlightLimit()}
		return into
	}
	sh.mu.Unlock()
	*into = shared.Ask(h.key)
	sh.lock()
	return into
}

// admit takes the task in or says why not. Under mu.
func (h *handle[K, T]) admit(task *drr.Task[T], conf *serve.TenantConfig) error {
	s, sh := h.s, h.sh
	if s.life.State() != serve.Open {
		return firq.ErrClosed
	}
	t, err := h.reserve(task.Ticket)
	if isFull(err) && sh.reclaim(task.Enqueued) {
		t, err = h.reserve(task.Ticket)
	}
	if err != nil {
		return err
	}
	if task.Due != clock.Never && !s.deadlines.Load() {
		s.deadlines.Store(true)
	}
	sh.push(t, task, conf)
	return nil
}

// push queues a task whose place is reserved. Under mu.
func (sh *shard[K, T]) push(t *tenant[K, T], task *drr.Task[T], conf *serve.TenantConfig) {
	sh.activates(t, conf)
	sh.Push(&t.Tenant, task)
}

// activates comes before a task of the tenant is queued. If that makes the tenant active, it
// has what was said of it. Where the config has no functions to ask, it has that already. Under mu.
func (sh *shard[K, T]) activates(t *tenant[K, T], conf *serve.TenantConfig) {
	if sh.s.shared.Asks && t.Len() == 0 { // also if it has still a place in the list
		sh.configure(t, conf)
	}
}

// configure gives the tenant what the config says of it, unless SetQuantum or SetLimit
// overrides it. Under mu.
func (sh *shard[K, T]) configure(t *tenant[K, T], conf *serve.TenantConfig) {
	shared := sh.s.shared
	limit := shared.Limit(t.Key, conf.PerTenant)
	if limit > t.limit && shared.Config.MaxPerTenantFor != nil {
		shared.Waiters.TenantRaised(t.Key, limit-t.limit) // it is empty: a producer woken for that is not alone now
	}
	t.limit = limit
	if shared.Config.MaxInFlightFor != nil {
		sh.LimitFlights(&t.Tenant, conf.InFlight)
	}
	sh.SetQuantum(&t.Tenant, shared.Override(t.Key, conf.Quantum))
}

// reserve takes a place for one task of the tenant, which it adds if it is new,
// and acquires its ticket. The scheduler's limit is looked at first, then the
// tenant's; the scheduler's place is taken last, when nothing else can stand in
// the way, so that no call is refused on account of a call that is itself refused.
// Under mu.
func (h *handle[K, T]) reserve(tk *firq.Ticket) (*tenant[K, T], error) {
	s, sh, cfg := h.s, h.sh, &h.s.shared.Config
	most := s.most.Load() // no call changes it before mu is free
	held := s.held.Load()
	if held >= most {
		return nil, firq.ErrGlobalFull
	}
	t := h.tenant()
	if t != nil {
		if t.Len() >= t.limit {
			return nil, firq.ErrTenantFull
		}
		if s.shared.OverThreshold(t.Len(), int(most-held)) {
			return nil, firq.ErrTenantThreshold
		}
	} else if cfg.MaxTenants > 0 && !addBelow(&s.tenants, int64(cfg.MaxTenants)) {
		return nil, firq.ErrTooManyTenants
	}
	isNew := t == nil
	if isNew {
		t = sh.newTenant(h.key)
	}
	var err error
	if tk != nil && !tk.Acquire(&t.Ticket) {
		err = serve.ErrTicketInUse
	} else if !addBelow(&s.held, most) {
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
	failpoint.Lock(&sh.mu, "lock")
	defer sh.mu.Unlock()
	return sh.Queue.NextDue()
}

package serve

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/key"
	"github.com/firq-go/firq/internal/core/waitq"
)

// Shared is what all shards of a scheduler share. Safe for concurrent use.
type Shared[K comparable, T any] struct {
	Config  firq.Config[K, T] // resolved, immutable
	Clock   clock.Clock
	Waiters waitq.Queue[K] // producers that wait for capacity

	Defaults TenantConfig // of tenants, unless Config has to be asked; immutable
	Asks     bool         // Config has functions that are to be asked about a tenant; immutable
	Flights  bool         // a tenant may have an in-flight limit; immutable

	limits        setLimits[K]
	quanta        *xsync.MapOf[K, int64] // SetQuantum
	overridden    atomic.Bool            // quanta was ever used; a look at it costs more
	keys          key.Check[K]           // immutable
	pendingPanics pendingPanics          // read by every call that dequeues, hardly ever written
	sweeps        sweeps
	rejects       struct{ global, tenant, timeout *xsync.Counter }

	dropPool sync.Pool // *Drops

	lastSweep atomic.Int64

	idleWords        []*idleWord     // of each shard; immutable once all shards are made
	aheads           []atomic.Uint64 // by how many rounds a tenant of each shard is ahead (float64 bits): see Shard.LookAhead
	publishedTenants atomic.Int64    // with MaxTenants: the sum of what shards have registered and published
}

// NewShared resolves the config.
func NewShared[K comparable, T any](cfg firq.Config[K, T]) (*Shared[K, T], error) {
	resolved, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	sh := &Shared[K, T]{Config: resolved, Clock: clock.New(), quanta: NewMap[K, int64](), keys: key.New[K]()}
	sh.aheads = make([]atomic.Uint64, resolved.Shards)
	sh.initLimits(&cfg)
	sh.rejects.global = xsync.NewCounter()
	sh.rejects.tenant = xsync.NewCounter()
	sh.rejects.timeout = xsync.NewCounter()
	sh.sweeps.next.Store(sh.Clock.Now() + sh.sweepEvery())
	return sh, nil
}

// CheckTenant refuses a tenant that is not equal to itself, and panics if it cannot
// be compared: see key.Check. A call checks its tenant before anything else.
func (sh *Shared[K, T]) CheckTenant(k K) error { return sh.keys.Tenant(k) }

// CanLookUp reports whether the tenant can be compared, so that CheckTenant does not
// panic.
func (sh *Shared[K, T]) CanLookUp(k *K) bool { return sh.keys.CanCompare(k) }

// Task checks t and fills in d, the task as a queue holds it. It does not acquire the ticket.
func (sh *Shared[K, T]) Task(d *drr.Task[T], t *firq.Task[T], now int64) error {
	if t.Cost < 0 || t.Priority > firq.PriorityCritical {
		return t.Validate()
	}
	d.Payload = t.Payload
	d.Cost = max(t.Cost, 1)
	d.Enqueued = now
	if d.Ages = t.Deadline.IsZero(); d.Ages {
		sh.age(d)
	} else {
		d.Due = sh.Clock.Due(t.Deadline)
	}
	d.Ticket = t.Ticket
	d.Flow = t.Flow
	d.Priority = t.Priority
	if d.Priority == 0 {
		d.Priority = firq.PriorityNormal
	}
	return nil
}

// age sets when a task without a deadline expires.
func (sh *Shared[K, T]) age(d *drr.Task[T]) {
	d.Due = clock.Never
	if age := int64(sh.Config.MaxQueueAge); age > 0 && d.Enqueued <= clock.Never-age {
		d.Due = d.Enqueued + age
	}
}

// Restamp lets the task's queue time and its age count from now on. A producer that has waited
// for admission calls it: that wait is neither.
func (sh *Shared[K, T]) Restamp(d *drr.Task[T]) {
	d.Enqueued = sh.Clock.Now()
	if d.Ages {
		sh.age(d)
	}
}

// ErrTicketInUse refuses a task whose ticket is not free.
var ErrTicketInUse = fmt.Errorf("%w: Ticket is in use: its task is still queued", firq.ErrInvalidTask)

// Override returns the quantum that SetQuantum gave the tenant, otherwise q. It
// calls no user code.
func (sh *Shared[K, T]) Override(tenant K, q int64) int64 {
	if sh.overridden.Load() {
		if set, ok := sh.quanta.Load(tenant); ok {
			return set
		}
	}
	return q
}

// SetQuantum sets the override.
func (sh *Shared[K, T]) SetQuantum(tenant K, q int64) {
	sh.quanta.Store(tenant, q)
	sh.overridden.Store(true)
}

// ResetQuantum forgets the override and returns what the config says. It may call user
// code: no lock may be held.
func (sh *Shared[K, T]) ResetQuantum(tenant K) int64 {
	sh.quanta.Delete(tenant)
	if sh.Config.QuantumFor != nil {
		return sh.Config.QuantumFor(tenant)
	}
	return sh.Config.Quantum
}

// Backpressure returns the tenant's policy at a limit. It may call user code: no lock may be
// held.
func (sh *Shared[K, T]) Backpressure(tenant K) (firq.Backpressure, error) {
	if sh.Config.BackpressureFor == nil {
		return sh.Config.Backpressure, nil
	}
	b := sh.Config.BackpressureFor(tenant)
	if err := b.Validate(); err != nil {
		return b, fmt.Errorf("BackpressureFor: %w", err)
	}
	return b, nil
}

// OverThreshold reports whether a tenant that holds held tasks has used up its
// share of what is free (Config.DynamicThreshold).
func (sh *Shared[K, T]) OverThreshold(held, free int) bool {
	a := sh.Config.DynamicThreshold
	return a > 0 && float64(held) >= a*float64(free)
}

// Rejected counts a rejection and returns it.
func (sh *Shared[K, T]) Rejected(err error) error {
	sh.RejectedMore(err, 1)
	return err
}

// RejectedMore counts n rejections of tasks that were not tried, because err had refused an
// earlier one. It counts only the errors of limits.
func (sh *Shared[K, T]) RejectedMore(err error, n int) {
	switch err {
	case firq.ErrGlobalFull:
		sh.rejects.global.Add(int64(n))
	case firq.ErrTenantFull, firq.ErrTenantThreshold, firq.ErrTooManyTenants:
		sh.rejects.tenant.Add(int64(n))
	case firq.ErrTimeout:
		sh.rejects.timeout.Add(int64(n))
	}
}

// SweepAllDue reports whether it is time to sweep all shards because there are too many
// tenants: eight times per TenantIdle, at most every millisecond. One caller gets true, and
// sweeps.
func (sh *Shared[K, T]) SweepAllDue() bool {
	now, last := sh.Clock.Now(), sh.lastSweep.Load()
	every := max(int64(sh.Config.TenantIdle)/8, int64(time.Millisecond))
	return now-last >= every && sh.lastSweep.CompareAndSwap(last, now)
}

// Errors for arguments that make no sense.
var (
	ErrNilContext = fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
	ErrEmptyDst   = fmt.Errorf("%w: dst is empty", firq.ErrInvalidArgument)
)

package serve

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/key"
	"github.com/firq-go/firq/internal/core/waitq"
)

// Env is what all shards of a scheduler share. Safe for concurrent use.
type Env[K comparable, T any] struct {
	Config  firq.Config[K, T] // resolved, immutable
	Clock   clock.Clock
	Waiters waitq.Queue[K] // producers that wait for capacity

	Defaults TenantConfig // of tenants, unless Config has to be asked; immutable
	Asks     bool         // Config has functions that are to be asked about a tenant; immutable
	Flights  bool         // a tenant may have an in-flight limit; immutable

	limits     setLimits[K]
	quanta     *xsync.MapOf[K, int64] // SetQuantum
	overridden atomic.Bool            // quanta was ever used; a look at it costs more
	keys       key.Check[K]           // immutable
	thrown     thrown                 // read by every call that dequeues, hardly ever written
	sweeps     sweeps
	rejects    struct{ global, tenant, timeout *xsync.Counter }

	dropPool sync.Pool // *Drops

	lastSweep atomic.Int64

	idleWords []*idleWord     // of each shard; immutable once all shards are made
	aheads    []atomic.Uint64 // by how many rounds a tenant of each shard is ahead (float64 bits): see Shard.LookAhead
	learned   atomic.Int64    // with MaxTenants: the tenants that shards have told of
}

// NewEnv resolves the config.
func NewEnv[K comparable, T any](cfg firq.Config[K, T]) (*Env[K, T], error) {
	resolved, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	e := &Env[K, T]{Config: resolved, Clock: clock.New(), quanta: xsync.NewMapOf[K, int64](), keys: key.New[K]()}
	e.aheads = make([]atomic.Uint64, resolved.Shards)
	e.initLimits(&cfg)
	e.rejects.global = xsync.NewCounter()
	e.rejects.tenant = xsync.NewCounter()
	e.rejects.timeout = xsync.NewCounter()
	e.sweeps.next.Store(e.Clock.Now() + e.sweepEvery())
	return e, nil
}

// CheckTenant refuses a tenant that is not equal to itself, and panics if it cannot
// be compared: see key.Check. It comes before anything else is done with a tenant
// that a caller has named.
func (e *Env[K, T]) CheckTenant(k K) error { return e.keys.Tenant(k) }

// CanLookUp reports whether the tenant can be compared, so that CheckTenant does not
// panic.
func (e *Env[K, T]) CanLookUp(k *K) bool { return e.keys.CanCompare(k) }

// Task checks a task and turns it into what a queue holds, d, with its ticket not
// yet acquired.
func (e *Env[K, T]) Task(d *drr.Task[T], t *firq.Task[T], now int64) error {
	if t.Cost < 0 || t.Priority > firq.PriorityCritical {
		return t.Validate()
	}
	d.Payload = t.Payload
	d.Cost = max(t.Cost, 1)
	d.Enqueued = now
	if d.Ages = t.Deadline.IsZero(); d.Ages {
		e.age(d)
	} else {
		d.Due = e.Clock.Due(t.Deadline)
	}
	d.Ticket = t.Ticket
	d.Flow = t.Flow
	d.Priority = t.Priority
	if d.Priority == 0 {
		d.Priority = firq.PriorityNormal
	}
	return nil
}

// age sets when a task without a deadline of its own expires.
func (e *Env[K, T]) age(d *drr.Task[T]) {
	d.Due = clock.Never
	if age := int64(e.Config.MaxQueueAge); age > 0 && d.Enqueued <= clock.Never-age {
		d.Due = d.Enqueued + age
	}
}

// Restamp makes now the time from which the task's queue time and its age count. It
// comes after a wait for admission, which is neither.
func (e *Env[K, T]) Restamp(d *drr.Task[T]) {
	d.Enqueued = e.Clock.Now()
	if d.Ages {
		e.age(d)
	}
}

// ErrTicketInUse is what a task with a ticket that is not free gets.
var ErrTicketInUse = fmt.Errorf("%w: Ticket is in use: its task is still queued", firq.ErrInvalidTask)

// Override returns the quantum that SetQuantum gave the tenant, otherwise q. It
// calls no user code.
func (e *Env[K, T]) Override(tenant K, q int64) int64 {
	if e.overridden.Load() {
		if set, ok := e.quanta.Load(tenant); ok {
			return set
		}
	}
	return q
}

// SetQuantum notes an override.
func (e *Env[K, T]) SetQuantum(tenant K, q int64) {
	e.quanta.Store(tenant, q)
	e.overridden.Store(true)
}

// ResetQuantum forgets the override and returns what the config says. It may call user
// code: no lock may be held.
func (e *Env[K, T]) ResetQuantum(tenant K) int64 {
	e.quanta.Delete(tenant)
	if e.Config.QuantumFor != nil {
		return e.Config.QuantumFor(tenant)
	}
	return e.Config.Quantum
}

// Backpressure asks what to do at a limit. It may call user code: no lock may be
// held.
func (e *Env[K, T]) Backpressure(tenant K) (firq.Backpressure, error) {
	if e.Config.BackpressureFor == nil {
		return e.Config.Backpressure, nil
	}
	b := e.Config.BackpressureFor(tenant)
	if err := b.Validate(); err != nil {
		return b, fmt.Errorf("BackpressureFor: %w", err)
	}
	return b, nil
}

// OverThreshold reports whether a tenant that holds held tasks has used up its
// share of what is free (Config.DynamicThreshold).
func (e *Env[K, T]) OverThreshold(held, free int) bool {
	a := e.Config.DynamicThreshold
	return a > 0 && float64(held) >= a*float64(free)
}

// Rejected counts a rejection and returns it.
func (e *Env[K, T]) Rejected(err error) error {
	e.RejectedMore(err, 1)
	return err
}

// RejectedMore counts n rejections, of tasks that were not even tried because the
// limit that err names stood in the way of one before them. What is no limit's answer
// is not counted.
func (e *Env[K, T]) RejectedMore(err error, n int) {
	switch err {
	case firq.ErrGlobalFull:
		e.rejects.global.Add(int64(n))
	case firq.ErrTenantFull, firq.ErrTenantThreshold, firq.ErrTooManyTenants:
		e.rejects.tenant.Add(int64(n))
	case firq.ErrTimeout:
		e.rejects.timeout.Add(int64(n))
	}
}

// SweepAllDue reports whether looking for idle tenants everywhere is due again,
// when there are too many: eight times per TenantIdle, at most every millisecond.
// The caller that is told so does it.
func (e *Env[K, T]) SweepAllDue() bool {
	now, last := e.Clock.Now(), e.lastSweep.Load()
	every := max(int64(e.Config.TenantIdle)/8, int64(time.Millisecond))
	return now-last >= every && e.lastSweep.CompareAndSwap(last, now)
}

// Errors for arguments that make no sense.
var (
	ErrNilContext = fmt.Errorf("%w: ctx is nil", firq.ErrInvalidArgument)
	ErrEmptyDst   = fmt.Errorf("%w: dst is empty", firq.ErrInvalidArgument)
)

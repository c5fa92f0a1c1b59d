package serve

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"github.com/firq-go/firq"
	"github.com/puzpuzpuz/xsync/v3"
)

// TenantConfig is what the config says of a tenant: constants, or what user code says when it
// is asked. It holds from when the tenant becomes active until it does so again.
type TenantConfig struct {
	Quantum   int64
	PerTenant int // tasks queued, 1 to firq.MaxTasks
	InFlight  int // 0: no limit
}

// setLimits are what SetLimit has said.
type setLimits[K comparable] struct {
	set *xsync.MapOf[K, int]
	any atomic.Bool // set was ever used; a look at it costs more
}

// initLimits fills in what does not change. cfg is what the user has written: resolved,
// MaxPerTenant is at most the MaxGlobal of that time.
func (e *Env[K, T]) initLimits(cfg *firq.Config[K, T]) {
	e.limits.set = xsync.NewMapOf[K, int]()
	e.Defaults = TenantConfig{
		Quantum:   e.Config.Quantum,
		PerTenant: cmp.Or(cfg.MaxPerTenant, firq.MaxTasks),
		InFlight:  e.Config.MaxInFlightPerTenant,
	}
	e.Asks = cfg.QuantumFor != nil || cfg.MaxPerTenantFor != nil || cfg.MaxInFlightFor != nil
	e.Flights = cfg.MaxInFlightPerTenant > 0 || cfg.MaxInFlightFor != nil
}

// Ask asks what the config says of the tenant. It may call user code: no lock may be
// held. Where Asks is false, that is Defaults.
func (e *Env[K, T]) Ask(tenant K) (conf TenantConfig) {
	conf = e.Defaults
	if e.Config.QuantumFor != nil {
		conf.Quantum = e.Config.QuantumFor(tenant)
	}
	conf.PerTenant = e.askPerTenant(tenant)
	if e.Config.MaxInFlightFor != nil {
		conf.InFlight = answer(e.Config.MaxInFlightFor(tenant), conf.InFlight)
	}
	return conf
}

func (e *Env[K, T]) askPerTenant(tenant K) int {
	if e.Config.MaxPerTenantFor != nil {
		return answer(e.Config.MaxPerTenantFor(tenant), e.Defaults.PerTenant)
	}
	return e.Defaults.PerTenant
}

// answer is what user code has said of a limit, which is otherwise if it said 0.
func answer(said, otherwise int) int {
	if said == 0 {
		return otherwise
	}
	return min(max(said, 1), firq.MaxTasks)
}

// Limit returns what SetLimit gave the tenant, otherwise n. It calls no user code.
func (e *Env[K, T]) Limit(tenant K, n int) int {
	if e.limits.any.Load() {
		if set, ok := e.limits.set.Load(tenant); ok {
			return set
		}
	}
	return n
}

// SetLimit does what is the same for both cores in firq.Scheduler's SetLimit: it checks
// n, asks what holds instead of 0, and wakes the waiters. apply takes the lock of the
// tenant's shard, calls NoteLimit, gives the tenant the limit, and returns by how much
// that has risen.
func (e *Env[K, T]) SetLimit(tenant K, n int, apply func(limit int) (risen int), unlock func()) {
	if n < 0 {
		panic(fmt.Sprintf("firq: SetLimit: n is %d, must not be negative", n))
	}
	if e.CheckTenant(tenant) != nil {
		return // it could not be found again
	}
	limit := min(n, firq.MaxTasks)
	if n == 0 {
		limit = e.askPerTenant(tenant)
	}
	if risen := apply(limit); risen > 0 {
		defer e.Waiters.TenantRaised(tenant, risen) // even if OnDrop panics
	}
	unlock()
}

// NoteLimit notes what SetLimit was called with.
func (e *Env[K, T]) NoteLimit(tenant K, n int) {
	if n == 0 {
		e.limits.set.Delete(tenant)
		return
	}
	e.limits.set.Store(tenant, min(n, firq.MaxTasks))
	e.limits.any.Store(true)
}

// CheckMaxGlobal panics if n makes no sense.
func CheckMaxGlobal(n int) {
	if n < 1 || n > firq.MaxTasks {
		panic(fmt.Sprintf("firq: SetMaxGlobal: n is %d, must be 1 to %d", n, firq.MaxTasks))
	}
}

package serve

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
)

// TenantConfig is the configuration of a tenant: constants, or the answers of user code when it
// is asked. It holds from when the tenant becomes active until it does so again.
type TenantConfig struct {
	Quantum   int64
	PerTenant int // tasks queued, 1 to firq.MaxTasks; 0: what holds for all tenants
	InFlight  int // likewise
}

// setLimits are the limits that change while a scheduler runs. What holds for all tenants is
// looked at under the lock that guards a tenant's limit, so that a call which changes it first, and
// then gives it to the known tenants one by one, leaves none out.
type setLimits[K comparable] struct {
	perTenant atomic.Int64 // for all tenants, 1 to firq.MaxTasks
	inFlight  atomic.Int64 // likewise; 0: no limit
	set       *xsync.MapOf[K, int]
	any       atomic.Bool // set was ever used; a look at it costs more
}

// initLimits fills in what Config says. cfg is what the user has written: resolved,
// MaxPerTenant is at most the MaxGlobal of that time.
func (sh *Shared[K, T]) initLimits(cfg *firq.Config[K, T]) {
	sh.limits.set = NewMap[K, int]()
	sh.limits.perTenant.Store(int64(cmp.Or(cfg.MaxPerTenant, firq.MaxTasks)))
	sh.limits.inFlight.Store(int64(cfg.MaxInFlightPerTenant))
	sh.Defaults = TenantConfig{Quantum: sh.Config.Quantum}
	sh.Asks = cfg.QuantumFor != nil || cfg.MaxPerTenantFor != nil || cfg.MaxInFlightFor != nil
	sh.Flights = cfg.MaxInFlightPerTenant > 0 || cfg.MaxInFlightFor != nil
}

// Ask asks what the config says of the tenant. It may call user code: no lock may be
// held. Where Asks is false, that is Defaults.
func (sh *Shared[K, T]) Ask(tenant K) (conf TenantConfig) {
	conf = sh.Defaults
	if sh.Config.QuantumFor != nil {
		conf.Quantum = sh.Config.QuantumFor(tenant)
	}
	conf.PerTenant = answer(sh.Config.MaxPerTenantFor, tenant)
	conf.InFlight = sh.AskInFlight(tenant)
	return conf
}

// AskInFlight is Ask for one of the answers.
func (sh *Shared[K, T]) AskInFlight(tenant K) int { return answer(sh.Config.MaxInFlightFor, tenant) }

// answer returns a tenant's limit according to user code; 0: without user code.
func answer[K comparable](ask func(K) int, tenant K) int {
	if ask == nil {
		return 0
	}
	said := ask(tenant)
	if said == 0 {
		return 0
	}
	return min(max(said, 1), firq.MaxTasks)
}

// Limit returns the limit that SetLimit gave the tenant, otherwise n, or the limit for all tenants if n is 0.
// It calls no user code.
func (sh *Shared[K, T]) Limit(tenant K, n int) int {
	if sh.limits.any.Load() {
		if set, ok := sh.limits.set.Load(tenant); ok {
			return set
		}
	}
	if n == 0 {
		return int(sh.limits.perTenant.Load())
	}
	return n
}

// SetMaxPerTenant changes what holds for all tenants. The caller then calls Relimit for
// each that is known.
func (sh *Shared[K, T]) SetMaxPerTenant(n int) {
	if n < 0 || n > firq.MaxTasks {
		panic(fmt.Sprintf("firq: SetMaxPerTenant: n is %d, must be 0 to %d", n, firq.MaxTasks))
	}
	sh.limits.perTenant.Store(int64(cmp.Or(n, firq.MaxTasks)))
}

// SetMaxInFlight changes what holds for all tenants. The caller then calls LimitFlights
// for each that is known.
func (sh *Shared[K, T]) SetMaxInFlight(n int) {
	if n < 0 || n > firq.MaxTasks {
		panic(fmt.Sprintf("firq: SetMaxInFlightPerTenant: n is %d, must be 0 to %d", n, firq.MaxTasks))
	}
	if !sh.Flights {
		panic("firq: SetMaxInFlightPerTenant: the scheduler was made without an in-flight limit, so it does not count what is in flight")
	}
	sh.limits.inFlight.Store(int64(n))
}

// SetLimit is the common part of both cores' SetLimit: it checks n,
// and calls Relimit.
func (sh *Shared[K, T]) SetLimit(tenant K, n int, apply func(limit int) (risen int), unlock func()) {
	if n < 0 {
		panic(fmt.Sprintf("firq: SetLimit: n is %d, must not be negative", n))
	}
	if sh.CheckTenant(tenant) != nil {
		return // it could not be found again
	}
	sh.relimit(tenant, n, apply, unlock)
}

// Relimit gives a tenant the limit that it should have, and wakes the producers for which there
// is room now. It asks what the config says. apply takes the lock of the tenant's shard, notes
// what SetLimit was called with, gives the tenant what Limit says for limit, and returns by how
// much that has risen.
func (sh *Shared[K, T]) Relimit(tenant K, apply func(limit int) (risen int), unlock func()) {
	sh.relimit(tenant, 0, apply, unlock)
}

func (sh *Shared[K, T]) relimit(tenant K, n int, apply func(limit int) (risen int), unlock func()) {
	limit := min(n, firq.MaxTasks)
	if n == 0 {
		limit = answer(sh.Config.MaxPerTenantFor, tenant)
	}
	if risen := apply(limit); risen > 0 {
		defer sh.Waiters.TenantRaised(tenant, risen) // even if OnDrop panics
	}
	unlock()
}

// NoteLimit notes what SetLimit was called with.
func (sh *Shared[K, T]) NoteLimit(tenant K, n int) {
	if n == 0 {
		sh.limits.set.Delete(tenant)
		return
	}
	sh.limits.set.Store(tenant, min(n, firq.MaxTasks))
	sh.limits.any.Store(true)
}

// CheckMaxGlobal panics if n makes no sense.
func CheckMaxGlobal(n int) {
	if n < 1 || n > firq.MaxTasks {
		panic(fmt.Sprintf("firq: SetMaxGlobal: n is %d, must be 1 to %d", n, firq.MaxTasks))
	}
}

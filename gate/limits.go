package gate

import (
	"cmp"
	"fmt"

	"github.com/firq-go/firq"
)

// SetMaxGlobal changes Config.MaxGlobal to n, 1 to MaxSlots (anything else panics). It is
// strict for every call of Acquire that begins after it has returned. Calls that wait
// beyond a lower limit go on waiting; none is added before enough of them have left.
func (g *Gate[K]) SetMaxGlobal(n int) {
	if n < 1 || n > MaxSlots {
		panic(fmt.Sprintf("firq: gate: MaxGlobal: %d, must be 1 to %d", n, MaxSlots))
	}
	g.aside.most.all.Store(int64(n))
	g.s.SetMaxGlobal(n)
}

// SetMaxPerTenant changes Config.MaxPerTenant to n, 0 to MaxSlots (anything else panics), for
// all tenants to which neither SetTenantLimit nor MaxPerTenantFor gives another limit,
// which may be called for each tenant that waits; 0: MaxGlobal. Otherwise it is like
// SetMaxGlobal.
func (g *Gate[K]) SetMaxPerTenant(n int) {
	if n < 0 || n > MaxSlots {
		panic(fmt.Sprintf("firq: gate: MaxPerTenant: %d, must be 0 to %d", n, MaxSlots))
	}
	g.aside.most.tenant.Store(int64(noLimit(n)))
	g.s.SetMaxPerTenant(n)
}

// SetTenantLimit sets how many calls of this tenant may queue from now on, whatever
// MaxPerTenant and MaxPerTenantFor say; 0: what these say again. A negative n panics. It is
// firq.Scheduler's SetLimit: it stays if the tenant is forgotten, so limits for unbounded
// keys take unbounded memory. Calls aside obey SetMaxPerTenant alone.
func (g *Gate[K]) SetTenantLimit(tenant K, n int) { g.s.SetLimit(tenant, n) }

// SetMaxInFlightPerTenant changes Config.MaxInFlightPerTenant to n, 0 to firq.MaxTasks, for all
// tenants to which MaxInFlightFor, which it may call for each, gives no other limit; 0:
// no limit. Anything else panics, and so does a gate that was made without an in-flight limit,
// as that does not count what tenants hold. (Without a limit at first, make it with
// firq.MaxTasks.) It is strict for every call of Acquire that begins after it has returned:
// a tenant that holds more than a lower limit gets nothing until enough of it has come back,
// and with a higher one the calls that may be let in are let in.
func (g *Gate[K]) SetMaxInFlightPerTenant(n int) {
	g.s.SetMaxInFlightPerTenant(n)
	g.pump() // as [L2]
}

// noLimit stands for a limit of 0.
func noLimit(n int) int { return cmp.Or(n, MaxSlots) }

// Policy returns what Acquire does for the tenant at a limit of the queue: Config.Policy,
// or what PolicyFor, which it calls, says.
func (g *Gate[K]) Policy(tenant K) firq.Policy {
	if g.policyFor != nil {
		return g.policyFor(tenant)
	}
	return g.policy
}

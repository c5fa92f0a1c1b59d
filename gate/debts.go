package gate

import (
	"sync"
	"sync/atomic"
	"time"
)

// debts hold by how much permits that did not queue cost more than was asked for, per
// tenant, until a permit takes it (see Permit.Charge). They are in two
// generations, each as long as a tenant is remembered: so a debt that no permit takes
// goes away when a call looks.
type debts[K comparable] struct {
	some atomic.Bool // whether there may be any; so that a tenant without debts takes no lock
	ttl  time.Duration

	mu         sync.Mutex
	young, old map[K]int64 // work units, above 0
	since      time.Time   // when young began
}

func (d *debts[K]) init(ttl time.Duration) {
	d.ttl, d.young, d.old = ttl, map[K]int64{}, map[K]int64{}
}

// maxDebt bounds what a tenant can owe here, so that sums do not overflow.
const maxDebt = 1 << 60

// add moves the tenant's debt by delta, not below 0.
func (d *debts[K]) add(tenant K, delta int64) {
	if delta == 0 || delta < 0 && !d.some.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	owed := d.drop(tenant) + min(max(delta, -maxDebt), maxDebt)
	if owed > 0 {
		d.young[tenant] = min(owed, maxDebt)
	}
	d.some.Store(len(d.young)+len(d.old) > 0)
}

// take returns the tenant's debt, and forgets it.
func (d *debts[K]) take(tenant K) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	owed := d.drop(tenant)
	d.some.Store(len(d.young)+len(d.old) > 0)
	return owed
}

// sweep drops what has become too old.
func (d *debts[K]) sweep() {
	if !d.some.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.age()
	d.some.Store(len(d.young)+len(d.old) > 0)
}

// age drops what has become too old. Under mu.
func (d *debts[K]) age() {
	now := time.Now()
	if age := now.Sub(d.since); age >= d.ttl {
		if age >= 2*d.ttl {
			clear(d.young)
		}
		clear(d.old)
		d.young, d.old, d.since = d.old, d.young, now
	}
}

// drop is take under mu. What has become too old goes first.
func (d *debts[K]) drop(tenant K) int64 {
	d.age()
	owed := d.young[tenant] + d.old[tenant]
	delete(d.young, tenant)
	delete(d.old, tenant)
	return owed
}

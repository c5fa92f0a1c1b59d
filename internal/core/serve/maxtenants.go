package serve

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// MakeRoomForTenant makes room for a new tenant when known, the number of tenants, has reached
// MaxTenants: it has a tenant forgotten that is not in use. It reports whether trying again is
// worthwhile; false: there was an instant during the call at which all tenants were in use.
//
// forget takes a shard's lock and calls ForgetLongest.
//
// It takes no lock to look at a shard, so it cannot see all shards at one instant. So it looks at
// all of them twice. If no shard had an idle tenant, and no idleWord has changed in between, there
// was an instant between the two looks at which no shard had one; and if all tenants were registered
// at that instant, all were in use. Calls in progress may count as if they had not begun.
func (sh *Shared[K, T]) MakeRoomForTenant(known *atomic.Int64, forget func(shard int) bool) bool {
	most := int64(sh.Config.MaxTenants)
	for {
		idle, before := sh.lookIdle()
		if idle >= 0 {
			if forget(idle) {
				return true
			}
			failpoint.Gosched("crowd held") // a call has just come for it
			continue
		}
		failpoint.At("crowd known?")
		if known.Load() < most {
			return true
		}
		if sh.publishedTenants.Load() < most {
			failpoint.Gosched("crowd new") // a call brings one, and may yet be refused
			continue
		}
		failpoint.At("crowd again")
		if idle, after := sh.lookIdle(); idle < 0 && after == before {
			return false
		}
	}
}

// lookIdle returns a shard that has published idle tenants, -1 for none, and the sum of all
// idleWords, which changes with each publication.
func (sh *Shared[K, T]) lookIdle() (shard int, version uint64) {
	for i, said := range sh.idleWords {
		failpoint.At("crowd idle?")
		word := said.word.Load()
		if word&idleMask != 0 {
			return i, 0
		}
		version += word
	}
	return -1, version
}

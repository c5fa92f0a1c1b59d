package serve

import (
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// MakeRoomForTenant is for a call that finds MaxTenants tenants known. It has one of them
// forgotten that is not in use, and reports whether it is worth trying again; false:
// there was an instant during the call at which all were in use.
//
// known counts them. forget takes a shard's lock and calls ForgetLongest. takeIn sees
// to it that shards learn of tenants that they do not know yet.
//
// The shards are not looked at in one instant, and nobody is kept from it by a lock
// that is taken for nothing. So all are looked at twice. If no shard had an idle
// tenant, and none has said anything about its own in between, there was an instant
// between the two looks at which none had any; and if shards knew of all tenants at
// that instant, all were in use. What a call does that is still in progress need not
// count yet.
func (e *Env[K, T]) MakeRoomForTenant(known *atomic.Int64, forget func(shard int) bool, takeIn func()) bool {
	most := int64(e.Config.MaxTenants)
	for {
		idle, before := e.lookIdle()
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
		if e.learned.Load() < most {
			takeIn()
			failpoint.Gosched("crowd new") // a call brings one, and may yet be refused
			continue
		}
		failpoint.At("crowd again")
		if idle, after := e.lookIdle(); idle < 0 && after == before {
			return false
		}
	}
}

// lookIdle returns a shard that has said that it has idle tenants, -1 for none, and
// what changes whenever a shard says something.
func (e *Env[K, T]) lookIdle() (shard int, version uint64) {
	for i, told := range e.idleWords {
		failpoint.At("crowd idle?")
		word := told.word.Load()
		if word&idleMask != 0 {
			return i, 0
		}
		version += word
	}
	return -1, version
}

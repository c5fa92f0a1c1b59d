package serve

import (
	"unsafe"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// Tenant is one tenant's part of a Shard; the cores embed it. Everything in it
// belongs to the holder of the shard's lock.
type Tenant[K comparable, T any] struct {
	lastUsed  int64  // when it last had something queued or in flight; if it has, it does not matter
	delivered uint64 // and the bits ranked and isIdle
	drr.Tenant[K, T]
	Ticket     firq.TicketOwner // immutable after Add
	flights    *flights         // nil: it never had an in-flight limit
	next, prev *Tenant[K, T]    // in one of the rings of registeredTenants; nil: forgotten, or not added yet
}

// TenantOf returns the tenant that dt is a part of. A pointer to it in dt would be one
// more cache line to fetch.
func TenantOf[K comparable, T any](dt *drr.Tenant[K, T]) *Tenant[K, T] {
	var t *Tenant[K, T] // only for the offset
	return (*Tenant[K, T])(unsafe.Add(unsafe.Pointer(dt), -int(unsafe.Offsetof(t.Tenant))))
}

// inFlight returns how many deliveries are not yet Done.
func (t *Tenant[K, T]) inFlight() int {
	if t.flights == nil {
		return 0
	}
	return t.flights.n
}

// Registered reports whether the tenant was added to its shard, and not forgotten since.
func (t *Tenant[K, T]) Registered() bool { return t.next != nil }

// FlightLimit returns how many deliveries may be in flight, 0 for any number.
func (t *Tenant[K, T]) FlightLimit() int {
	if t.flights == nil {
		return 0
	}
	return t.flights.limit
}

// flights are the deliveries that are not yet Done. Each has a slot and a
// generation, so that Done on a copy of an item that is Done already is distinguished
// from Done on the slot's next delivery.
//
// Those of a tenant without a limit are not among them; their tokens have generation
// 0, which nothing in flight has.
type flights struct {
	slots []uint32 // generations; odd: in flight
	free  []uint32
	n     int
	limit int // 0: none
}

// full reports whether nothing may be delivered for now.
func (f *flights) full() bool { return f.limit > 0 && f.n >= f.limit }

// Tokens name a delivery: 5 bits of priority, 27 of generation, 32 of slot.
const (
	tokenGenerations = 1<<27 - 1
	tokenPriority    = 59
)

func (f *flights) start() uint64 {
	var slot uint32
	if n := len(f.free); n > 0 {
		slot = f.free[n-1]
		f.free = f.free[:n-1]
	} else {
		slot = uint32(len(f.slots))
		f.slots = append(f.slots, 0)
	}
	f.slots[slot]++
	f.n++
	return uint64(f.slots[slot]&tokenGenerations)<<32 | uint64(slot)
}

// end ends the delivery that token names; false: it has ended before.
func (f *flights) end(token uint64) bool {
	slot, generation := uint32(token), uint32(token>>32)&tokenGenerations
	if int(slot) >= len(f.slots) || generation&1 == 0 || f.slots[slot]&tokenGenerations != generation {
		return false
	}
	f.slots[slot]++
	f.free = append(f.free, slot)
	f.n--
	return true
}

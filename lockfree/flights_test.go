package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
)

// A task that waits in the lane when its tenant comes to its in-flight limit keeps the tenant's place:
// the round that begins then brings it a quantum, as one that waits in the queue has.
func TestBlockedWithTaskInLane(t *testing.T) {
	for _, fetched := range []bool{false, true} {
		blockedWithTaskInLane(t, fetched)
	}
}

func blockedWithTaskInLane(t *testing.T, fetched bool) {
	s := build(t, config{MaxInFlightPerTenant: 1, Quantum: 1, MaxGlobal: 4, MaxPerTenant: 2})
	s.crowd()
	laneOf(t, s, "a", 2, 3)
	admit(t, s, "b", task{Payload: 5})
	two := take(t, s, 2)
	admit(t, s, "a", task{Payload: 7})
	five := take(t, s, 5)
	nothing(t, s)
	admit(t, s, "b", task{Payload: 1})
	nothing(t, s)
	if fetched { // by the refused call
		refuse(t, s, "a", firq.ErrTenantFull)
		nothing(t, s)
	}
	admit(t, s, "b", task{Payload: 8})
	nothing(t, s)
	five.Done() // b comes first, but has not the deficit for a task
	two.Done()
	for _, next := range []int{3, 7, 1, 8} { // 7 is paid for with what the round has brought that b's turn is in
		it := take(t, s, next)
		it.Done()
	}
}

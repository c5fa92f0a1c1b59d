package lockfree

import (
	"runtime"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// While the lock of a shard is held, and goroutines meet there, an Enqueue for a known tenant with room
// returns: by the ring, and by the lane of a busy tenant. So does Len.
func TestEnqueueWaitsForNoLock(t *testing.T) {
	s := build(t, config{})
	s.crowd()
	for _, tenant := range []string{"a", "b"} {
		admit(t, s, tenant, task{})
		take(t, s, 0)
	}
	wide := laneOf(t, s, "wide", 0, 0)
	wide.shard.mu.Lock()
	for i, tenant := range []string{"a", "b", "a", "wide", "wide", "wide"} {
		x := task{}
		if i == 2 {
			x.Priority = firq.PriorityHigh
		}
		if err := result(t, "Enqueue for "+tenant, start(func() error { return s.Enqueue(tenant, x) })); err != nil {
			t.Errorf("%s: %v", tenant, err)
		}
		if n := result(t, "Len", start(s.Len)); n != i+3 {
			t.Errorf("Len is %d, want %d", n, i+3)
		}
	}
	wide.shard.mu.Unlock()
	take(t, s, 0, 0, 0, 0, 0, 0, 0, 0)
}

// No goroutine runs for a scheduler, open and idle or not.
func TestRunsNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	s := build(t, config{MaxInFlightPerTenant: 1})
	admit(t, s, "a", task{Payload: 1, Deadline: far()}, task{Payload: 2}, task{Payload: 3})
	take(t, s, 1)
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

func TestCancelAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("sync.Pool drops what it is given")
	}
	s := build(t, config{})
	var ticket firq.Ticket
	n := testing.AllocsPerRun(1000, func() {
		if err := s.Enqueue("a", task{Ticket: &ticket}); err != nil || !ticket.Cancel() {
			t.Fatal("not enqueued, or not cancelled:", err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A refusal takes no lock, but the first one after a place of the tenant came free, which finds out
// whether there is another place that the word does not say.
func TestRefusalTakesNoLock(t *testing.T) {
	s := build(t, config{MaxGlobal: 3, MaxPerTenant: 2})
	admit(t, s, "a", task{}, task{})
	refuse(t, s, "a", firq.ErrTenantFull)
	sh := s.shards[0]
	refused := func(tenant string, want error) {
		t.Helper()
		sh.mu.Lock()
		err := result(t, "Enqueue for "+tenant, start(func() error { return s.Enqueue(tenant, task{}) }))
		if sh.mu.Unlock(); err != want {
			t.Errorf("%s: %v, want %v", tenant, err, want)
		}
	}
	refused("a", firq.ErrTenantFull)
	admit(t, s, "b", task{})
	refused("b", firq.ErrGlobalFull)
	take(t, s, 0)
	admit(t, s, "a", task{})
	take(t, s, 0, 0, 0)
}

package lockfree

import (
	"runtime"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// While the lease of a shard is held, an Enqueue for a known tenant with room in its
// inbox returns: for the first task of an idle tenant and behind other tasks, and where
// tasks may go past the inbox. So does Len.
func TestEnqueueWaitsForNoLease(t *testing.T) {
	for _, direct := range []bool{false, true} {
		s := build(t, config{})
		wide := polled(t, s, "wide", 1, 2, 3, 4)
		take(t, s, 1, 2, 3, 4)
		for _, tenant := range []string{"a", "b", "c"} {
			admit(t, s, tenant, task{})
			take(t, s, 0)
		}
		s.direct = direct && s.bare
		wide.shard.lease.Lock()
		for i, tenant := range []string{"a", "b", "c", "wide", "wide", "wide"} {
			done := start(func() error { return s.Enqueue(tenant, task{}) })
			if err := result(t, "Enqueue for "+tenant, done); err != nil {
				t.Errorf("%s: %v", tenant, err)
			}
			if n := result(t, "Len", start(s.Len)); n != i+1 {
				t.Errorf("Len is %d, want %d", n, i+1)
			}
		}
		wide.shard.lease.Unlock()
		take(t, s, 0, 0, 0, 0, 0, 0)
	}
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

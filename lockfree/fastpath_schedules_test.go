//go:build firq_failpoints

package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A producer on its way past the inbox sees what another one has taken in between: the
// tenant's last place.
func TestSchedulesDirectIsBehind(t *testing.T) {
	s := direct(t, config{MaxPerTenant: 1})
	other := 0
	restore := failpoint.AtMark("direct ticket", func() {
		if other++; other == 1 {
			s.direct = false
			admit(t, s, "a", task{Payload: 2})
			s.direct = true
		}
	})
	past := result(t, "the way past the inbox", start(func() bool {
		return s.enqueueDirect(s.find("a", nil), &task{Payload: 3}, s.shared.Clock.Now())
	}))
	restore()
	if tenant, _ := s.tenants.Load("a"); past || other != 1 || tenant.holds() != 1 {
		t.Fatalf("past the inbox: %v; %d others; the tenant, that may hold one, holds %d", past, other, tenant.holds())
	}
	take(t, s, 2)
}

// What others say between the choice of a shard and its lease limits the fast path.
func TestSchedulesFastPathLimit(t *testing.T) {
	s, k := twoShards(t)
	s.rounds.Served(50)
	pushed(t, s, k, task{Payload: 2})
	said := 0
	restore := failpoint.AtMark("L1 try", func() {
		said++
		s.rounds.Publish(1, 3, true)
	})
	var it item
	took := s.takeFast(&it)
	restore()
	if took || said != 1 {
		t.Fatalf("delivered %d: %v; the lease was tried %d times", it.Payload, took, said)
	}
	s.rounds.Publish(1, 0, false)
	take(t, s, 2)
}

// A call that evicts, and finds nothing in the queue, waits for the task that has the place:
// it is on its way. (The queue is empty as a consumer came first.)
func TestSchedulesReplaceWaits(t *testing.T) {
	s := direct(t, config{MaxPerTenant: 1, Backpressure: firq.Backpressure{Policy: firq.DropOldest}})
	s.direct = false
	admit(t, s, "a", task{Payload: 2})
	steps := 0
	restore := failpoint.AtMark("replace look up", func() {
		if steps++; steps > 1 {
			return
		}
		take(t, s, 2)
		failpoint.AtMark("replace evict", func() {
			if steps++; steps == 2 {
				admit(t, s, "a", task{Payload: 3})
			}
		})
	})
	defer restore()
	admit(t, s, "a", task{Payload: 4})
	if steps < 3 {
		t.Errorf("%d steps: not tried again", steps)
	}
	take(t, s, 4)
	rests(t, s)
}

// A call that is about to evict sees a place that has come free since it was refused, though
// the word does not say it.
func TestSchedulesReplaceLooksAtPlaces(t *testing.T) {
	s := direct(t, config{MaxPerTenant: 2, Backpressure: firq.Backpressure{Policy: firq.DropOldest}})
	pushed(t, s, "a", task{Payload: 2})
	pushed(t, s, "a", task{Payload: 3})
	steps := 0
	restore := failpoint.AtMark("replace look up", func() {
		if steps++; steps == 1 {
			take(t, s, 2)
			pushed(t, s, "a", task{Payload: 4})
			take(t, s, 3)
		}
	})
	defer restore()
	admit(t, s, "a", task{Payload: 5})
	take(t, s, 4, 5)
	rests(t, s)
}

//go:build firq_failpoints

package lockfree

import (
	"testing"

	"github.com/firq-go/firq/internal/failpoint"
)

// A hold by the straight path that has gone far, and beyond what another shard allows by
// then, goes back.
func TestPlaysStraightStepsBack(t *testing.T) {
	s, k := twoShards(t)
	pushed(t, s, k, task{Payload: 2})
	pushed(t, s, k, task{Payload: 3})
	sh := s.shards[0]
	met := 0
	restore := failpoint.AtMark("serve next", func() {
		if met++; met == 1 { // the limit was looked at
			sh.Queue.SetRound(50)
			s.rounds.Publish(1, 3, true)
		}
	})
	straight(t, s, 2)
	restore()
	if got, limit := sh.Queue.Round(), s.rounds.Limit(0); met != 1 || got > limit+1 {
		t.Errorf("in round %d, the limit is %d (%d looks)", got, limit, met)
	}
	s.rounds.Publish(1, 0, false)
	take(t, s, 3)
}

// A producer on its way past the inbox sees what another one has taken meanwhile: the
// tenant's last place.
func TestPlaysDirectIsBehind(t *testing.T) {
	s := direct(t, config{MaxPerTenant: 1})
	other := 0
	restore := failpoint.AtMark("direct ticket", func() {
		if other++; other == 1 {
			s.straight = false
			admit(t, s, "a", task{Payload: 2})
			s.straight = true
		}
	})
	past := s.enqueueDirect("a", nil, &task{Payload: 3}, s.env.Clock.Now())
	restore()
	if tenant, _ := s.tenants.Load("a"); past || other != 1 || tenant.holds() != 1 {
		t.Errorf("past the inbox: %v; %d others; the tenant, that may hold one, holds %d", past, other, tenant.holds())
	}
	take(t, s, 2)
}

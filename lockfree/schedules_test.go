//go:build firq_failpoints

package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/schedules"
)

// Tasks go by the inboxes' slots.
func TestSchedules(t *testing.T) { playWith(t, 0, inboxSize, false) }

// A task of an idle tenant goes into the activation ring, and inboxes are as they are
// at first: they grow in the middle of the stories.
func TestSchedulesSmallInbox(t *testing.T) { playWith(t, lendSize, firstBox, false) }

// Tasks pass the inboxes by, whichever goroutines meet at the lease.
func TestSchedulesDirect(t *testing.T) { playWith(t, lendSize, firstBox, true) }

func playWith(t *testing.T, first uint32, box int, direct bool) {
	schedules.Run(t, schedules.Core{
		New: func(cfg firq.Config[string, int]) (schedules.Scheduler, error) {
			s, err := newAt(cfg, first, box)
			if err != nil || !direct {
				return s, err
			}
			s.direct = s.bare
			return neverContended{s}, nil
		},
		Shard: func(s schedules.Scheduler, tenant string) int {
			if uncontended, ok := s.(neverContended); ok {
				s = uncontended.scheduler
			}
			return s.(*scheduler).placer.Shard(tenant)
		},
		PastInbox: direct,
	})
}

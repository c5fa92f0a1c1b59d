//go:build firq_failpoints

package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/schedules"
)

// Tasks go by rings and lanes.
func TestSchedules(t *testing.T) { play(t, false) }

// Tasks are put under the lock, until goroutines meet there.
func TestSchedulesAlone(t *testing.T) { play(t, true) }

func play(t *testing.T, alone bool) {
	schedules.Run(t, schedules.Core{
		New: func(cfg firq.Config[string, int]) (schedules.Scheduler, error) {
			s, err := New(cfg)
			if err == nil && !alone {
				s.crowd()
			}
			return s, err
		},
		Shard: func(s schedules.Scheduler, tenant string) int { return s.(*scheduler).placer.Shard(tenant) },
		Rings: true,
		Alone: alone,
	})
}

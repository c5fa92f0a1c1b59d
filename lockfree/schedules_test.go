//go:build firq_failpoints

package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/schedules"
)

// Tasks go by rings and lanes.
func TestSchedules(t *testing.T) {
	play(t, schedules.Core{Rings: true}, func(cfg config) (*scheduler, error) {
		s, err := New(cfg)
		if err == nil {
			s.crowd()
		}
		return s, err
	})
}

// Tasks are put under the lock, until goroutines meet there.
func TestSchedulesAlone(t *testing.T) {
	play(t, schedules.Core{Rings: true, Alone: true}, New[string, int])
}

// Tasks are put under the lock.
func TestSchedulesLocked(t *testing.T) { play(t, schedules.Core{Alone: true}, NewLocked[string, int]) }

func play(t *testing.T, core schedules.Core, build func(config) (*scheduler, error)) {
	core.New = func(cfg firq.Config[string, int]) (schedules.Scheduler, error) { return build(cfg) }
	core.Shard = func(s schedules.Scheduler, tenant string) int { return s.(*scheduler).placer.Shard(tenant) }
	schedules.Run(t, core)
}

//go:build firq_failpoints

package baseline

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/schedules"
)

func TestSchedules(t *testing.T) {
	schedules.Run(t, schedules.Core{
		New: func(cfg firq.Config[string, int]) (schedules.Scheduler, error) { return New(cfg) },
		Shard: func(s schedules.Scheduler, tenant string) int {
			return s.(*Scheduler[string, int]).placer.Shard(tenant)
		},
	})
}

//go:build firq_failpoints

package baseline

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/plays"
)

func TestPlays(t *testing.T) {
	plays.Run(t, plays.Core{
		New: func(cfg firq.Config[string, int]) (plays.Scheduler, error) { return New(cfg) },
		Shard: func(s plays.Scheduler, tenant string) int {
			return s.(*Scheduler[string, int]).placer.Shard(tenant)
		},
	})
}

//go:build firq_failpoints

package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/plays"
)

func TestPlays(t *testing.T) { playWith(t, inboxSize) }

// With inboxes as they are at first: they grow in the middle of the stories.
func TestPlaysSmallInbox(t *testing.T) { playWith(t, firstBox) }

func playWith(t *testing.T, box int) {
	plays.Run(t, plays.Core{
		New: func(cfg firq.Config[string, int]) (plays.Scheduler, error) { return newAt(cfg, 0, box) },
		Shard: func(s plays.Scheduler, tenant string) int {
			return s.(*Scheduler[string, int]).placer.Shard(tenant)
		},
	})
}

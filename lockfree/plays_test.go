//go:build firq_failpoints

package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/plays"
)

// Tasks go by the inboxes' slots.
func TestPlays(t *testing.T) { playWith(t, 0, inboxSize) }

// A task of an idle tenant goes into the activation ring, and inboxes are as they are
// at first: they grow in the middle of the stories.
func TestPlaysSmallInbox(t *testing.T) { playWith(t, inboxSize, firstBox) }

func playWith(t *testing.T, first uint32, box int) {
	plays.Run(t, plays.Core{
		New: func(cfg firq.Config[string, int]) (plays.Scheduler, error) { return newAt(cfg, first, box) },
		Shard: func(s plays.Scheduler, tenant string) int {
			return s.(*Scheduler[string, int]).placer.Shard(tenant)
		},
	})
}

//go:build firq_failpoints

package serve

import (
	"testing"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The round of the last delivery is said before the tag. A tenant that wakes up on
// another shard in between would otherwise find this one idle, and join at a round
// that is over.
func TestSchedulesPublishRoundFirst(t *testing.T) {
	s, r := sharing(t, config{Shards: 2}, 1, 0)
	serveIn(t, s, 5)
	s.Publish(true)
	looked := 0
	defer failpoint.AtMark("publish tag", func() {
		looked++
		if !r.Ready(1) {
			t.Error("the tag is gone")
		}
		if got := r.Current(); got != 9 {
			t.Errorf("the tag is to go, and the round is %d, want 9", got)
		}
	})()
	serveIn(t, s, 9)
	s.Publish(false)
	if looked != 1 || r.Ready(1) {
		t.Errorf("looked %d times, ready %t", looked, r.Ready(1))
	}
}

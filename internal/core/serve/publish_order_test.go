//go:build firq_failpoints

package serve

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
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

// A call that finds all tenants published looks for idle ones next: it sees those that were idle by then.
func TestSchedulesIdleFirst(t *testing.T) {
	e := newShared(t, config{MaxTenants: 2})
	s := shardOf(e)
	add(s, "a", 0)
	defer failpoint.AtMark("crowd told", func() {
		if shard, _ := e.lookIdle(); shard < 0 && e.publishedTenants.Load() == 1 {
			t.Error("the tenant is published, and not that it is idle")
		}
	})()
	s.PublishIdle()
	if shard, _ := e.lookIdle(); shard != 0 || e.publishedTenants.Load() != 1 {
		t.Errorf("shard %d has idle ones, of %d tenants", shard, e.publishedTenants.Load())
	}
}

// passing lets another goroutine come when a call of Pass is about to set the current round, until that one waits.
type passing struct {
	come  func()
	stuck chan struct{}
}

func (h *passing) At(point string) {
	if point == "J2 current" {
		h.come()
	}
}

func (h *passing) Stuck(string) {
	select {
	case h.stuck <- struct{}{}:
	default:
	}
}

func (*passing) Processor() (int, bool) { return 0, true }

// A shard becomes ready while another one passes to a far round, and has not seen that: it joins there.
func TestSchedulesReadyWhilePassing(t *testing.T) {
	s, r := sharing(t, config{Shards: 4}, 0, 0)
	r.Publish(2, 50, true)
	s.Push(add(s, "a", 0), &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
	done := make(chan struct{})
	h := &passing{stuck: make(chan struct{}, 1)}
	h.come = func() {
		go func() { s.Publish(true); close(done) }()
		select {
		case <-done:
		case <-h.stuck:
		}
	}
	defer failpoint.Set(h)()
	if may, _ := r.Pass(1, 50); !may {
		t.Fatal("it may not pass")
	}
	<-done
	if round := s.Queue.Round(); drr.Apart(50, round) > 1 {
		t.Errorf("it joins in round %d, want about 50", round)
	}
}

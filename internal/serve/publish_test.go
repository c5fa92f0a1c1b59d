package serve

import (
	"testing"

	"github.com/firq-go/firq/shardsel"
)

// What a shard has said before is not said again, and every change is: also that
// of the round alone, by which others join.
func TestPublishSays(t *testing.T) {
	s, r := newShard(t, config{Shards: 2}), shardsel.NewRounds(2, 1)
	for i, step := range []struct {
		served uint64
		ready  bool
	}{{0, false}, {5, false}, {5, true}, {5, false}, {7, false}, {7, true}, {9, true}, {9, false}, {9, true}} {
		s.served = step.served
		s.Publish(r, 1, step.ready)
		if r.Current() != step.served || r.Ready(1) != step.ready || r.Ready(0) {
			t.Errorf("step %d: round %d, ready %t; want %+v", i, r.Current(), r.Ready(1), step)
		}
	}
}

// Without other shards nobody asks for rounds.
func TestPublishAlone(t *testing.T) {
	s, r := newShard(t, config{Shards: 1}), shardsel.NewRounds(1, 1)
	for _, ready := range []bool{true, false, true} {
		s.served++
		s.Publish(r, 0, ready)
		if r.Current() != 0 || r.Ready(0) != ready {
			t.Errorf("round %d, ready %t; want 0, %t", r.Current(), r.Ready(0), ready)
		}
	}
}

package baseline

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/shardtest"
)

func TestShards(t *testing.T) {
	shardtest.Run(t, func(cfg firq.Config[int, int]) (firq.Scheduler[int, int], func(int) int, error) {
		s, err := New(cfg)
		if err != nil {
			return nil, nil, err
		}
		return s, s.placer.Shard, nil
	})
}

// A consumer that finds nothing has asked the shards that linger, too: else it would look again
// and again. One shard lingers, and the other has work: that one is served first.
func TestLingeringShards(t *testing.T) {
	s, err := New(firq.Config[int, int]{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	for tenant := range 8 {
		if err := s.Enqueue(tenant, firq.Task[int]{Payload: tenant}); err != nil {
			t.Fatal(err)
		}
		if it, ok := s.TryDequeue(); !ok || it.Payload != tenant {
			t.Fatalf("got %v, %v; want %d", it, ok, tenant)
		}
	}
	if _, ok := s.TryDequeue(); ok || s.rounds.AnyAsks() {
		t.Errorf("something was delivered, or lingers, where nothing is queued")
	}
}

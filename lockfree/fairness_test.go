package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/fairness"
	"github.com/firq-go/firq/internal/serve"
)

func TestFairness(t *testing.T) {
	fairness.Run(t, func(cfg firq.Config[int, int], log *fairness.Log) (firq.Scheduler[int, int], func(int) int, error) {
		s, err := New(cfg)
		if err != nil {
			return nil, nil, err
		}
		s.eager.Store(true) // or Fill, by which the log sees who is served, would be left out
		for _, sh := range s.shards {
			sh.Shard = serve.NewShard(s.env, log.Spy(sh))
		}
		return s, s.placer.Shard, nil
	})
}

package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/shardsel"
	"github.com/firq-go/firq/internal/proof/fairness"
)

func TestFairness(t *testing.T) {
	fairness.Run(t, func(cfg firq.Config[int, int], log *fairness.Log, round uint64) (firq.Scheduler[int, int], func(int) int, error) {
		s, err := New(cfg)
		if err != nil {
			return nil, nil, err
		}
		s.rounds = shardsel.NewRoundsAt(len(s.shards), s.shared.Config.FairnessSlack, round)
		for i, sh := range s.shards {
			sh.Init(s.shared, log.Spy(sh))
			sh.Share(s.rounds, i)
		}
		return s, s.placer.Shard, nil
	})
}

package lockfree

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

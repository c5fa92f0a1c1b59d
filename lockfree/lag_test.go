package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/proof/shardtest"
)

func inside(t *testing.T) *shardtest.Core {
	s, err := New(firq.Config[int, int]{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &shardtest.Core{Scheduler: s, ShardOf: s.placer.Shard, Served: s.rounds.Served, Hold: func(shard int, do func(*drr.Queue[int, int])) {
		sh := s.shards[shard]
		sh.lock()
		defer sh.unlock()
		do(&sh.Queue)
	}}
}

func TestLagOfShard(t *testing.T) { shardtest.LagOfShard(t, inside) }

func TestLagBehindExcess(t *testing.T) { shardtest.LagBehindExcess(t, inside) }

package shardtest

import (
	"math"
	"reflect"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// Core is a scheduler with two shards, of which tests reach the insides.
type Core struct {
	firq.Scheduler[int, int]
	ShardOf func(tenant int) int
	// Hold runs do with the queue of a shard, under its lock or lease.
	Hold func(shard int, do func(*drr.Queue[int, int]))
	// Served tells the other shards that one has come to a round.
	Served func(round uint64) (current uint64)
}

// unfair serves n tasks of one shard, whatever the others are in.
func (c *Core) unfair(t *testing.T, shard, n int) {
	t.Helper()
	for range n {
		c.Hold(shard, func(q *drr.Queue[int, int]) {
			var task int
			var h drr.Head
			_, v := q.NextWithin(0, math.MaxUint64, &task, &h)
			for ; v == drr.Again; _, v = q.NextWithin(0, math.MaxUint64, &task, &h) {
			}
			c.Served(q.Reached())
			if v != drr.Delivered {
				t.Errorf("verdict %v", v)
			}
		})
	}
}

// fill queues a long queue of a tenant on each shard, and returns the two.
func (c *Core) fill(t *testing.T) (on [2]int) {
	t.Helper()
	for shard := range on {
		for c.ShardOf(on[shard]) != shard {
			on[shard]++
		}
		enqueue(t, c, on[shard], 1000, 1)
	}
	return on
}

// LagOfShard asserts that a shard that is never served is behind by as many rounds as the other has
// had, and Stats says whose tenant that is; it is behind no more once it has caught up.
func LagOfShard(t *testing.T, build func(*testing.T) *Core) {
	for shard := range 2 {
		s := build(t)
		on := s.fill(t)
		s.unfair(t, shard, 500)
		st := s.Stats()
		if st.Lag.Tenant != on[1-shard] || st.Lag.Max < 490 || st.Lag.Max > 510 {
			t.Errorf("shard %d has had 500 rounds, %d is on the other: %+v", shard, on[1-shard], st.Lag)
		}
		for range 500 {
			if it, ok := s.TryDequeue(); !ok || it.Tenant != on[1-shard] {
				t.Fatalf("got %+v, %v; the starved one was to catch up", it, ok)
			}
		}
		if st := s.Stats(); st.Lag.Max > 1 {
			t.Errorf("after it has caught up: %+v", st.Lag)
		}
		for _, row := range st.TopTenants {
			if row.Tenant == on[shard] && row.Lag != 0 {
				t.Errorf("the tenant that was served is behind: %+v", row)
			}
		}
	}
}

// LagBehindExcess has a tenant that is alone on its shard take more turns than a round has. No
// round passes, and the tenant of the other shard lags all the same.
func LagBehindExcess(t *testing.T, build func(*testing.T) *Core) {
	s := build(t)
	on := s.fill(t)
	s.unfair(t, 1, 1)
	s.Hold(1, func(q *drr.Queue[int, int]) {
		// What package drr counts cannot be made wrong from outside.
		spare := reflect.ValueOf(q).Elem().FieldByName("lists").Index(0).FieldByName("audit").FieldByName("spare")
		*(*int)(spare.Addr().UnsafePointer()) = -500
	})
	if st := s.Stats(); st.Lag.Tenant != on[0] || st.Lag.Max < 490 || st.Lag.Max > 510 {
		t.Errorf("%d has had 500 turns in one round, %d is on the other shard: %+v", on[1], on[0], st.Lag)
	}
}

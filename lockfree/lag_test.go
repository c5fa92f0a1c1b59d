package lockfree

import (
	"math"
	"reflect"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
)

// unfair serves n tasks of one shard, whatever the others are in.
func unfair(t *testing.T, s *Scheduler[int, int], shard, n int) {
	t.Helper()
	sh := s.shards[shard]
	for range n {
		sh.lock()
		var task int
		var h drr.Head
		_, v := sh.Queue.NextWithin(0, math.MaxUint64, &task, &h)
		for ; v == drr.Again; _, v = sh.Queue.NextWithin(0, math.MaxUint64, &task, &h) {
		}
		s.rounds.Served(sh.Queue.Reached())
		sh.unlock()
		if v != drr.Delivered {
			t.Fatalf("verdict %v", v)
		}
	}
}

// unfairPair is a scheduler with two shards, a tenant on each, and a long queue of both.
func unfairPair(t *testing.T) (s *Scheduler[int, int], on [2]int) {
	t.Helper()
	s, err := New(firq.Config[int, int]{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	for shard := range on {
		for s.placer.Shard(on[shard]) != shard {
			on[shard]++
		}
		for range 1000 {
			if err := s.Enqueue(on[shard], firq.Task[int]{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s, on
}

// A shard that is never served is behind by as many rounds as the other has had, and
// Stats says whose tenant that is; it is behind no more once it has caught up.
func TestLagOfShard(t *testing.T) {
	for shard := range 2 {
		s, on := unfairPair(t)
		unfair(t, s, shard, 500)
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

// Turns beyond a round's, on a shard with nobody else: no round passes, and the tenant of
// the other shard is behind all the same.
func TestLagBehindExcess(t *testing.T) {
	s, on := unfairPair(t)
	unfair(t, s, 1, 1)
	// What package drr counts cannot be made wrong from outside.
	spare := reflect.ValueOf(s.shards[1].Queue).Elem().FieldByName("lists").Index(0).FieldByName("audit").FieldByName("spare")
	*(*int)(spare.Addr().UnsafePointer()) = -500
	if st := s.Stats(); st.Lag.Tenant != on[0] || st.Lag.Max < 490 || st.Lag.Max > 510 {
		t.Errorf("%d has had 500 turns in one round, %d is on the other shard: %+v", on[1], on[0], st.Lag)
	}
}

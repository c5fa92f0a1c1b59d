package serve

import (
	"math"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/shardsel"
)

// sharing returns a shard of a scheduler in the given round.
func sharing(t *testing.T, cfg config, index int, round uint64) (*shard, *shardsel.Rounds) {
	t.Helper()
	s, r := newShard(t, cfg), shardsel.NewRoundsAt(cfg.Shards, max(cfg.FairnessSlack, 1), round)
	s.Share(r, index)
	return s, r
}

// serveIn delivers a task in the given round.
func serveIn(t *testing.T, s *shard, round uint64) {
	t.Helper()
	x := s.rest.at
	if x == nil {
		x = add(s, "a", 0)
	}
	s.Queue.Retire(&x.Tenant)
	s.Queue.SetRound(round)
	serveOne(t, s, x, 0)
}

// What a shard has said before is not said again, and every change is: also that
// of the round alone, by which others join.
func TestPublishSays(t *testing.T) {
	s, r := sharing(t, config{Shards: 2}, 1, 0)
	for i, step := range []struct {
		served uint64
		ready  bool
	}{{0, false}, {5, false}, {5, true}, {5, false}, {7, false}, {7, true}, {9, true}, {9, false}, {9, true}} {
		if step.served != s.Queue.Reached() {
			serveIn(t, s, step.served)
		}
		s.Publish(step.ready)
		if r.Current() != step.served || r.Ready(1) != step.ready || r.Ready(0) {
			t.Errorf("step %d: round %d, ready %t; want %+v", i, r.Current(), r.Ready(1), step)
		}
	}
}

// Without other shards the rounds are not published.
func TestPublishAlone(t *testing.T) {
	s, r := sharing(t, config{Shards: 1}, 0, 0)
	for i, ready := range []bool{true, false, true} {
		serveIn(t, s, uint64(i+1))
		if !ready {
			s.Queue.Retire(&s.rest.at.Tenant) // it would be asked, and so ready
		}
		s.Publish(ready)
		if r.Current() != 0 || r.Ready(0) != ready {
			t.Errorf("round %d, ready %t; want 0, %t", r.Current(), r.Ready(0), ready)
		}
	}
}

// A round that was reached long ago is not taken for one that is yet to come,
// however many there have been since.
func TestPublishOldRound(t *testing.T) {
	s, r := sharing(t, config{Shards: 2}, 0, 0)
	serveIn(t, s, 7)
	s.Publish(false)
	for round := uint64(1) << 61; round < 1<<63-1<<60; round += 1 << 60 {
		r.Served(round)
	}
	current := r.Current()
	r.Publish(1, current, true)
	s.Join()
	s.Publish(true)
	if r.Current() != current {
		t.Errorf("the current round went from %d to %d", current, r.Current())
	}
}

// A shard that was idle joins at the current round, or stays where it is if it had
// left further ahead: by no more than it was ahead then, wherever the others have
// come to.
func TestJoin(t *testing.T) {
	const far = uint64(1) << 61
	for _, x := range []struct {
		what           string
		left, then     uint64 // its round and the current one when it went idle
		passed, joined uint64 // rounds served since, and where it then joins
	}{
		{"as it was", 5, 5, 0, 5},
		{"others went on", 5, 5, 3, 8},
		{"it was behind", 4, 5, 0, 5},
		{"it was ahead", 7, 5, 0, 7},
		{"it was ahead, and still is", 7, 5, 1, 7},
		{"it was ahead, and others have come there", 7, 5, 2, 7},
		{"it was ahead, and others went further", 7, 5, 3, 8},
		{"far away", 7, 5, far, 5 + far},
		{"half of all rounds away", 7, 5, 2*far + 1, 6 + 2*far},
		{"most of all rounds away", 7, 5, 4*far - 2, 3},
		{"before the last round", 1<<63 - 1, 1<<63 - 2, 0, 1<<63 - 1},
		{"across the last round", 0, 1<<63 - 1, 0, 0},
		{"past the last round", 1<<63 - 1, 1<<63 - 1, 4, 3},
	} {
		s, r := sharing(t, config{Shards: 2}, 0, x.then)
		r.Publish(1, x.then, true)
		s.Publish(true)
		s.Queue.SetRound(x.left)
		s.Publish(false)
		for left := x.passed; left > 0; {
			step := min(left, far)
			r.Served(r.Current() + step)
			left -= step
		}
		s.Join()
		if s.Queue.Round() != x.joined {
			t.Errorf("%s: joined in round %d, want %d (now %d)", x.what, s.Queue.Round(), x.joined, r.Current())
		}
		if s.Join(); s.Queue.Round() != x.joined {
			t.Errorf("%s: joined again in round %d", x.what, s.Queue.Round())
		}
	}
}

// A new shard joins wherever the others are.
func TestJoinFirst(t *testing.T) {
	for _, current := range []uint64{0, 3, 1 << 61, 1 << 62, 1<<62 + 1, 1<<63 - 1} {
		s, r := sharing(t, config{Shards: 2}, 0, current)
		r.Publish(1, current, true)
		if s.Join(); s.Queue.Round() != current {
			t.Errorf("joined in round %d, want %d", s.Queue.Round(), current)
		}
	}
}

// saveUp makes the shard wait for a far round, with one task of that cost.
func saveUp(t *testing.T, s *shard, x *tenant, cost int64) {
	t.Helper()
	s.Push(x, &drr.Task[int]{Cost: cost, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
	var payload int
	for {
		switch _, v := s.Queue.NextWithin(0, s.Limit(), &payload, new(drr.Head)); v {
		case drr.Again:
			continue
		case drr.Delivered:
			t.Fatal("delivered before its round")
		}
		s.Publish(true)
		return
	}
}

// Where no other shard has work a shard joins in the next round, and a tenant that joins after
// it joins there: in the current one a tenant was served, but not all were.
func TestJoinAlone(t *testing.T) {
	for _, base := range []uint64{0, 7, 1<<63 - 1} {
		s, r := sharing(t, config{Shards: 2}, 0, base)
		other := newShard(t, config{Shards: 2})
		other.Share(r, 1)
		want := (base + 1) & (1<<63 - 1)
		for range 3 { // looked at, without a tenant that joins
			s.Join()
		}
		s.Push(add(s, "a", 0), &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
		s.Publish(true)
		if other.Join(); s.Queue.Round() != want || other.Queue.Round() != want || r.Current() != want {
			t.Errorf("base %d: joined in %d, the other one in %d, the current round is %d; want %d", base, s.Queue.Round(), other.Queue.Round(), r.Current(), want)
		}
	}
}

// In the middle of a hold that has come to another round the limit is looked at again, and
// a tenant that wakes up joins in that round. In the same round all stays as it was.
func TestOnward(t *testing.T) {
	s, r := sharing(t, config{Shards: 2, FairnessSlack: 4}, 1, 0)
	serveIn(t, s, 90)
	if limit := s.Onward(math.MaxUint64); limit != math.MaxUint64 || r.Current() != 90 {
		t.Errorf("alone in round 90: limit %d, the current round is %d", limit, r.Current())
	}
	r.Publish(0, 88, true)
	if limit := s.Onward(math.MaxUint64); limit != math.MaxUint64 {
		t.Errorf("the same round: limit %d", limit)
	}
	serveIn(t, s, 91)
	if limit := s.Onward(math.MaxUint64); limit != 90 || r.Current() != 91 {
		t.Errorf("in round 91, another shard is in 88: limit %d, the current round is %d", limit, r.Current())
	}
	if s.Publish(true); r.Current() != 91 || !r.Ready(1) {
		t.Errorf("at the end the current round is %d, ready: %t", r.Current(), r.Ready(1))
	}
	one, r := sharing(t, config{Shards: 1}, 0, 0)
	serveIn(t, one, 90)
	if limit := one.Onward(math.MaxUint64); limit != math.MaxUint64 || r.Current() != 0 {
		t.Errorf("one shard: limit %d, the current round is %d", limit, r.Current())
	}
}

// A tenant joins a shard that waits for a far round: the shard says so before, and
// joins where the others have gone to if they had not seen it.
func TestBack(t *testing.T) {
	for _, base := range []uint64{0, 1<<63 - 20} {
		for _, went := range []uint64{0, 1, 10, 99} {
			s, r := sharing(t, config{Shards: 2}, 0, base)
			r.Publish(1, base, true)
			s.Join()
			a, b := add(s, "a", 0), add(s, "b", 0)
			saveUp(t, s, a, 100)
			round := s.Queue.Round()
			if drr.Apart(r.Tag(0), base) != 99 || drr.Apart(round, base) > 1 {
				t.Fatalf("in round %d, tag %d: it does not wait", round, r.Tag(0))
			}
			r.Served((base + went) & (1<<63 - 1))
			s.Push(b, &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
			want := max(drr.Apart(round, base), int64(went))
			if got := drr.Apart(s.Queue.Round(), base); got != want || drr.Apart(r.Tag(0), base) > want {
				t.Errorf("base %d: the others are in round %d: joined in %d, tag %d", base, went, got, drr.Apart(r.Tag(0), base))
			}
		}
	}
}

// A shard that was idle and becomes ready follows the others to wherever they have
// gone since it looked, and is not taken on by a round or two.
func TestWokeUp(t *testing.T) {
	for _, base := range []uint64{0, 1<<63 - 3, 1 << 62} {
		for behind, want := range map[uint64]uint64{0: 0, 1: 1, 4: 4, 5: 0, 1 << 40: 0, 1 << 61: 0} {
			s, r := sharing(t, config{Shards: 2, FairnessSlack: 4}, 0, base)
			r.Publish(1, base, true)
			s.Join()
			x := add(s, "a", 0)
			s.Push(x, &drr.Task[int]{Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
			r.Served((base + behind) & (1<<63 - 1))
			s.Publish(true)
			if got := drr.Apart(r.Current(), s.Queue.Round()); got != int64(want) || r.Tag(0) != s.Queue.Round() {
				t.Errorf("base %d: %d rounds behind, and then %d, want %d; tag %d in round %d", base, behind, got, want, r.Tag(0), s.Queue.Round())
			}
		}
	}
}

// A shard that waits while the others go on, and is then alone, is where they have come
// to: what it passes beyond that is not counted.
func TestPassAlone(t *testing.T) {
	for _, base := range []uint64{0, 1<<63 - 20} {
		s, r := sharing(t, config{Shards: 2}, 0, base)
		r.Publish(1, base, true)
		s.Join()
		x := add(s, "a", 0)
		saveUp(t, s, x, 1000)
		r.Served((base + 300) & (1<<63 - 1))
		r.Publish(1, 0, false)
		var payload int
		for v := drr.Again; v != drr.Delivered; {
			_, v = s.Queue.NextWithin(0, s.Limit(), &payload, new(drr.Head))
		}
		if got := drr.Apart(s.Queue.Round(), base); got < 300 || got > 302 {
			t.Errorf("base %d: served in round %d, want 300", base, got)
		}
	}
}

// A shard that waits for a far round, and is alone by now, does not go there. Another one
// that wakes up before the hold is over must not pass to there either.
func TestPassAloneGoesBack(t *testing.T) {
	for _, base := range []uint64{0, 1<<63 - 20} {
		s, r := sharing(t, config{Shards: 2}, 0, base)
		r.Publish(1, base, true)
		s.Join()
		saveUp(t, s, add(s, "a", 0), 1000)
		r.Publish(1, 0, false)
		var task int
		for v := drr.Again; v != drr.Delivered; {
			_, v = s.Queue.NextWithin(0, s.Limit(), &task, new(drr.Head))
		}
		r.Publish(1, base, true) // and then it waits for a round that is not so far
		if may, _ := r.Pass(1, (base+500)&(1<<63-1)); may {
			t.Errorf("base %d: the other one passes to 500 rounds later, while this one is served in round %d", base, drr.Apart(s.Queue.Round(), base))
		}
	}
}

// A shard that has nothing to serve, but a tenant to see off, says so, or that it is ready if
// it is alone; and says when that is over.
func TestPublishLingers(t *testing.T) {
	for _, shards := range []int{1, 2} {
		s, r := sharing(t, config{Shards: shards}, 0, 0)
		say := func(what string, asks bool) {
			t.Helper()
			s.Publish(false)
			if ready := asks && shards == 1; r.Ready(0) != ready || r.Asks(0) != asks {
				t.Errorf("%d shards, %s: ready %t, asks %t; want %t, %t", shards, what, r.Ready(0), r.Asks(0), ready, asks)
			}
		}
		for range 2 {
			serveIn(t, s, 3)
			if !s.Queue.Lingering() {
				t.Fatal("no tenant lingers")
			}
			say("served", true)
			s.Queue.Retire(&s.rest.at.Tenant)
			say("seen off", false)
		}
		serveIn(t, s, 3)
		if s.Publish(true); !r.Ready(0) {
			t.Errorf("%d shards: not ready", shards)
		}
		say("served, and ready before", true)
	}
}

// HasNews spares a Publish only where that would say what has been said.
func TestSaid(t *testing.T) {
	s, r := sharing(t, config{Shards: 2}, 0, 0)
	said := func(what string, want bool) {
		t.Helper()
		if s.Ready() && s.HasNews(true, false) == want {
			t.Errorf("%s: HasNews is %t", what, want)
		}
		s.Publish(true)
	}
	serveIn(t, s, 3)
	s.Publish(true)
	said("just published", true)
	serveIn(t, s, 4)
	said("another round", false)
	said("just published again", true)
	s.published.tag--
	said("another tag", false)
	said("that is said, too", true)
	s.published.reached--
	said("another round that it has come to", false)
	said("and that", true)
	s.published.lingering = true
	said("it said that it lingers", false)
	r.Publish(1, 4, true)
	saveUp(t, s, add(s, "b", 0), 1000)
	s.published.tag = s.Queue.Round()
	said("it waits for a far round", false)
}

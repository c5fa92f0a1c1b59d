package shardsel

import "testing"

// A shard that lingers has nothing to serve, and has to be asked.
func TestLinger(t *testing.T) {
	for _, shards := range []int{1, 2, 3} {
		r := NewRounds(shards, 1)
		say := func(what string, ready, asks bool) {
			t.Helper()
			if r.Ready(0) != ready || r.anyReady() != ready || r.InTime(0) != ready {
				t.Errorf("%d shards, %s: ready %t, some %t, in time %t; want %t", shards, what, r.Ready(0), r.anyReady(), r.InTime(0), ready)
			}
			if r.Asks(0) != asks || r.AnyAsks() != asks {
				t.Errorf("%d shards, %s: asks %t, some %t; want %t", shards, what, r.Asks(0), r.AnyAsks(), asks)
			}
			for i := 1; i < shards; i++ {
				if r.Ready(i) || r.Asks(i) {
					t.Errorf("%d shards, %s: shard %d has changed", shards, what, i)
				}
			}
		}
		say("new", false, false)
		for _, tag := range []uint64{0, 7} {
			r.Linger(0)
			say("lingers", false, true)
			r.Publish(0, tag, true)
			say("ready", true, true)
			if r.Tag(0) != tag {
				t.Errorf("%d shards: tag %d, want %d", shards, r.Tag(0), tag)
			}
			r.Linger(0)
			say("lingers again", false, true)
			r.Publish(0, tag, false)
			say("idle", false, false)
		}
	}
}

// A shard that lingers holds no other shard back.
func TestLimitBesideLingering(t *testing.T) {
	for _, shards := range []int{2, 3} {
		r := NewRounds(shards, 1)
		r.Publish(0, 9, true)
		r.Linger(1)
		if got := r.Limit(0); got != none {
			t.Errorf("%d shards: the limit is %d, want none", shards, got)
		}
		if !r.InTime(0) {
			t.Errorf("%d shards: not in time", shards)
		}
	}
}

// The version counts how often a shard that lingers became ready, and not how often one
// came to linger.
func TestVersionOfLingering(t *testing.T) {
	r := NewRounds(2, 1)
	for i, step := range []struct {
		do     func()
		counts bool
	}{
		{func() { r.Linger(0) }, false},
		{func() { r.Publish(0, 3, true) }, true},
		{func() { r.Linger(0) }, false},
		{func() { r.Publish(0, 3, false) }, false},
		{func() { r.Publish(0, 3, true) }, true},
	} {
		before, _ := r.Version()
		step.do()
		if after, sure := r.Version(); (after != before) != step.counts || !sure {
			t.Errorf("step %d: another version: %t, sure: %t", i, after != before, sure)
		}
	}
}

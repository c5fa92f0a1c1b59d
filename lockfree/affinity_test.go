package lockfree

import (
	"testing"
	"time"

	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/cpu"
)

// Another processor is at it if it has just been.
func TestWarmRecent(t *testing.T) {
	const now = int64(time.Hour)
	for _, x := range []struct {
		what string
		age  time.Duration
		want bool
	}{
		{"just now", 0, true},
		{"half a microsecond ago", 500 * time.Nanosecond, true},
		{"the clock has stepped back", -200 * time.Nanosecond, true},
		{"two microseconds ago", 2 * time.Microsecond, false},
		{"long ago", time.Second, false},
		{"a time that is yet to come", -time.Second, false},
	} {
		if got := recent(affinityTime(now-int64(x.age)), now); got != x.want {
			t.Errorf("%s: recent = %t", x.what, got)
		}
	}
}

// The processor that is at it itself is not elsewhere, however recent.
func TestWarmHere(t *testing.T) {
	var w affinity
	c := clock.New()
	for range 100 { // the test may be moved to another processor at any time
		w.touch(cpu.Hint(), c.Now())
		if !w.elsewhere(cpu.Hint(), c.Now()) {
			return
		}
	}
	t.Error("elsewhere, right after a touch")
}

// A touch is written when the processor is another one, or time has passed, and
// not each time.
func TestWarmTouch(t *testing.T) {
	var w affinity
	const now = int64(time.Hour)
	for range 100 { // the test may be moved to another processor at any time
		w.touch(cpu.Hint(), now)
		first := w.word.Load()
		w.touch(cpu.Hint(), now+1<<affinityUnit)
		second := w.word.Load()
		w.touch(cpu.Hint(), now+1000<<affinityUnit)
		third := w.word.Load()
		w.word.Store(0)
		if first>>affinityBits == affinityTime(now) && second == first && third>>affinityBits == affinityTime(now+1000<<affinityUnit) {
			return
		}
	}
	t.Error("never as it should be")
}

// A shard that another processor keeps in its cache is served all the same, after a while.
func TestWarmIsNoLock(t *testing.T) {
	s := build(t, config{})
	admit(t, s, "a", task{Payload: 1})
	s.shards[0].affinity.word.Store(affinityTime(s.shared.Clock.Now()+int64(time.Microsecond))<<affinityBits | 1<<affinityBits - 1)
	take(t, s, 1)
}

// A shard that another processor has just served counts as one that is being
// served; but a call that has something to return does not wait for one that has nothing.
func TestWarmWithItemsInHand(t *testing.T) {
	s := build(t, config{Shards: 2})
	var dst [8]item
	waits := [2]int{}
	for range 100 { // the time may be over before it is looked at
		for i, have := range []int{0, 1} {
			s.shards[1].affinity.word.Store(affinityTime(s.shared.Clock.Now()+int64(time.Microsecond))<<affinityBits | 1<<affinityBits - 1)
			if busy, _, _ := s.tryShards(dst[:], have, 0); busy != nil {
				waits[i]++
			}
		}
	}
	t.Logf("waited %d times in 100 with nothing to return", waits[0]) // on a slow machine none
	if waits[1] != 0 {
		t.Errorf("waited %d times in 100 with something to return", waits[1])
	}
}

package lockfree

import (
	"testing"
	"time"

	"github.com/firq-go/firq/internal/clock"
	"github.com/firq-go/firq/internal/cpu"
	"github.com/firq-go/firq/internal/failpoint"
)

// Another processor is at it if it has just been, and this one is not it.
func TestWarmElsewhere(t *testing.T) {
	if failpoint.On || !cpu.Exact {
		t.Skip("never elsewhere in this build")
	}
	c := clock.New()
	other := uint64(1)<<warmBits - 1 // no such processor here
	for _, x := range []struct {
		what      string
		processor uint64
		age       time.Duration
		want      bool
	}{
		{"just now, elsewhere", other, 0, true},
		{"the clock has stepped back", other, -200 * time.Nanosecond, true},
		{"long ago", other, time.Second, false},
		{"a time that is yet to come", other, -time.Second, false},
	} {
		var w warmth
		w.word.Store(warmTime(c.Now()-int64(x.age))<<warmBits | x.processor)
		if got := w.elsewhere(c); got != x.want {
			t.Errorf("%s: elsewhere = %t", x.what, got)
		}
	}
}

// A touch is written when the processor is another one, or time has passed, and
// not each time.
func TestWarmTouch(t *testing.T) {
	var w warmth
	const now = int64(time.Hour)
	for range 100 { // the test may be moved to another processor at any time
		w.touch(now)
		first := w.word.Load()
		w.touch(now + 1<<warmUnit)
		second := w.word.Load()
		w.touch(now + 1000<<warmUnit)
		third := w.word.Load()
		w.word.Store(0)
		if first>>warmBits == warmTime(now) && second == first && third>>warmBits == warmTime(now+1000<<warmUnit) {
			return
		}
	}
	t.Error("never as it should be")
}

// A shard that another processor keeps warm is served all the same, after a while.
func TestWarmIsNoLock(t *testing.T) {
	s := build(t, config{})
	admit(t, s, "a", task{Payload: 1})
	s.shards[0].warm.word.Store(warmTime(s.env.Clock.Now()+int64(time.Microsecond))<<warmBits | 1<<warmBits - 1)
	take(t, s, 1)
}

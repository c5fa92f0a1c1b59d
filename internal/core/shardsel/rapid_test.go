package shardsel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// twin is Rounds and the plain list of what was published, counted from a round
// that may be anywhere.
type twin struct {
	r       *Rounds
	slack   int
	base    uint64
	cells   []mark
	current int64
	became  uint64 // how often a shard became ready
}

// mark is a cell's, with the tag counted from twin.base.
type mark struct {
	tag   int64
	ready bool
}

// someRound is one of those that are looked at together, counted from twin.base:
// near others, or as far from them as may be.
var someRound = rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Range(-1<<61, -1<<61+3), rapid.Int64Range(1<<61-9, 1<<61-5), rapid.Int64Range(-1<<61, 1<<61-5))

func (w *twin) shard(t *rapid.T) int { return rapid.IntRange(0, len(w.cells)-1).Draw(t, "shard") }

func (w *twin) round(n int64) uint64 { return (w.base + uint64(n)) & lastRound }

func (w *twin) Publish(t *rapid.T) {
	i, c := w.shard(t), mark{someRound.Draw(t, "tag"), rapid.Bool().Draw(t, "ready")}
	w.r.Publish(i, w.round(c.tag), c.ready)
	if c.ready && !w.cells[i].ready {
		w.became++
	}
	w.cells[i] = c
}

func (w *twin) Served(t *rapid.T) {
	n := someRound.Draw(t, "round")
	w.current = max(w.current, n)
	if got := w.r.Served(w.round(n)); got != w.round(w.current) {
		t.Errorf("Served returned %d, want %d", got, w.round(w.current))
	}
}

// limit is what Rounds.Limit has to say, worked out from its definition; ok: there
// is one.
func (w *twin) limit(shard int) (limit int64, ok bool) {
	for i, c := range w.cells {
		if i != shard && c.ready {
			lead := int64(w.slack) / 2
			if shard < i {
				lead = (int64(w.slack) + 1) / 2
			}
			if !ok || c.tag+lead < limit {
				limit, ok = c.tag+lead, true
			}
		}
	}
	return limit, ok
}

func (w *twin) Check(t *rapid.T) {
	anyReady, somebody := false, false
	for i, c := range w.cells {
		if w.r.Ready(i) != c.ready || c.ready && w.r.Tag(i) != w.round(c.tag) {
			t.Errorf("shard %d: tag %d, ready %t, want %d, %t", i, w.r.Tag(i), w.r.Ready(i), w.round(c.tag), c.ready)
		}
		limit, limited := w.limit(i)
		want := uint64(math.MaxUint64)
		if limited {
			want = w.round(limit)
		}
		if got := w.r.Limit(i); got != want {
			t.Errorf("Limit(%d) = %d, want %d", i, got, want)
		}
		inTime := c.ready && (!limited || c.tag <= limit)
		if got := w.r.InTime(i); got != inTime {
			t.Errorf("InTime(%d) = %t, want %t", i, got, inTime)
		}
		anyReady = anyReady || c.ready
		somebody = somebody || inTime
	}
	if got := w.r.anyReady(); got != anyReady {
		t.Errorf("some ready = %t", got)
	}
	if anyReady && !somebody {
		t.Error("no shard that has work may be served")
	}
	if got := w.r.Current(); got != w.round(w.current) {
		t.Errorf("Current = %d, want %d", got, w.round(w.current))
	}
	version := 2 * w.became
	if len(w.cells) == 1 {
		version = 0
	}
	if got, sure := w.r.Version(); got != version || !sure {
		t.Errorf("Version = %d, %t, want %d", got, sure, version)
	}
}

// someBase is anything, or such that what is near it comes to an end of the
// representation.
var someBase = rapid.OneOf(rapid.Just(uint64(0)), rapid.SampledFrom([]uint64{1<<63 - 5, 1<<62 - 5, 1 << 61, 1<<61 + 1<<62}), rapid.Uint64Range(0, lastRound))

// Whatever is published in whatever order, the limits are those of the definition,
// wherever the rounds are.
func TestMachine(t *testing.T) {
	for _, shards := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("shards=%d", shards), rapid.MakeCheck(func(t *rapid.T) {
			slack := rapid.IntRange(1, 6).Draw(t, "slack")
			base := someBase.Draw(t, "base")
			w := &twin{r: NewRoundsAt(shards, slack, base), slack: slack, base: base, cells: make([]mark, shards)}
			t.Repeat(rapid.StateMachineActions(w))
		}))
	}
}

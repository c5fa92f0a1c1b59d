package shardsel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// twin is Rounds and the plain list of what was published.
type twin struct {
	r      *Rounds
	slack  int
	cells  []cell
	served []uint64
	became uint64 // how often a shard became ready
}

// someTag is near others, or near the largest.
var someTag = rapid.OneOf(rapid.Uint64Range(0, 12), rapid.Uint64Range(math.MaxInt64-5, math.MaxInt64+5), rapid.Uint64())

func (w *twin) shard(t *rapid.T) int { return rapid.IntRange(0, len(w.cells)-1).Draw(t, "shard") }

func (w *twin) Publish(t *rapid.T) {
	i, c := w.shard(t), cell{someTag.Draw(t, "tag"), rapid.Bool().Draw(t, "ready")}
	w.r.Publish(i, c.tag, c.ready)
	if c.ready && !w.cells[i].ready {
		w.became++
	}
	w.cells[i] = cell{min(c.tag, math.MaxInt64), c.ready}
}

func (w *twin) Served(t *rapid.T) {
	i, round := w.shard(t), someTag.Draw(t, "round")
	w.r.Served(i, round)
	w.served[i] = max(w.served[i], round)
}

// limit is what Rounds.Limit has to say, worked out from its definition.
func (w *twin) limit(shard int) uint64 {
	limit := uint64(math.MaxUint64)
	for i, c := range w.cells {
		if i != shard && c.ready {
			lead := uint64(w.slack) / 2
			if shard < i {
				lead = (uint64(w.slack) + 1) / 2
			}
			limit = min(limit, c.tag+lead)
		}
	}
	return limit
}

func (w *twin) Check(t *rapid.T) {
	anyReady, somebody := false, false
	var current uint64
	v := w.r
	for i, c := range w.cells {
		if w.r.Ready(i) != c.ready || c.ready && w.r.Tag(i) != c.tag {
			t.Errorf("shard %d: tag %d, ready %t, want %+v", i, w.r.Tag(i), w.r.Ready(i), c)
		}
		if got, want := v.Limit(i), w.limit(i); got != want {
			t.Errorf("Limit(%d) = %d, want %d", i, got, want)
		}
		if got, want := w.r.InTime(i), c.ready && c.tag <= w.limit(i); got != want {
			t.Errorf("InTime(%d) = %t, want %t", i, got, want)
		}
		anyReady = anyReady || c.ready
		somebody = somebody || c.ready && c.tag <= v.Limit(i)
		current = max(current, w.served[i])
	}
	if got := w.r.AnyReady(); got != anyReady {
		t.Errorf("AnyReady = %t", got)
	}
	if anyReady && !somebody {
		t.Error("no shard that has work may be served")
	}
	if got := w.r.Current(); got != current {
		t.Errorf("Current = %d, want %d", got, current)
	}
	if got, sure := w.r.Version(); got != 2*w.became || !sure {
		t.Errorf("Version = %d, %t, want %d", got, sure, 2*w.became)
	}
}

// Whatever is published in whatever order, the limits are those of the definition.
func TestMachine(t *testing.T) {
	for _, shards := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("shards=%d", shards), rapid.MakeCheck(func(t *rapid.T) {
			slack := rapid.IntRange(1, 6).Draw(t, "slack")
			w := &twin{r: NewRounds(shards, slack), slack: slack, cells: make([]cell, shards), served: make([]uint64, shards)}
			t.Repeat(rapid.StateMachineActions(w))
		}))
	}
}

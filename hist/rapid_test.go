package hist

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// twin is some histograms of each kind, each with the plain list of its samples.
type twin struct {
	locals    []*Local
	histogram *Histogram
	snapshots []*Snapshot

	inLocals, inSnapshots [][]int64
	inHistogram           []int64
}

const each = 3

func newTwin() *twin {
	w := &twin{histogram: newStriped(4), inLocals: make([][]int64, each), inSnapshots: make([][]int64, each)}
	for range each {
		w.locals = append(w.locals, NewLocal())
		w.snapshots = append(w.snapshots, NewSnapshot())
	}
	return w
}

func one(t *rapid.T, what string) int { return rapid.IntRange(0, each-1).Draw(t, what) }

// someDuration is anything, mostly around the edges of slots and of the range.
var someDuration = rapid.OneOf(
	rapid.Map(rapid.IntRange(0, rows*rowLen-1), func(i int) time.Duration { lo, _ := bounds(i); return time.Duration(lo) }),
	rapid.Map(rapid.IntRange(0, rows*rowLen-1), func(i int) time.Duration { _, hi := bounds(i); return time.Duration(hi) }),
	rapid.Map(rapid.Int64Range(-2, 5000), func(n int64) time.Duration { return time.Duration(n) }),
	rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }),
	rapid.Map(rapid.Int64Range(-2, 2), func(n int64) time.Duration { return Highest + time.Duration(n) }),
)

func sample(d time.Duration) int64 { return min(max(int64(d), int64(Lowest)), int64(Highest)) }

func (w *twin) Record(t *rapid.T) {
	for _, d := range rapid.SliceOfN(someDuration, 1, 20).Draw(t, "samples") {
		i := one(t, "local")
		w.locals[i].Record(d)
		w.inLocals[i] = append(w.inLocals[i], sample(d))
	}
}

func (w *twin) RecordAll(t *rapid.T) {
	ds, i := rapid.SliceOfN(someDuration, 0, 20).Draw(t, "samples"), one(t, "local")
	w.locals[i].RecordAll(ds)
	for _, d := range ds {
		w.inLocals[i] = append(w.inLocals[i], sample(d))
	}
}

func (w *twin) RecordN(t *rapid.T) {
	i, d, n := one(t, "local"), someDuration.Draw(t, "sample"), rapid.Int64Range(-1, 50).Draw(t, "times")
	w.locals[i].RecordN(d, n)
	w.inLocals[i] = append(w.inLocals[i], slices.Repeat([]int64{sample(d)}, int(max(n, 0)))...)
}

func (w *twin) RecordStriped(t *rapid.T) {
	for _, d := range rapid.SliceOfN(someDuration, 1, 20).Draw(t, "samples") {
		w.histogram.Record(d)
		w.inHistogram = append(w.inHistogram, sample(d))
	}
}

func (w *twin) AddTo(t *rapid.T) {
	from, to := one(t, "local"), one(t, "snapshot")
	w.locals[from].AddTo(w.snapshots[to])
	w.inSnapshots[to] = append(w.inSnapshots[to], w.inLocals[from]...)
}

// Merge also merges a snapshot into itself.
func (w *twin) Merge(t *rapid.T) {
	from, to := one(t, "from"), one(t, "to")
	if len(w.inSnapshots[to]) > 1000 {
		t.Skip("it would double too often")
	}
	w.snapshots[to].Merge(w.snapshots[from])
	w.inSnapshots[to] = append(w.inSnapshots[to], w.inSnapshots[from]...)
}

func (w *twin) Snapshot(t *rapid.T) {
	i := one(t, "snapshot")
	w.snapshots[i] = w.histogram.Snapshot()
	w.inSnapshots[i] = slices.Clone(w.inHistogram)
}

func (w *twin) Check(t *rapid.T) {
	for i, s := range w.snapshots {
		if got, want := s.Count(), len(w.inSnapshots[i]); got != uint64(want) {
			t.Errorf("Count = %d, want %d", got, want)
		}
	}
}

// checkAll is what takes too long after each step.
func (w *twin) checkAll(t *rapid.T) {
	for i, s := range w.snapshots {
		checkAgainst(t, s, w.inSnapshots[i])
		checkBuckets(t, s, w.inSnapshots[i])
	}
	all, samples := w.histogram.Snapshot(), w.inHistogram
	for i, l := range w.locals {
		l.AddTo(all)
		samples = append(samples, w.inLocals[i]...)
	}
	checkAgainst(t, all, samples)
}

// checkBuckets: each sample is in the first bucket whose bound is not below it,
// or in the one before if it is above that bound by less than the resolution.
func checkBuckets(t *rapid.T, s *Snapshot, samples []int64) {
	var below uint64
	for _, b := range s.Buckets() {
		below += b.Count
		var least, most uint64
		for _, v := range samples {
			if v <= int64(b.UpperBound) {
				least++
			}
			if v <= int64(b.UpperBound)+int64(b.UpperBound)/1000 {
				most++
			}
		}
		if below < least || below > most {
			t.Errorf("%d samples up to %v, want %d to %d", below, b.UpperBound, least, most)
		}
	}
}

// Any way of recording, adding and merging gives what the sorted samples give.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwin()
		t.Repeat(rapid.StateMachineActions(w))
		w.checkAll(t)
	})
}
